import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import { createMemoryJournal } from '../journal/memory/index.js';
import type { ChannelName } from './channel-name.js';
import { openBroker, type OpenBroker } from './broker.js';
import type { BrokerError } from './errors.js';
import type { Delivery } from './queue/types.js';

const channel = 'orders' as ChannelName;
const lease = { kind: 'lease', leaseMs: 60_000 } as const;
const ACK = { kind: 'ack' } as const;

/** A broker whose right to speak comes and goes. */
describe('a broker that may not be the owner any more', () => {
  const tenure = { held: true };
  let clock: ManualClock;
  let broker: OpenBroker;
  beforeEach(async () => {
    tenure.held = true;
    clock = new ManualClock();
    broker = await openBroker({ journal: createMemoryJournal({}), clock, log: silentLog, tenure });
    await broker.change([
      { do: 'create-queue', channel },
      { do: 'create-log', channel: 'events' as ChannelName },
    ]);
    await send('a');
    await send('b');
  });

  const send = (body: string): Promise<unknown> => broker.send([{ channel, body: Buffer.from(body) }]);
  const receive = (waitMs = 0): Promise<readonly Delivery[]> =>
    broker.receive({ channel, max: 1, waitMs, handOut: lease });
  const unavailable = { kind: 'unavailable' };

  it('confirms nothing and changes nothing', async () => {
    const [held] = await receive();
    tenure.held = false;
    const tokens = [held as Delivery];
    const log = 'events' as ChannelName;
    for (const refused of [
      broker.settle({ tokens, settlement: ACK }),
      broker.settle({ tokens, settlement: ACK, durable: true }),
      broker.settle({ tokens, settlement: { kind: 'nack', to: 'origin' } }),
      receive(),
      receive(1000),
      send('c'),
      broker.append([{ channel: log, body: Buffer.from('e') }]),
      broker.readLog({ channel: log, fromSequence: 1, max: 1 }),
      broker.peek(channel, 1),
      broker.purge(channel, { ready: true, delayed: true, inFlight: true }),
      broker.change([{ do: 'delete-queue', channel }]),
    ])
      await expect(refused).rejects.toMatchObject(unavailable);
    expect(() => broker.holds(held as Delivery)).toThrow(/own/);
    expect(() => broker.remembers(channel, 'x')).toThrow(/own/);
    expect(() => broker.subscribe({ channel: log, start: { from: 'first' } })).toThrow(/own/);
    expect(() => broker.registry.get('kind', 'key')).toThrow(/own/);
    expect(() => broker.registry.list('kind')).toThrow(/own/);
    tenure.held = true;
    expect(broker.queueStats(channel)).toMatchObject({ ready: 1, inFlight: 1, acknowledged: 0 });
    expect(await broker.settle({ tokens, settlement: ACK })).toEqual({ refused: [] });
  });

  it('hands nothing to those who wait already, and goes on when it is the owner after all', async () => {
    await receive();
    const taken: string[] = [];
    const consumer = broker.consume({
      channel,
      handOut: lease,
      credit: 0,
      onDeliveries: (deliveries) =>
        taken.push(...deliveries.map((one) => Buffer.from(one.message.body).toString())),
      onCancel: () => undefined,
    });
    tenure.held = false;
    consumer.grant(5);
    // The first one's lease ends too.
    clock.advance(61_000);
    expect(taken).toEqual([]);
    tenure.held = true;
    clock.advance(200);
    expect(taken).toEqual(['b', 'a']);
  });

  it('tells those who read a log nothing, and goes on when it is the owner after all', async () => {
    const log = 'events' as ChannelName;
    clock = new ManualClock();
    // The bodies are read from the disk.
    const journal = createMemoryJournal({ peekBytesMax: 0 });
    broker = await openBroker({ journal, clock, log: silentLog, tenure });
    await broker.change([{ do: 'create-log', channel: log }]);
    await broker.append([{ channel: log, body: Buffer.from('a') }]);
    const subscription = broker.subscribe({ channel: log, start: { from: 'first' } });
    const seen: number[] = [];
    const read = async (): Promise<void> => {
      seen.push(...(await subscription.next(1)).map(({ sequence }) => sequence));
    };
    tenure.held = false;
    const first = read();
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
    tenure.held = true;
    clock.advance(200);
    await first;
    expect(seen).toEqual([1]);
    // Deposed while it reads.
    await broker.append([{ channel: log, body: Buffer.from('b') }]);
    const second = read();
    await Promise.resolve();
    tenure.held = false;
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([1]);
    const ended = subscription.next(1).catch((error: unknown) => (error as BrokerError).kind);
    subscription.close();
    await second;
    expect([seen, await ended]).toEqual([[1], 'precondition']);
  });

  it('takes no credit for what it read and did not hand over', async () => {
    clock = new ManualClock();
    broker = await openBroker({
      journal: createMemoryJournal({ peekBytesMax: 0 }),
      clock,
      log: silentLog,
      tenure,
    });
    await broker.change([{ do: 'create-queue', channel }]);
    await send('a');
    const taken: string[] = [];
    broker.consume({
      channel,
      handOut: { kind: 'auto' },
      credit: 1,
      onDeliveries: (deliveries) =>
        taken.push(...deliveries.map((one) => Buffer.from(one.message.body).toString())),
      onCancel: () => undefined,
    });
    // The body is asked for in one turn and comes in a later one.
    await Promise.resolve();
    tenure.held = false;
    await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toEqual([]);
    tenure.held = true;
    clock.advance(200);
    await expect.poll(() => taken).toEqual(['a']);
  });
});
