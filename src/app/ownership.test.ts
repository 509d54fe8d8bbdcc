import { describe, expect, it } from 'vitest';
import { SystemClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import { ForwardedConnections } from '../cluster/connections.js';
import { LocalBus } from '../cluster/local/bus.js';
import { LocalCoordinator } from '../cluster/local/coordinator.js';
import { BrokerError } from '../core/errors.js';
import { journalNames } from '../journal/jetstream/index.js';
import { markMessage } from '../journal/jetstream/marks.js';
import { SimulatedStream, SimulatedConnection } from '../../test/support/simulated-stream.js';
import { randomFrom } from '../../test/support/random.js';
import type { Cluster } from './cluster.js';
import { Ownership, TakeOverFailed } from './ownership.js';
import { CLAIM } from './partition.js';

const clock = new SystemClock();

/** A node that owns everything at once. */
function node(log = new SimulatedStream()): Ownership {
  const coordinator = new LocalCoordinator({ id: 'one' });
  const connection = (stream = new SimulatedStream()): SimulatedConnection =>
    new SimulatedConnection({
      stream,
      clock,
      random: randomFrom(1),
      payloadBytesMax: 4096,
    });
  const cluster: Cluster = {
    coordinator,
    connections: new ForwardedConnections({
      coordinator,
      bus: new LocalBus(),
      claim: CLAIM,
      clock,
      log: silentLog,
    }),
    openStreams: () =>
      Promise.resolve({ names: journalNames('x', 0), stream: connection(log), checkpoints: connection() }),
    close: () => coordinator.close(),
  };
  return new Ownership({
    id: 'one',
    join: () => Promise.resolve(cluster),
    standIn: () => {
      throw new Error('it need not wait');
    },
    minFreeBytes: 0,
    isPatient: false,
    clock,
    monotonicMs: () => 0,
    log: silentLog,
  });
}

describe('an owner whose connectors cannot start', () => {
  const lost = new BrokerError('unavailable', 'this node does not own the journal at the moment');

  it('has failed to take over when the channels are lost by then', async () => {
    const ownership = node();
    await ownership.join();
    await Promise.resolve();
    expect(ownership.startFailure(lost)).toMatchObject({ name: 'TakeOverFailed', cause: lost });
    const told = new Error('aws cannot start: this node does not own the journal', { cause: lost });
    expect(ownership.startFailure(told)).toMatchObject({ name: 'TakeOverFailed', cause: lost });
    const taken = new Error('the port is taken');
    expect(ownership.startFailure(taken)).toBe(taken);
    await ownership.release();
    expect(ownership.startFailure(lost)).toBeInstanceOf(TakeOverFailed);
  });

  it('has not, when it never was the owner', () => {
    expect(node().startFailure(lost)).toBe(lost);
  });
});

describe('an owner that cannot open the journal', () => {
  it('has failed to take over when NATS does not answer', async () => {
    const ownership = node();
    await ownership.join();
    await Promise.resolve();
    const silence = new BrokerError('unavailable', 'no answer');
    const taken = ownership.takeOver(async (journal) => {
      await journal.close();
      throw silence;
    });
    await expect(taken).rejects.toBeInstanceOf(TakeOverFailed);
    await expect(taken).rejects.toMatchObject({ cause: silence });
    await ownership.release();
  });

  it('has failed to take over when somebody with a later claim was here first', async () => {
    const log = new SimulatedStream();
    log.offer(journalNames('x', 0).mark, markMessage({ extentBytes: 4096, claim: 99 }), {});
    const ownership = node(log);
    await ownership.join();
    await Promise.resolve();
    const taken = ownership.takeOver(() => Promise.resolve());
    await expect(taken).rejects.toBeInstanceOf(TakeOverFailed);
    await expect(taken).rejects.toThrow('the journal belongs to a later owner');
    await ownership.release();
  });

  it('says what is wrong with it otherwise', async () => {
    const ownership = node();
    await ownership.join();
    await Promise.resolve();
    const damaged = new BrokerError('precondition', 'every checkpoint is damaged');
    const taken = ownership.takeOver(async (journal) => {
      await journal.close();
      throw damaged;
    });
    await expect(taken).rejects.toBe(damaged);
    await ownership.release();
  });
});
