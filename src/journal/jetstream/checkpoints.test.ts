import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { deferred } from '../../base/deferred.js';
import { silentLog } from '../../base/log.js';
import { randomFrom } from '../../../test/support/random.js';
import { SimulatedConnection, SimulatedStream } from '../../../test/support/simulated-stream.js';
import { Checkpoints } from './checkpoints.js';
import { journalNames } from './names.js';

const names = journalNames('sim', 0);
const START = { seq: 1, epoch: 0, end: 0 };

/** Owners of one stream. */
class Rig {
  readonly clock = new ManualClock();
  readonly stream = new SimulatedStream();

  connect(): SimulatedConnection {
    return new SimulatedConnection({ stream: this.stream, clock: this.clock, random: randomFrom(1) });
  }

  open(stream: SimulatedConnection): Checkpoints {
    return new Checkpoints({ stream, names, clock: this.clock, log: silentLog });
  }

  async owner(epoch: number, connection = this.connect()): Promise<Checkpoints> {
    const checkpoints = this.open(connection);
    await this.finish(checkpoints.load());
    await this.finish(checkpoints.takeOver(epoch));
    return checkpoints;
  }

  write(checkpoints: Checkpoints, position: number): Promise<void> {
    const text = Buffer.from(`state at ${position}`);
    return this.finish(
      checkpoints.write({ position, replay: START, extentBytes: 4096 }, Buffer.alloc(0), [text]),
    );
  }

  async newest(): Promise<string | undefined> {
    const loaded = await this.finish(this.open(this.connect()).load());
    return loaded === undefined ? undefined : Buffer.from(loaded.data).toString();
  }

  async finish<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const watched = work.finally(() => (state.isDone = true));
    watched.catch(() => undefined);
    for (let i = 0; i < 20_000 && !state.isDone; i++) {
      this.clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return watched;
  }
}

describe('checkpoints in a stream', () => {
  it('keep what a head lists whose answer was lost, and go on behind it', async () => {
    const rig = new Rig();
    const connection = rig.connect();
    const owner = await rig.owner(1, connection);
    const publish = connection.publish.bind(connection);
    connection.publish = async (subject, payload, expected) => {
      const seq = await publish(subject, payload, expected);
      if (subject !== names.head) return seq;
      connection.isSevered = true;
      throw new Error('no answer');
    };
    await expect(rig.write(owner, 100)).rejects.toMatchObject({ kind: 'unavailable' });
    connection.isSevered = false;
    connection.publish = publish;
    expect(await rig.newest()).toBe('state at 100');
    await rig.write(owner, 200);
    expect(await rig.newest()).toBe('state at 200');
  });

  it('are written by the newest owner alone, from its beginning on', async () => {
    const rig = new Rig();
    const first = await rig.owner(1);
    await rig.write(first, 100);
    const second = await rig.owner(2);
    await expect(rig.write(first, 50)).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(rig.write(first, 50)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await rig.newest()).toBe('state at 100');
    await rig.write(second, 200);
    expect(await rig.newest()).toBe('state at 200');
    await expect(rig.finish(first.takeOver(1))).rejects.toMatchObject({ name: 'LaterOwner' });
  });

  it('of a later owner stay when one that was paused while it began goes on', async () => {
    const rig = new Rig();
    await rig.write(await rig.owner(1), 100);
    const connection = rig.connect();
    const subjects = connection.subjects.bind(connection);
    const [paused, goesOn] = [deferred<undefined>(), deferred<undefined>()];
    connection.subjects = async () => {
      paused.resolve(undefined);
      await goesOn.promise;
      return subjects();
    };
    const second = rig.owner(2, connection);
    await rig.finish(paused.promise);
    const third = await rig.owner(3);
    for (const position of [200, 300]) await rig.write(third, position);
    goesOn.resolve(undefined);
    await rig.finish(second);
    expect(await rig.newest()).toBe('state at 300');
  });

  it('that were never listed go when the next owner begins', async () => {
    const rig = new Rig();
    const connection = rig.connect();
    const owner = await rig.owner(1, connection);
    await rig.write(owner, 100);
    const publish = connection.publish.bind(connection);
    connection.publish = (subject, payload, expected) =>
      subject === names.head ? Promise.reject(new Error('ended')) : publish(subject, payload, expected);
    await expect(rig.write(owner, 200)).rejects.toMatchObject({ kind: 'unavailable' });
    const count = async (): Promise<number> => (await rig.finish(rig.connect().subjects())).length;
    expect(await count()).toBe(3);
    await rig.owner(2);
    expect(await count()).toBe(2);
    expect(await rig.newest()).toBe('state at 100');
  });

  it('fall back to the one before when the newest is damaged, and never to nothing', async () => {
    const rig = new Rig();
    const owner = await rig.owner(1);
    await rig.write(owner, 100);
    await rig.write(owner, 200);
    const listed = (await rig.finish(rig.connect().subjects())).filter((subject) => subject !== names.head);
    rig.stream.purge(listed[1] ?? '');
    expect(await rig.newest()).toBe('state at 100');
    rig.stream.purge(listed[0] ?? '');
    await expect(rig.newest()).rejects.toMatchObject({ kind: 'internal' });
  });
});
