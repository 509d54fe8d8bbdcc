import { describe, expect, it } from 'vitest';
import { ManualClock } from '../base/clock.js';
import { deferred, type Deferred } from '../base/deferred.js';
import { silentLog } from '../base/log.js';
import { BrokerError } from '../core/errors.js';
import { TakeOverFailed } from './ownership.js';
import { runUntilStopped, StartFailed } from './run.js';
import type { Instance, RunningBroker } from './start.js';

interface Made {
  readonly isPatient: boolean;
  readonly starting: Deferred<RunningBroker>;
  readonly ended: Deferred<string>;
  /** How long a stop takes; default: no time. */
  stopping: Promise<void>;
  stops: number;
}

/** A run over instances that do what the test says. */
class Run {
  readonly clock = new ManualClock();
  readonly made: Made[] = [];
  ready = 0;
  outcome: unknown = 'runs';
  readonly #stopped = deferred<undefined>();
  #isAsked = false;

  constructor() {
    runUntilStopped({
      make: (isPatient) => this.#make(isPatient),
      stopAsked: () => this.#isAsked,
      stopped: this.#stopped.promise.then(() => undefined),
      onReady: () => this.ready++,
      clock: this.clock,
      log: silentLog,
    }).then(
      () => (this.outcome = 'stopped'),
      (error: unknown) => (this.outcome = error),
    );
  }

  #make(isPatient: boolean): Instance {
    const made: Made = {
      isPatient,
      starting: deferred(),
      ended: deferred(),
      stopping: Promise.resolve(),
      stops: 0,
    };
    this.made.push(made);
    return {
      start: () => made.starting.promise,
      stop: () => {
        made.stops++;
        return made.stopping;
      },
      reload: () => undefined,
    };
  }

  get last(): Made {
    return this.made.at(-1) as Made;
  }

  async serve(): Promise<void> {
    this.last.starting.resolve({ ended: this.last.ended.promise } as RunningBroker);
    await settled();
  }

  async fail(error: Error): Promise<void> {
    this.last.starting.reject(error);
    await settled();
  }

  async ask(): Promise<void> {
    this.#isAsked = true;
    this.#stopped.resolve(undefined);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const silence = new TakeOverFailed(new BrokerError('unavailable', 'NATS does not answer'));

describe('a run', () => {
  it('serves until it is asked to stop', async () => {
    const run = new Run();
    await run.serve();
    expect([run.ready, run.outcome]).toEqual([1, 'runs']);
    await run.ask();
    expect([run.outcome, run.made.length]).toEqual(['stopped', 1]);
  });

  it('begins anew, patiently, when it is the owner no longer', async () => {
    const run = new Run();
    expect(run.last.isPatient).toBe(false);
    await run.serve();
    run.last.ended.resolve('paused for too long');
    await settled();
    expect(run.made.map(({ isPatient, stops }) => [isPatient, stops])).toEqual([
      [false, 1],
      [true, 0],
    ]);
    await run.serve();
    expect([run.ready, run.outcome]).toEqual([2, 'runs']);
  });

  it('begins anew, after a pause, when it could not take over', async () => {
    const run = new Run();
    for (let i = 1; i <= 3; i++) {
      await run.fail(silence);
      expect([run.made.length, run.outcome]).toEqual([i, 'runs']);
      run.clock.advance(500);
      await settled();
      expect(run.made.length).toBe(i + 1);
    }
    await run.serve();
    expect(run.ready).toBe(1);
  });

  it('makes nothing new when it is asked to stop in the pause', async () => {
    const run = new Run();
    await run.fail(silence);
    await run.ask();
    run.clock.advance(500);
    await settled();
    expect([run.made.length, run.outcome]).toEqual([1, 'stopped']);
  });

  it('makes nothing new when it is asked to stop while it lets go of what it lost', async () => {
    const run = new Run();
    await run.serve();
    const letGo = deferred<undefined>();
    run.last.stopping = letGo.promise.then(() => undefined);
    run.last.ended.resolve('paused for too long');
    await settled();
    await run.ask();
    expect([run.made.length, run.outcome]).toEqual([1, 'runs']);
    letGo.resolve(undefined);
    await settled();
    expect([run.made.length, run.outcome]).toEqual([1, 'stopped']);
  });

  it('fails when it cannot start for any other reason', async () => {
    const run = new Run();
    await run.fail(new Error('the port is taken'));
    expect(run.outcome).toBeInstanceOf(StartFailed);
    expect(String(run.outcome)).toContain('the port is taken');
  });

  it('that was stopped while starting has not failed', async () => {
    const run = new Run();
    await run.ask();
    await run.fail(new Error('stopped while starting'));
    expect([run.ready, run.outcome]).toEqual([0, 'stopped']);
  });
});
