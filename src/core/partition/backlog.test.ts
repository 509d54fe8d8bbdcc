import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { createMemoryJournal, type MemoryFaults, type MemoryJournal } from '../../journal/memory/index.js';
import { openBroker, type OpenBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { CoreLimits } from '../core-context.js';
import type { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import type { Delivery, ReceiveRequest, SendOutcome } from '../queue/types.js';

const on = (name: string): ChannelName => name as ChannelName;
const QUEUE = on('q');
const BODY = Buffer.from('0123456789');
const MiB = 1024 * 1024;
const SMALL: Partial<CoreLimits> = { backlogBytesMax: MiB };

interface World {
  readonly broker: OpenBroker;
  readonly journal: MemoryJournal;
  readonly faults: MemoryFaults;
  readonly clock: ManualClock;
}

/** A broker whose disk can be made to hang. */
async function open(limits: Partial<CoreLimits> = SMALL): Promise<World> {
  const faults: MemoryFaults = {};
  const journal = createMemoryJournal({ faults });
  const clock = new ManualClock();
  const broker = await openBroker({ journal, clock, log: silentLog, limits });
  const settings = { dedupWindowMs: 60_000, subChannelMarks: ['.g.'] };
  await broker.change([{ do: 'create-queue', channel: QUEUE, settings }]);
  return { broker, journal, faults, clock };
}

/** The disk answers again, for good. */
function wake({ journal, faults }: World): void {
  faults.holdCommits = false;
  journal.commit();
}

/** Calls until one is refused; every answer, and what the refusal was. */
async function untilRefused<T>(
  call: (n: number) => Promise<T>,
  most = 20_000,
): Promise<{ calls: Promise<T>[]; error: BrokerError }> {
  const calls: Promise<T>[] = [];
  let error: BrokerError | undefined;
  for (let n = 0; n < most && error === undefined; n++) {
    const answer = call(n);
    calls.push(answer);
    answer.catch((caught: unknown) => (error ??= caught as BrokerError));
    if (n % 16 === 15) await new Promise((resolve) => void setImmediate(resolve));
  }
  if (error === undefined) throw new Error(`${most} calls and no refusal`);
  return { calls, error };
}

const send = (broker: OpenBroker, more: Partial<OutgoingMessage> = {}): Promise<readonly SendOutcome[]> =>
  broker.send([{ channel: QUEUE, body: BODY, ...more }], { createMissing: true });

const receive = (broker: OpenBroker, more: Partial<ReceiveRequest> = {}): Promise<readonly Delivery[]> =>
  broker.receive({ channel: QUEUE, max: 1, waitMs: 0, handOut: { kind: 'lease', leaseMs: 60_000 }, ...more });

function heapNow(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('a disk that hangs', () => {
  it.each([1, 100])(
    'refuses tiny messages, %i a send, before they hold more memory than is said',
    async (each) => {
      const world = await open({ backlogBytesMax: 32 * MiB });
      const { broker, faults } = world;
      faults.holdCommits = true;
      const before = heapNow();
      const messages = (): OutgoingMessage[] =>
        Array.from({ length: each }, () => ({ channel: QUEUE, body: BODY }));
      const { calls, error } = await untilRefused(() => broker.send(messages()));
      expect(error).toMatchObject({ kind: 'unavailable', message: 'the store does not keep up' });
      expect(broker.figures().shortage).toBe('the store does not keep up');
      expect(heapNow() - before).toBeLessThan(32 * MiB);
      wake(world);
      const outcomes = (await Promise.allSettled(calls)).filter((call) => call.status === 'fulfilled');
      expect(broker.queueStats(QUEUE)?.ready).toBe(outcomes.length * each);
      expect(broker.figures().shortage).toBeUndefined();
      await send(broker);
    },
  );

  it('refuses what leaves nothing in the journal: the same id again and again', async () => {
    const world = await open();
    world.faults.holdCommits = true;
    const { calls, error } = await untilRefused(() => send(world.broker, { dedupId: 'one' }));
    expect(error.kind).toBe('unavailable');
    wake(world);
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter((call) => call.status === 'rejected')).not.toEqual([]);
    expect(world.broker.queueStats(QUEUE)?.ready).toBe(1);
  });

  it('refuses events, changes that wait for their turn, new channels and purges', async () => {
    const calls: ((broker: OpenBroker, n: number) => Promise<unknown>)[] = [
      (broker) => broker.append([{ channel: on('log'), body: BODY }], { createMissing: true }),
      (broker, n) => broker.change([{ do: 'put', kind: 'k', key: `k${n}`, value: 'x'.repeat(100) }]),
      (broker) => broker.change([{ do: 'remove', kind: 'k', key: 'k' }]),
      (broker, n) => send(broker, { channel: on(`q${n}`) }),
      (broker, n) => send(broker, { channel: on(`q.g.${n}`) }),
      (broker) => broker.purge(QUEUE, { ready: true, delayed: true, inFlight: true }),
    ];
    for (const call of calls) {
      const world = await open();
      world.faults.holdCommits = true;
      const refused = await untilRefused((n) => call(world.broker, n));
      expect(refused.error.kind).toBe('unavailable');
      wake(world);
      await Promise.allSettled(refused.calls);
      expect(world.broker.figures().shortage).toBeUndefined();
      await send(world.broker);
    }
  });

  it('lets consumers go on, with a reserve; then nothing is handed out or extended, and ends of deliveries are still taken', async () => {
    const world = await open();
    const { broker, faults } = world;
    for (let n = 0; n < 300; n++) await send(broker);
    const [held] = await receive(broker);
    faults.holdCommits = true;
    const sends = await untilRefused(() => send(broker));
    const [more] = await receive(broker);
    expect(await broker.settle({ tokens: [more!], settlement: { kind: 'ack' } })).toEqual({ refused: [] });
    // One that gives everything back at once.
    const loop = await untilRefused(async () => {
      const deliveries = await receive(broker);
      await broker.settle({ tokens: deliveries, settlement: { kind: 'nack', to: 'origin' } });
    });
    expect(loop.error).toMatchObject({ kind: 'unavailable', message: 'the store does not keep up' });
    const taken: Delivery[] = [];
    broker.consume({
      channel: QUEUE,
      credit: 1,
      handOut: { kind: 'lease', leaseMs: 60_000 },
      onDeliveries: (deliveries) => taken.push(...deliveries),
      onCancel: () => undefined,
    });
    const extend = { tokens: [held!], settlement: { kind: 'extend', leaseMs: 1000 } } as const;
    await expect(broker.settle(extend)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await broker.settle({ tokens: [held!], settlement: { kind: 'ack' } })).toEqual({ refused: [] });
    expect(taken).toEqual([]);
    wake(world);
    await Promise.allSettled([...sends.calls, ...loop.calls]);
    expect(taken).toHaveLength(1);
    expect(await receive(broker)).toHaveLength(1);
  });

  it('leaves leases and dead letters to when it answers again, and forgets none', async () => {
    const world = await open();
    const { broker, faults, clock } = world;
    await broker.change([
      { do: 'create-queue', channel: on('dead') },
      {
        do: 'update-queue',
        channel: QUEUE,
        settings: { deadLetter: { target: { channel: on('dead') }, reasons: ['expired'] } },
      },
    ]);
    for (let n = 0; n < 10; n++) await send(broker, { policy: { expirationMs: 1000 } });
    faults.holdCommits = true;
    const sends = await untilRefused(() => send(broker));
    const loop = await untilRefused(async () => {
      const deliveries = await receive(broker);
      await broker.settle({ tokens: deliveries, settlement: { kind: 'nack', to: 'origin' } });
    });
    clock.advance(5000);
    expect(broker.queueStats(QUEUE)?.ready).toBe(10);
    wake(world);
    const sent = (await Promise.allSettled(sends.calls)).filter((call) => call.status === 'fulfilled');
    await Promise.allSettled(loop.calls);
    clock.advance(50);
    await new Promise((resolve) => void setImmediate(resolve));
    expect(broker.queueStats(on('dead'))?.ready).toBe(10);
    expect(broker.queueStats(QUEUE)?.ready).toBe(sent.length);
  });
});

describe('what stays in memory', () => {
  it('is counted and bounded, whatever it is: channels, groups, ids of the dedup window, the registry', async () => {
    const fill: ((broker: OpenBroker, n: number) => Promise<unknown>)[] = [
      (broker, n) => send(broker, { channel: on(`q${n}`) }),
      (broker, n) => send(broker, { channel: on(`q.g.${n}`) }),
      (broker, n) => broker.change([{ do: 'put', kind: 'k', key: `k${n}`, value: 'x'.repeat(1000) }]),
      (broker, n) => broker.change([{ do: 'set-alias', alias: on(`a${n}`), channel: QUEUE }]),
    ];
    for (const call of fill) {
      const { broker } = await open({ memoryBytesMax: 64 * 1024 });
      const { error } = await untilRefused((n) => call(broker, n), 2000);
      expect(error).toMatchObject({ kind: 'unavailable', message: 'memory is nearly full' });
      // What takes away is never refused.
      await broker.change([{ do: 'delete-queue', channel: QUEUE }]);
    }
  });

  it('takes messages again when the window of ids that filled it is over, with nothing sent meanwhile', async () => {
    const { broker, clock } = await open({ memoryBytesMax: 64 * 1024 });
    const auto = { handOut: { kind: 'auto' } } as const;
    const { error } = await untilRefused(async (n) => {
      await send(broker, { dedupId: `id${n}` });
      await receive(broker, auto);
    }, 2000);
    expect(error).toMatchObject({ kind: 'unavailable', message: 'memory is nearly full' });
    clock.advance(30_000);
    expect(broker.figures().memoryBytes).toBeGreaterThan(60_000);
    clock.advance(31_000);
    expect(broker.figures().memoryBytes).toBeLessThan(4000);
    expect(broker.figures().shortage).toBeUndefined();
    await send(broker, { dedupId: 'id0' });
  });

  it('bounds waiting receives and consumers over all queues', async () => {
    const { broker } = await open({ waitersMax: 2, consumersMax: 2 });
    const names = ['q1', 'q2', 'q3'].map(on);
    await broker.change(names.map((channel) => ({ do: 'create-queue', channel }) as const));
    const ends = new AbortController();
    const waiting = names.map((channel) => receive(broker, { channel, waitMs: 1000, signal: ends.signal }));
    await expect(waiting[2]).rejects.toMatchObject({ kind: 'limit' });
    ends.abort();
    await Promise.all(waiting.slice(0, 2));
    const last = receive(broker, { channel: on('q3'), waitMs: 1000 });
    const handOut = { kind: 'auto' } as const;
    const holder = { credit: 0, handOut, onDeliveries: () => undefined, onCancel: () => undefined };
    const consume = (channel: ChannelName) => broker.consume({ channel, ...holder });
    const first = consume(on('q1'));
    consume(on('q2'));
    expect(() => consume(on('q3'))).toThrow('too many consumers');
    first.cancel();
    first.cancel();
    consume(on('q3'));
    expect(() => consume(on('q1'))).toThrow('too many consumers');
    await Promise.allSettled([broker.change([{ do: 'delete-queue', channel: on('q3') }]), last]);
    consume(on('q1'));
  });
});
