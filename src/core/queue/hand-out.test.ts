import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import type { MemoryFaults } from '../../journal/memory/index.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import type { Delivery, QueueSettings } from './types.js';

const queue = 'q' as ChannelName;
const lease = { kind: 'lease', leaseMs: 60_000 } as const;
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

interface World {
  readonly broker: OpenBroker;
  readonly clock: ManualClock;
  readonly faults: MemoryFaults;
}

/** A broker none of whose bodies are in memory: each has to be read. */
async function cold(settings: Partial<QueueSettings> = {}): Promise<World> {
  const clock = new ManualClock();
  const faults: MemoryFaults = {};
  const journal = createMemoryJournal({ peekBytesMax: 0, faults });
  const broker = await openBroker({ journal, clock, log: silentLog });
  await broker.change([{ do: 'create-queue', channel: queue, settings }]);
  return { broker, clock, faults };
}

function message(body: string, channel: string = queue): OutgoingMessage {
  return { channel: channel as ChannelName, body: Buffer.from(body) };
}

function texts(deliveries: readonly { readonly message: { readonly body: Uint8Array } }[]): string[] {
  return deliveries.map((d) => Buffer.from(d.message.body).toString());
}

/** What a consumer gets from now on, as it comes. */
function consumed(broker: OpenBroker): readonly string[] {
  const got: string[] = [];
  broker.consume({
    channel: queue,
    credit: 5,
    handOut: { kind: 'auto' },
    onDeliveries: (deliveries) => got.push(...texts(deliveries)),
    onCancel: () => undefined,
  });
  return got;
}

const broken = (): BrokerError => new BrokerError('internal', 'damaged');

describe('a life shorter than the way to the disk', () => {
  const brief: OutgoingMessage = { ...message('brief'), policy: { expirationMs: 1 } };

  async function slow(): Promise<{ broker: OpenBroker; send: () => Promise<void> }> {
    const clock = new ManualClock();
    const journal = createMemoryJournal({ clock, commitDelayMs: 50 });
    const opening = openBroker({ journal, clock, log: silentLog });
    const made = async <T>(work: Promise<T>): Promise<T> => {
      for (let i = 0; i < 5; i++) {
        await turn();
        clock.advance(50);
      }
      return work;
    };
    const broker = await made(opening);
    await made(broker.change([{ do: 'create-queue', channel: queue, settings: {} }]));
    return {
      broker,
      send: async () => {
        await made(broker.send([brief]));
      },
    };
  }

  it('ends in the hands of whoever waits', async () => {
    const { broker, send } = await slow();
    const receiving = broker.receive({ channel: queue, max: 1, waitMs: 60_000, handOut: lease });
    await send();
    expect(texts(await receiving)).toEqual(['brief']);
    const got = consumed(broker);
    await send();
    expect(got).toEqual(['brief']);
  });

  it('is over when nobody does', async () => {
    const { broker, send } = await slow();
    await send();
    expect(await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease })).toEqual([]);
  });
});

describe('bodies that have to be read', () => {
  it('reach receives, consumers and peeks in order', async () => {
    const { broker } = await cold();
    await broker.send([message('1'), message('2'), message('3')]);
    expect(texts(await broker.peek(queue, 2))).toEqual(['1', '2']);
    expect(texts(await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease }))).toEqual(['1']);
    const got = consumed(broker);
    await turn();
    expect(got).toEqual(['2', '3']);
  });

  it('go back uncounted when their receiver gave up meanwhile', async () => {
    const { broker } = await cold();
    await broker.send([message('1'), message('2')]);
    const gone = new AbortController();
    const receiving = broker.receive({
      channel: queue,
      max: 2,
      waitMs: 0,
      handOut: lease,
      signal: gone.signal,
    });
    gone.abort();
    expect(await receiving).toEqual([]);
    const again = await broker.receive({ channel: queue, max: 2, waitMs: 0, handOut: lease });
    expect(again.map((d) => [d.sequence, d.receiveCount])).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it('go back when their consumer left, and are let go when their queue did', async () => {
    const { broker } = await cold();
    await broker.send([message('1')]);
    const request = {
      channel: queue,
      credit: 1,
      handOut: lease,
      onDeliveries: () => expect.fail('came'),
      onCancel: () => undefined,
    };
    const consumer = broker.consume(request);
    queueMicrotask(() => consumer.cancel());
    await turn();
    expect(broker.queueStats(queue)).toMatchObject({ ready: 1, inFlight: 0 });
    const receiving = broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease });
    await broker.change([{ do: 'delete-queue', channel: queue }]);
    await receiving;
    await turn();
    expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
  });

  it('are tried again later when they cannot be read, and nobody else waits for that', async () => {
    const { broker, clock, faults } = await cold();
    await broker.send([message('1'), message('2')]);
    faults.failNextRead = broken();
    const failed = broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease });
    await expect(failed).rejects.toMatchObject({ kind: 'internal' });
    expect(texts(await broker.receive({ channel: queue, max: 5, waitMs: 0, handOut: lease }))).toEqual(['2']);
    clock.advance(30_100);
    const again = await broker.receive({ channel: queue, max: 5, waitMs: 0, handOut: lease });
    expect([texts(again), again[0]?.receiveCount]).toEqual([['1'], 1]);
  });

  it('give a consumer its credit back when they cannot be read', async () => {
    const { broker, clock, faults } = await cold();
    const got: string[] = [];
    broker.consume({
      channel: queue,
      credit: 1,
      creditBytes: 100,
      handOut: lease,
      onDeliveries: (deliveries) => got.push(...texts(deliveries)),
      onCancel: () => undefined,
    });
    await turn();
    faults.failNextRead = broken();
    await broker.send([message('1'), message('2')]);
    await turn();
    expect(got).toEqual(['2']);
    clock.advance(30_100);
    await turn();
    expect(got).toEqual(['2']);
  });

  it('are never overtaken in an ordered sub-channel', async () => {
    const { broker, clock, faults } = await cold({ subChannelMarks: ['.g.'] });
    await broker.send([message('1', 'q.g.a'), message('2', 'q.g.a'), message('other')]);
    faults.failNextRead = broken();
    const failed = broker.receive({ channel: 'q.g.a' as ChannelName, max: 1, waitMs: 0, handOut: lease });
    await expect(failed).rejects.toMatchObject({ kind: 'internal' });
    const receive = (): Promise<readonly Delivery[]> =>
      broker.receive({ channel: queue, max: 5, waitMs: 0, handOut: lease });
    expect(texts(await receive())).toEqual(['other']);
    clock.advance(30_100);
    expect(texts(await receive())).toEqual(['1', '2']);
  });

  it('leave with a durable settlement only once they were read', async () => {
    const { broker, faults } = await cold({
      deadLetter: { target: { route: 'r:dead' }, reasons: ['rejected'] },
    });
    await broker.change([{ do: 'create-queue', channel: 'dead' as ChannelName }]);
    broker.registerRouter('r', (rest) => [{ channel: rest as ChannelName }]);
    await broker.send([message('1')]);
    const tokens = await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease });
    await broker.settle({ tokens, settlement: { kind: 'reject' }, durable: true });
    expect(texts(await broker.peek('dead' as ChannelName, 1))).toEqual(['1']);
    await broker.send([message('2')]);
    const more = await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease });
    faults.failNextRead = broken();
    await broker.settle({ tokens: more, settlement: { kind: 'reject' }, durable: true });
    expect(broker.queueStats(queue)).toMatchObject({ ready: 0, delayed: 1, inFlight: 0 });
  });
});

describe('settling', () => {
  it('waits for the disk when any of what it settles is on it', async () => {
    const { broker, faults } = await cold();
    const memory = 'm' as ChannelName;
    await broker.change([{ do: 'create-queue', channel: memory, settings: { durable: false } }]);
    await broker.send([message('1'), message('2', memory)]);
    const one = await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: lease });
    const two = await broker.receive({ channel: memory, max: 1, waitMs: 0, handOut: lease });
    faults.holdCommits = true;
    let settled = false;
    const tokens = [...one, ...two, ...two];
    const settling = broker.settle({ tokens, settlement: { kind: 'ack' }, durable: true });
    void settling.then(() => (settled = true));
    await turn();
    expect(settled).toBe(false);
    faults.holdCommits = false;
    void broker.send([message('3')]);
    expect(await settling).toEqual({ refused: [] });
    expect(broker.figures().messages).toBeLessThanOrEqual(1);
  });
});
