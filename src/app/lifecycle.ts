import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Phase } from '../ops/health.js';

/** One part of the product. What it needs stands before it in the list. */
export interface Stage {
  readonly name: string;
  start(): Promise<void>;
  /** Stops taking new work and lets running work end, within `graceMs`. */
  drain?(graceMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** A drain that has not answered by then, on top of its own grace, is left behind. */
const DRAIN_SLACK_MS = 2_000;

/**
 * Runs a list of stages: started in order, drained and stopped in reverse. A failed start stops what was started.
 * `stop` is idempotent; every stage is stopped whatever the others do, and the first failure is thrown at the end.
 */
export class Lifecycle {
  readonly #stages: readonly Stage[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #started: Stage[] = [];
  #phase: Phase = 'starting';
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(stages: readonly Stage[], clock: Clock, log: Log) {
    this.#stages = stages;
    this.#clock = clock;
    this.#log = log;
  }

  get phase(): Phase {
    return this.#phase;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    for (const stage of this.#stages) {
      if (this.#stopAsked()) throw new Error('stopped while starting');
      try {
        this.#started.push(stage);
        const began = this.#clock.now();
        await stage.start();
        this.#log.debug('started', { stage: stage.name, ms: this.#clock.now() - began });
      } catch (error) {
        // Somebody's `stop` waits for the end of this start and does the same; what waited for a cluster ends so.
        if (!this.#stopAsked()) {
          this.#log.error('start failed', { stage: stage.name });
          this.#stopping = this.#stop(0);
          await this.#stopping.catch((later: unknown) => this.#log.warn('stop failed', { error: later }));
        }
        throw error;
      }
    }
    if (!this.#stopAsked()) this.#phase = 'serving';
  }

  /** Asked anew after every wait. */
  #stopAsked(): boolean {
    return this.#stopping !== undefined;
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stopAfterStart(graceMs);
    return this.#stopping;
  }

  /** The stage that starts right now is let through: half a stage cannot be stopped. */
  async #stopAfterStart(graceMs: number): Promise<void> {
    this.#phase = 'draining';
    await this.#starting?.catch(() => undefined);
    await this.#stop(graceMs);
  }

  async #stop(graceMs: number): Promise<void> {
    this.#phase = 'draining';
    const stages = this.#started.toReversed();
    // Together: peers of every protocol hear of it at once, and the grace is not spent one after the other.
    await Promise.all(stages.map((stage) => this.#drain(stage, graceMs)));
    let failure: { readonly error: unknown } | undefined;
    for (const stage of stages) {
      try {
        await stage.stop();
      } catch (error) {
        this.#log.error('stop failed', { stage: stage.name, error });
        failure ??= { error };
      }
    }
    this.#phase = 'stopped';
    if (failure !== undefined) throw failure.error;
  }

  async #drain(stage: Stage, graceMs: number): Promise<void> {
    if (stage.drain === undefined || graceMs === 0) return;
    let late = (): void => undefined;
    const timer = this.#clock.after(graceMs + DRAIN_SLACK_MS, () => late());
    try {
      await Promise.race([
        stage.drain(graceMs),
        new Promise<void>((_, reject) => {
          late = () => reject(new Error(`no end within ${graceMs + DRAIN_SLACK_MS} ms`));
        }),
      ]);
    } catch (error) {
      this.#log.warn('drain failed', { stage: stage.name, error });
    } finally {
      timer.cancel();
    }
  }
}
