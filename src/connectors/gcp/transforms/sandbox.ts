import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../../base/clock.js';
import { BrokerError } from '../../../core/errors.js';
import { TRANSFORM_LIMITS } from './limits.js';
import { SANDBOX_SOURCE, type SandboxRequest, type SandboxResult } from './sandbox-thread.js';

interface Job {
  readonly request: SandboxRequest;
  readonly done: (result: SandboxResult) => void;
}

interface Answer {
  readonly result: SandboxResult;
  /** The thread is to be replaced. */
  readonly spent: boolean;
}

const OUT_OF_MEMORY = 'ERR_WORKER_OUT_OF_MEMORY';

/**
 * Runs users' functions in a thread of their own, one after the other. What runs away is stopped inside the thread; should the
 * thread itself hang or run out of memory, it is ended, the function that ran counts as failed, and the others go on in a new one.
 */
export class Sandbox {
  readonly #clock: Clock;
  readonly #waiting: Job[] = [];
  #running: Job | undefined;
  #thread: Worker | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a function on an input, or only looks for it. Rejects with `limit` when too much waits, and `draining` at the end. */
  run(request: SandboxRequest): Promise<SandboxResult> {
    if (this.#stopped) return Promise.reject(new BrokerError('draining', 'the server is shutting down'));
    if (this.#waiting.length >= TRANSFORM_LIMITS.queuedMax) {
      return Promise.reject(new BrokerError('limit', 'Too many messages wait for their transforms.'));
    }
    return new Promise((done) => {
      this.#waiting.push({ request, done });
      this.#next();
    });
  }

  /** Ends the thread; whatever waits has failed. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    const jobs = [...(this.#running === undefined ? [] : [this.#running]), ...this.#waiting.splice(0)];
    this.#running = undefined;
    for (const job of jobs) job.done({ kind: 'failed', reason: 'the server is shutting down' });
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  #next(): void {
    if (this.#running !== undefined || this.#stopped) return;
    this.#timer?.cancel();
    const job = this.#waiting.shift();
    if (job === undefined) {
      if (this.#thread !== undefined)
        this.#timer = this.#clock.after(TRANSFORM_LIMITS.idleMs, () => this.#end());
      return;
    }
    this.#running = job;
    this.#thread ??= this.#start();
    this.#thread.postMessage(job.request);
    // Its own limits end a function long before; this is for what they cannot end.
    this.#timer = this.#clock.after(2 * TRANSFORM_LIMITS.timeMs + TRANSFORM_LIMITS.silenceMs, () => {
      this.#lost('it could not be stopped in time');
    });
  }

  #start(): Worker {
    const thread = new Worker(SANDBOX_SOURCE, {
      eval: true,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: TRANSFORM_LIMITS.heapMb, maxYoungGenerationSizeMb: 16 },
    });
    // It lives as long as the server needs it, and keeps no process alive.
    thread.unref();
    thread.on('message', ({ result, spent }: Answer) => {
      if (thread !== this.#thread) return;
      if (spent) this.#end();
      this.#finish(result);
    });
    thread.on('error', (error: NodeJS.ErrnoException) => {
      if (thread !== this.#thread) return;
      this.#lost(error.code === OUT_OF_MEMORY ? 'it used too much memory' : 'its thread failed');
    });
    thread.on('exit', () => {
      if (thread === this.#thread) this.#lost('its thread ended');
    });
    return thread;
  }

  /** The thread is of no use any more, and what ran in it has failed. */
  #lost(reason: string): void {
    this.#end();
    this.#finish({ kind: 'failed', reason });
  }

  #end(): void {
    const thread = this.#thread;
    this.#thread = undefined;
    // Nobody waits for it: its events are passed over from here on.
    thread?.terminate().catch(() => undefined);
  }

  #finish(result: SandboxResult): void {
    const job = this.#running;
    this.#running = undefined;
    job?.done(result);
    this.#next();
  }
}
