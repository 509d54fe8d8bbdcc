import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { nextTurn } from '../../base/turn.js';
import type { MemoryFaults, MemoryImage, MemoryJournal } from '../../journal/memory/index.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { Consumer, ConsumeRequest, Delivery, SendOptions, Settlement } from './types.js';

const channel = 'orders' as ChannelName;
const other = 'others' as ChannelName;
const early: SendOptions = { early: true };
const text = (delivery: Delivery): string => Buffer.from(delivery.message.body).toString();

/** A broker whose journal commits when the test says so. */
describe('messages handed out before they are durable', () => {
  const faults: MemoryFaults = {};
  const tenure = { held: true };
  let clock: ManualClock;
  let journal: MemoryJournal;
  let broker: OpenBroker;
  /** What consumers got. */
  let got: Delivery[];

  const open = async (image?: MemoryImage): Promise<void> => {
    faults.holdCommits = false;
    clock = new ManualClock();
    got = [];
    journal = createMemoryJournal({ faults, ...(image !== undefined && { image }) });
    broker = await openBroker({ journal, clock, log: silentLog, tenure });
  };
  beforeEach(async () => {
    await open();
    await broker.change([
      { do: 'create-queue', channel },
      { do: 'create-queue', channel: other },
    ]);
    faults.holdCommits = true;
  });

  const consume = async (more: Partial<ConsumeRequest> = {}): Promise<Consumer> => {
    const consumer = broker.consume({
      channel,
      handOut: { kind: 'lease', leaseMs: 0 },
      credit: 10,
      early: true,
      onDeliveries: (deliveries) => got.push(...deliveries),
      onCancel: () => undefined,
      ...more,
    });
    await nextTurn();
    return consumer;
  };
  const send = (body: string, options: SendOptions = early, to = channel): Promise<unknown> =>
    broker.send([{ channel: to, body: Buffer.from(body) }], options);
  const settle = (settlement: Settlement, delivery = got[0]!): ReturnType<OpenBroker['settle']> =>
    broker.settle({ tokens: [delivery], settlement });
  const receive = (from = channel): Promise<readonly Delivery[]> =>
    broker.receive({ channel: from, max: 10, waitMs: 0, handOut: { kind: 'lease', leaseMs: 0 } });
  /** Whether it is over by now. */
  const isOver = async (done: Promise<unknown>): Promise<boolean> => {
    let over = false;
    const end = (): void => void (over = true);
    done.then(end, end);
    await nextTurn();
    return over;
  };
  const commit = async (): Promise<void> => {
    // Effects go out at the end of a turn.
    await nextTurn();
    journal.commit();
    await nextTurn();
  };
  const restart = async (): Promise<void> => open(journal.crash());

  it('reach a consumer at once, and their sender has its answer when the disk has them', async () => {
    await consume();
    const sent = send('a');
    expect(got.map(text)).toEqual(['a']);
    expect(await isOver(sent)).toBe(false);
    await commit();
    expect(await sent).toMatchObject([{ ok: true, sequence: 1 }]);
    expect(got).toHaveLength(1);
    expect(broker.queueStats(channel)).toMatchObject({ sent: 1, delivered: 1, inFlight: 1, ready: 0 });
    await settle({ kind: 'ack' });
    expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
  });

  it.each([
    ['the consumer does not say so', { early: false }, early],
    ['the sender does not say so', {}, {}],
    ['the consumer has no credit', { credit: 0 }, early],
  ])('are none when %s', async (_, more, options) => {
    const consumer = await consume(more);
    const sent = send('a', options);
    expect(got).toEqual([]);
    await commit();
    await sent;
    consumer.grant(1);
    await nextTurn();
    expect(got.map(text)).toEqual(['a']);
  });

  it('are none while somebody consumes or waits who takes only what is durable', async () => {
    await consume();
    const late = await consume({ early: false });
    const first = send('a');
    expect(got).toEqual([]);
    await commit();
    await first;
    late.cancel();
    const wait = broker.receive({ channel, max: 1, waitMs: 1000, handOut: { kind: 'lease', leaseMs: 0 } });
    const second = send('b');
    expect(await isOver(wait)).toBe(false);
    await commit();
    await second;
    expect((await wait).map(text)).toEqual(['b']);
    const third = send('c');
    expect(got.map(text)).toEqual(['a', 'c']);
    await commit();
    await third;
  });

  it('overtake nothing', async () => {
    const consumer = await consume({ credit: 1 });
    const sent = [send('a'), send('b')];
    expect(got.map(text)).toEqual(['a']);
    await commit();
    await Promise.all(sent);
    const more = [send('c', {}), send('d')];
    consumer.grant(1);
    consumer.grant(5);
    expect(got.map(text)).toEqual(['a', 'b']);
    await commit();
    await Promise.all(more);
    expect(got.map(text)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are no message with a delay, and no second one of a batch for its queue', async () => {
    await consume();
    const body = Buffer.from('later');
    const sent = [
      broker.send([{ channel, body, policy: { delayMs: 100 } }], early),
      broker.send([{ channel: other, body }], early),
      broker.send(
        [
          { channel, body: Buffer.from('1') },
          { channel, body: Buffer.from('2') },
        ],
        early,
      ),
    ];
    expect(got).toEqual([]);
    await commit();
    await Promise.all(sent);
    expect(got.map(text)).toEqual(['1', '2']);
  });

  it('may be acknowledged at once: nothing of them is left, durable or not', async () => {
    await consume();
    const sent = send('a');
    expect((await settle({ kind: 'ack' })).refused).toEqual([]);
    await commit();
    await sent;
    expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
    void send('b');
    await restart();
    expect(await receive()).toEqual([]);
  });

  it('are back after a crash when they were durable and nobody had acknowledged them', async () => {
    await consume();
    const sent = send('a');
    await commit();
    await sent;
    await restart();
    expect(await receive()).toMatchObject([{ receiveCount: 2 }]);
  });

  it.each<[string, Settlement, ChannelName]>([
    ['given back', { kind: 'nack', to: 'origin' }, channel],
    ['given back to the tail', { kind: 'nack', to: 'tail' }, channel],
    ['moved', { kind: 'move', channel: other }, other],
  ])('reach nobody else before they are durable when they are %s', async (_, settlement, where) => {
    const consumer = await consume();
    const sent = send('a');
    consumer.cancel();
    const settled = settle(settlement);
    expect(await isOver(settled)).toBe(false);
    expect(await receive(where)).toEqual([]);
    await commit();
    await sent;
    expect((await settled).refused).toEqual([]);
    await commit();
    expect((await receive(where)).map(text)).toEqual(['a']);
  });

  it('go where dead letters go when they are refused, once they are durable', async () => {
    const deadLetter = { target: { channel: other }, reasons: ['rejected'] } as const;
    faults.holdCommits = false;
    await broker.change([{ do: 'update-queue', channel, settings: { deadLetter } }]);
    faults.holdCommits = true;
    await consume();
    void send('a');
    void settle({ kind: 'reject' });
    await nextTurn();
    expect(broker.queueStats(channel)).toMatchObject({ inFlight: 1 });
    await commit();
    await commit();
    expect((await receive(other)).map(text)).toEqual(['a']);
  });

  it('stay with their holder past the end of a lease until they are durable', async () => {
    const consumer = await consume({ handOut: { kind: 'lease', leaseMs: 100 }, credit: 1 });
    const sent = send('a');
    clock.advance(5000);
    await nextTurn();
    expect(broker.queueStats(channel)).toMatchObject({ inFlight: 1, ready: 0 });
    await commit();
    await sent;
    clock.advance(100);
    consumer.grant(1);
    expect(got.map(({ receiveCount }) => receiveCount)).toEqual([1, 2]);
  });

  it('are written again when the disk refuses them, and answered then', async () => {
    await consume();
    const sent = send('a');
    faults.failNextGroup = new BrokerError('unavailable', 'no space');
    await commit();
    expect(await isOver(sent)).toBe(false);
    expect(broker.queueStats(channel)).toMatchObject({ inFlight: 1 });
    // Nobody else does anything.
    clock.advance(1000);
    await commit();
    expect(await sent).toMatchObject([{ ok: true }]);
    expect(got).toHaveLength(1);
    await restart();
    expect((await receive()).map(text)).toEqual(['a']);
  });

  it('are written again each in its place when their slots were taken by others meanwhile', async () => {
    await consume();
    const sent = [send('first')];
    await settle({ kind: 'ack' });
    sent.push(send('second'));
    faults.failNextGroup = new BrokerError('unavailable', 'no space');
    await commit();
    clock.advance(1000);
    await commit();
    await Promise.all(sent);
    await settle({ kind: 'nack', to: 'origin' }, got[1]);
    expect(got.map(text)).toEqual(['first', 'second', 'second']);
    await restart();
    expect((await receive()).map(text)).toEqual(['second']);
  });

  it('let nobody wait who cannot be told: not when another node may serve, nor when the broker drains', async () => {
    for (const end of ['tenure', 'drain']) {
      await consume();
      const sent = send('a');
      faults.failNextGroup = new BrokerError('unavailable', 'no space');
      await commit();
      expect(await isOver(sent)).toBe(false);
      if (end === 'tenure') tenure.held = false;
      else broker.drain();
      faults.failNextGroup = new BrokerError('unavailable', 'no space');
      clock.advance(1000);
      await commit();
      await expect(sent).rejects.toMatchObject({ kind: end === 'tenure' ? 'unavailable' : 'draining' });
      tenure.held = true;
      // It was handed out: it is there, should the node go on.
      clock.advance(1000);
      await commit();
      await restart();
      expect((await receive()).map(text)).toEqual(['a']);
      await broker.purge(channel, { ready: true, delayed: true, inFlight: true });
      faults.holdCommits = true;
    }
  });

  it('let nobody wait for a journal that writes nothing more until it is opened again', async () => {
    await consume();
    const sent = send('a');
    faults.failNextGroup = new BrokerError('unavailable', 'the disk fails');
    faults.broken = true;
    const refused = expect(sent).rejects.toMatchObject({ kind: 'unavailable' });
    await commit();
    await refused;
    faults.broken = false;
  });

  it('hold up a rewind of their queue until they are durable: a copy of what was lost would be of nothing', async () => {
    const consumer = await consume();
    const sent = send('a');
    consumer.cancel();
    const rewound = broker.rewind({
      queue: channel,
      log: undefined,
      wants: () => true,
      keeps: () => true,
      restoreMax: 10,
    });
    faults.failNextGroup = new BrokerError('unavailable', 'no space');
    await commit();
    for (let i = 0; i < 5; i++) {
      clock.advance(100);
      await commit();
    }
    expect(await sent).toMatchObject([{ ok: true }]);
    expect(await rewound).toMatchObject({ kept: 1 });
    expect((await receive()).map(text)).toEqual(['a']);
    await restart();
    expect((await receive()).map(text)).toEqual(['a']);
  });

  it('are refused when the broker closes before the disk has them', async () => {
    await consume();
    const sent = send('a');
    faults.failNextGroup = new BrokerError('unavailable', 'no space');
    await commit();
    const refused = expect(sent).rejects.toMatchObject({ kind: 'draining' });
    Object.defineProperty(faults, 'failNextGroup', {
      configurable: true,
      get: () => new BrokerError('unavailable', 'no space'),
      set: () => undefined,
    });
    faults.holdCommits = false;
    await broker.close();
    await refused;
    Object.defineProperty(faults, 'failNextGroup', { value: undefined, writable: true });
  });

  it('are in a checkpoint that is taken meanwhile, handed out or not', async () => {
    await consume({ credit: 1 });
    const sent = [send('a'), send('b')];
    const taken = broker.checkpoint();
    faults.holdCommits = false;
    await commit();
    await Promise.all([taken, ...sent]);
    await restart();
    expect((await receive()).map(text)).toEqual(['a', 'b']);
  });

  it('go with a purge and with their queue', async () => {
    await consume();
    const first = send('a');
    const purged = broker.purge(channel, { ready: true, delayed: true, inFlight: true });
    await commit();
    await first;
    expect(await purged).toEqual({ ready: 0, delayed: 0, inFlight: 1 });
    const second = send('b');
    const nacked = settle({ kind: 'nack', to: 'origin' }, got[1]);
    const deleted = broker.change([{ do: 'delete-queue', channel }]);
    faults.holdCommits = false;
    await commit();
    await Promise.all([second, deleted]);
    expect((await nacked).refused).toEqual([0]);
    expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
  });

  it('are none of a queue that needs no disk', async () => {
    faults.holdCommits = false;
    const memory = 'memory' as ChannelName;
    await broker.change([{ do: 'create-queue', channel: memory, settings: { durable: false } }]);
    await consume({ channel: memory });
    expect(await send('a', early, memory)).toMatchObject([{ ok: true }]);
    expect((await settle({ kind: 'nack', to: 'origin' })).refused).toEqual([]);
    expect(got.map(text)).toEqual(['a', 'a']);
  });

  it('need no acknowledgement when they are removed as they are handed out', async () => {
    await consume({ handOut: { kind: 'auto' } });
    const sent = send('a');
    expect(got.map(text)).toEqual(['a']);
    await commit();
    await sent;
    expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
  });
});
