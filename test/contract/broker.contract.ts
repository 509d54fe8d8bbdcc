import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ManualClock } from '../../src/base/clock.js';
import type { OpenBroker } from '../../src/core/broker.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import type { OutgoingMessage } from '../../src/core/message.js';
import type { Delivery, QueueSettings, ReceiveRequest } from '../../src/core/queue/types.js';

/** A broker over one store, opened as often as a test likes. */
export interface BrokerHarness {
  readonly clock: ManualClock;
  open(): Promise<OpenBroker>;
  /** Ends the broker without its goodbye and opens the store again, with everything that was acknowledged as durable. */
  crash(): Promise<OpenBroker>;
  dispose(): Promise<void>;
}

const queue = 'orders' as ChannelName;
const dead = 'dead' as ChannelName;
const log = 'events' as ChannelName;
const on = (name: string): ChannelName => name as ChannelName;

function text(delivery: { readonly message: { readonly body: Uint8Array } }): string {
  return Buffer.from(delivery.message.body).toString();
}

function message(body: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { channel: queue, body: Buffer.from(body), ...more };
}

/** What the Broker facade promises its connectors, whatever journal and partition stand behind it. */
export function brokerContract(name: string, factory: () => Promise<BrokerHarness>): void {
  describe(`broker contract: ${name}`, () => {
    let harness: BrokerHarness;
    let broker: OpenBroker;

    beforeEach(async () => {
      harness = await factory();
      broker = await harness.open();
    });

    afterEach(async () => {
      await broker.close();
      await harness.dispose();
    });

    async function create(channel: ChannelName, settings: Partial<QueueSettings> = {}): Promise<void> {
      await broker.change([{ do: 'create-queue', channel, settings }]);
    }

    async function send(...bodies: string[]): Promise<void> {
      const outcomes = await broker.send(bodies.map((body) => message(body)));
      expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
    }

    function receive(more: Partial<ReceiveRequest> = {}): Promise<readonly Delivery[]> {
      return broker.receive({
        channel: queue,
        max: 10,
        waitMs: 0,
        handOut: { kind: 'lease', leaseMs: 30_000 },
        ...more,
      });
    }

    async function ready(channel: ChannelName = queue): Promise<string[]> {
      return (await broker.peek(channel, 100)).map(text);
    }

    describe('queues', () => {
      it('gives back what was sent, in order, whole', async () => {
        await create(queue);
        const tags = new Map([
          ['__proto__', 'x'],
          ['ключ', ''],
        ]);
        const whole = {
          id: 'own',
          clientId: 'me',
          metadata: 'm',
          tags,
          origin: { protocol: 'p', bytes: Buffer.from([0, 255]) },
        };
        const [first] = await broker.send([message('1', whole), message('2')]);
        expect(first).toMatchObject({ ok: true, channel: queue, id: 'own', sequence: 1, duplicate: false });
        const [one, two] = await receive();
        expect(one?.message).toMatchObject({ id: 'own', hasOwnId: true, clientId: 'me', metadata: 'm' });
        expect(one?.message.tags).toEqual(tags);
        expect(Buffer.from(one!.message.origin!.bytes)).toEqual(Buffer.from([0, 255]));
        expect(text(two!)).toBe('2');
        expect(two?.message.hasOwnId).toBe(false);
        expect(two).toMatchObject({ sequence: 2, receiveCount: 1, redelivered: false, reRoutedFrom: '' });
      });

      it('refuses a message for a missing queue and stores the others, or none when asked', async () => {
        await create(queue);
        const batch = [message('1'), message('2', { channel: on('nowhere') })];
        const some = await broker.send(batch);
        expect(some.map((outcome) => outcome.ok)).toEqual([true, false]);
        const none = await broker.send(batch, { allOrNothing: true });
        expect(none.map((outcome) => outcome.ok)).toEqual([false, false]);
        expect(await ready()).toEqual(['1']);
        await broker.send(batch, { createMissing: true });
        expect(broker.queues('')).toEqual(['nowhere', queue]);
      });

      it('hands a message to one holder, again when its lease ends, and forgets it when it is acknowledged', async () => {
        await create(queue);
        await send('1');
        const [first] = await receive({ handOut: { kind: 'lease', leaseMs: 1000 } });
        expect(await receive()).toEqual([]);
        harness.clock.advance(1100);
        const [second] = await receive();
        expect(second).toMatchObject({ receiveCount: 2, redelivered: true });
        expect((await broker.settle({ tokens: [first!], settlement: { kind: 'ack' } })).refused).toEqual([0]);
        expect(broker.holds(second!)).toBe(true);
        const settled = await broker.settle({
          tokens: [second!],
          settlement: { kind: 'ack' },
          durable: true,
        });
        expect(settled.refused).toEqual([]);
        expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
      });

      it('puts a message back in its old place or behind all, counted or not, now or later', async () => {
        await create(queue);
        await send('1', '2', '3');
        const take = async (): Promise<Delivery> => (await receive({ max: 1 }))[0]!;
        await broker.settle({ tokens: [await take()], settlement: { kind: 'nack', to: 'origin' } });
        expect(await ready()).toEqual(['1', '2', '3']);
        await broker.settle({ tokens: [await take()], settlement: { kind: 'nack', to: 'tail' } });
        expect(await ready()).toEqual(['2', '3', '1']);
        const uncounted = await take();
        await broker.settle({
          tokens: [uncounted],
          settlement: { kind: 'nack', to: 'origin', uncounted: true },
        });
        const again = await take();
        expect([text(again), again.receiveCount]).toEqual(['2', 1]);
        // The same count, and still another lease.
        expect(broker.holds(uncounted)).toBe(false);
        await broker.settle({ tokens: [again], settlement: { kind: 'nack', to: 'origin', delayMs: 500 } });
        expect(broker.queueStats(queue)).toMatchObject({ ready: 2, delayed: 1, inFlight: 0 });
        harness.clock.advance(600);
        expect(await ready()).toEqual(['2', '3', '1']);
      });

      it('dead-letters after the last delivery, with its origin named, and moves on request', async () => {
        await create(queue, {
          deadLetter: { target: { channel: dead }, maxReceiveCount: 1, reasons: ['max-receives'] },
        });
        await create(dead);
        await send('1', '2');
        const deliveries = await receive();
        await broker.settle({ tokens: [deliveries[0]!], settlement: { kind: 'nack', to: 'tail' } });
        await broker.settle({
          tokens: [deliveries[1]!],
          settlement: { kind: 'move', channel: dead },
          durable: true,
        });
        const letters = await receive({ channel: dead });
        expect(letters.map((d) => [text(d), d.reRoutedFrom, d.receiveCount])).toEqual([
          ['1', queue, 1],
          ['2', queue, 1],
        ]);
        expect(broker.queueStats(queue)).toMatchObject({ ready: 0, inFlight: 0, deadLettered: 1 });
      });

      it('takes rejected, expired and overflowing messages where a route says', async () => {
        broker.registerRouter('test', (rest, letter) => [
          { channel: dead, originBytes: Buffer.from(`${rest}:${letter.reason}`) },
        ]);
        await create(dead);
        const target = { route: 'test:somewhere' };
        await create(queue, {
          maxLength: 1,
          deadLetter: { target, reasons: ['rejected', 'expired', 'overflow'] },
        });
        const origin = { protocol: 'p', bytes: Buffer.from('was') };
        await broker.send([
          message('1', { origin }),
          message('2', { origin, policy: { expirationMs: 100 } }),
        ]);
        harness.clock.advance(200);
        await broker.send([message('3', { origin })]);
        const [third] = await receive();
        await broker.settle({ tokens: [third!], settlement: { kind: 'reject' }, durable: true });
        const letters = (await receive({ channel: dead })).map((d) =>
          Buffer.from(d.message.origin!.bytes).toString(),
        );
        expect(letters).toEqual(['somewhere:overflow', 'somewhere:expired', 'somewhere:rejected']);
      });

      it('keeps a dead letter whose route nobody knows yet', async () => {
        await create(dead);
        await create(queue, { deadLetter: { target: { route: 'late:x' }, reasons: ['expired'] } });
        await broker.send([message('1', { policy: { expirationMs: 100 } })]);
        harness.clock.advance(200);
        expect(broker.figures().messages).toBe(1);
        broker.registerRouter('late', () => [{ channel: dead }]);
        harness.clock.advance(2000);
        expect((await receive({ channel: dead, waitMs: 1000 })).map(text)).toEqual(['1']);
      });

      it('answers a second message with the same dedup id as the first, within the window', async () => {
        await create(queue, { dedupWindowMs: 1000 });
        const [first] = await broker.send([message('1', { dedupId: 'x' })]);
        const [second] = await broker.send([message('2', { dedupId: 'x' })]);
        expect(second).toMatchObject({
          ok: true,
          duplicate: true,
          sequence: (first as { sequence: number }).sequence,
        });
        harness.clock.advance(1000);
        await broker.send([message('3', { dedupId: 'x' })]);
        expect(await ready()).toEqual(['1', '3']);
      });

      it('delays, expires and orders by priority', async () => {
        await create(queue, { maxPriority: 9 });
        await broker.send([
          message('late', { policy: { delayMs: 500 } }),
          message('short', { policy: { expirationMs: 100 } }),
          message('low'),
          message('high', { priority: 200 }),
        ]);
        expect(await ready()).toEqual(['high', 'short', 'low']);
        harness.clock.advance(600);
        expect(await ready()).toEqual(['high', 'low', 'late']);
        expect(broker.queueStats(queue)).toMatchObject({ expired: 1 });
      });

      it('refuses what is over the bound of a queue, within one batch too', async () => {
        await create(queue, { maxLength: 2, overflow: 'reject' });
        const outcomes = await broker.send([message('1'), message('2'), message('3')]);
        expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.kind))).toEqual([
          'ok',
          'ok',
          'limit',
        ]);
      });

      it('drops what is kept longer than the queue keeps', async () => {
        await create(queue, { retentionMs: 10_000 });
        await send('1');
        harness.clock.advance(6000);
        await send('2');
        harness.clock.advance(6000);
        expect(await ready()).toEqual(['2']);
        harness.clock.advance(6000);
        expect(broker.figures().messages).toBe(0);
      });

      it('purges what it is asked to, as one operation', async () => {
        await create(queue);
        await broker.send([message('1'), message('2'), message('3', { policy: { delayMs: 1000 } })]);
        await receive({ max: 1 });
        const ready = { ready: true, delayed: false, inFlight: false };
        expect(await broker.purge(queue, ready)).toEqual({ ready: 1, delayed: 0, inFlight: 0 });
        const rest = { ready: true, delayed: true, inFlight: true };
        expect(await broker.purge(queue, rest)).toEqual({ ready: 0, delayed: 1, inFlight: 1 });
        expect(broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
      });

      it('serves waiting receives in the order they came, and none that gave up', async () => {
        await create(queue);
        const gone = new AbortController();
        const waits = [
          receive({ max: 1, waitMs: 1000, signal: gone.signal }),
          receive({ max: 1, waitMs: 1000 }),
          receive({ max: 1, waitMs: 100 }),
          receive({ max: 1, waitMs: 1000 }),
        ];
        expect(broker.queueStats(queue)?.waiters).toBe(4);
        gone.abort();
        harness.clock.advance(200);
        await send('1', '2');
        expect((await Promise.all(waits)).map((d) => d.map(text))).toEqual([[], ['1'], [], ['2']]);
      });

      it('lets consumers take turns by their credit, the higher priority first', async () => {
        await create(queue);
        const got: string[] = [];
        const consume = (who: string, priority: number): ReturnType<typeof broker.consume> =>
          broker.consume({
            channel: queue,
            credit: 2,
            priority,
            handOut: { kind: 'auto' },
            onDeliveries: (deliveries) => got.push(...deliveries.map((d) => who + text(d))),
            onCancel: () => got.push(`${who} cancelled`),
          });
        const a = consume('a', 0);
        consume('b', 0);
        consume('c', 1);
        await send('1', '2', '3', '4', '5', '6', '7');
        expect([...got].sort()).toEqual(['a3', 'a5', 'b4', 'b6', 'c1', 'c2'].sort());
        a.grant(1);
        expect(got).toContain('a7');
        a.cancel();
        a.cancel();
        await broker.change([{ do: 'delete-queue', channel: queue }]);
        expect(got.slice(-2).sort()).toEqual(['b cancelled', 'c cancelled']);
      });

      it('keeps an exclusive consumer alone', async () => {
        await create(queue);
        const request = {
          channel: queue,
          credit: 1,
          handOut: { kind: 'auto' } as const,
          onDeliveries: () => undefined,
          onCancel: () => undefined,
        };
        const alone = broker.consume({ ...request, exclusive: true });
        expect(() => broker.consume(request)).toThrow(/exclusive/);
        alone.cancel();
        broker.consume(request);
        expect(() => broker.consume({ ...request, exclusive: true })).toThrow(/exclusive/);
      });
    });

    describe('families', () => {
      const subChannelMarks = ['.g.'];

      it('hands sub-channels out in turn, each in order and to one holder at a time', async () => {
        await create(queue, { subChannelMarks });
        const to = (group: string, body: string): OutgoingMessage =>
          message(body, { channel: on(`orders.g.${group}`) });
        await broker.send([to('a', 'a1'), to('a', 'a2'), to('a', 'a3'), to('b', 'b1'), to('c', 'c1')]);
        const first = await receive({ max: 4, perSubChannelMax: 2 });
        expect(first.map(text)).toEqual(['a1', 'a2', 'b1', 'c1']);
        expect(await receive()).toEqual([]);
        // One base message beside them: it goes to the tail, the ordered ones to their old places.
        await broker.settle({ tokens: first, settlement: { kind: 'nack', to: 'tail' } });
        expect((await receive({ channel: on('orders.g.a') })).map(text)).toEqual(['a1', 'a2', 'a3']);
        expect(broker.queueStats(queue)?.subChannels).toBe(3);
        await broker.purge(queue, { ready: true, delayed: true, inFlight: true });
        expect(broker.queueStats(queue)?.subChannels).toBe(0);
      });

      it('holds a sub-channel back while one of its messages is set aside', async () => {
        await create(queue, { subChannelMarks });
        const channel = on('orders.g.a');
        await broker.send([message('1', { channel }), message('2', { channel })]);
        const [one] = await receive({ max: 1 });
        await broker.settle({ tokens: [one!], settlement: { kind: 'nack', to: 'origin', delayMs: 500 } });
        expect(await receive()).toEqual([]);
        harness.clock.advance(600);
        expect((await receive()).map(text)).toEqual(['1', '2']);
      });
    });

    describe('logs', () => {
      async function append(...bodies: string[]): Promise<void> {
        await broker.append(
          bodies.map((body) => message(body, { channel: log })),
          { createMissing: true },
        );
      }

      it('numbers events without gaps and reads them from anywhere', async () => {
        await append('1', '2');
        harness.clock.advance(1000);
        await append('3');
        const from = async (start: Parameters<typeof broker.subscribe>[0]['start']): Promise<string[]> => {
          const subscription = broker.subscribe({ channel: log, start });
          const reading = subscription.next(10);
          await append('new');
          const events = await reading;
          subscription.close();
          return events.map(text);
        };
        expect(await from({ from: 'sequence', sequence: 2 })).toEqual(['2', '3']);
        expect(await from({ from: 'first' })).toEqual(['1', '2', '3', 'new']);
        expect((await from({ from: 'last' })).at(0)).toBe('new');
        expect(await from({ from: 'new' })).toEqual(['new']);
        expect((await from({ from: 'delta', deltaMs: 500 })).at(0)).toBe('3');
        expect((await from({ from: 'time', time: harness.clock.now() - 500 })).at(0)).toBe('3');
        expect(broker.sequenceAt(log, harness.clock.now() + 1)).toBe(broker.logStats(log)!.lastSequence + 1);
        const read = await broker.readLog({ channel: log, fromSequence: 1, max: 3, maxBytes: 1 });
        expect(read.map((event) => event.sequence)).toEqual([1]);
      });

      it('keeps a durable position, one reader a name', async () => {
        await append('1', '2', '3');
        const request = { channel: log, start: { from: 'first' }, durable: 'me' } as const;
        const first = broker.subscribe(request);
        expect(() => broker.subscribe(request)).toThrow(/already/);
        expect((await first.next(2)).map(text)).toEqual(['1', '2']);
        first.advance(2);
        first.close();
        expect(await first.next(1)).toEqual([]);
        expect((await broker.subscribe(request).next(5)).map(text)).toEqual(['3']);
      });

      it('puts events on its targets in the same entry, where their filter says so', async () => {
        await append('0');
        await create(queue, { subChannelMarks: ['.g.'] });
        await create(dead);
        broker.setFanOut(log, [
          { queue, route: (m) => (text({ message: m }).startsWith('a') ? on('orders.g.a') : queue) },
          { queue: dead, route: (_, sequence) => (sequence % 2 === 0 ? dead : undefined) },
        ]);
        await append('a2', 'b3', 'a4');
        expect((await receive()).map((d) => [d.channel, text(d)])).toEqual([
          ['orders.g.a', 'a2'],
          ['orders.g.a', 'a4'],
          [queue, 'b3'],
        ]);
        expect(await ready(dead)).toEqual(['a2', 'a4']);
      });

      it('lets go of old events by count, bytes and age', async () => {
        await broker.change([{ do: 'create-log', channel: log, settings: { retentionCount: 2 } }]);
        await append('1', '2', '3');
        expect(broker.logStats(log)).toMatchObject({ firstSequence: 2, lastSequence: 3, events: 2 });
        await broker.change([
          { do: 'update-log', channel: log, settings: { retentionCount: 0, retentionMs: 1000 } },
        ]);
        harness.clock.advance(1100);
        expect(broker.logStats(log)).toMatchObject({ events: 0, bytes: 0, lastSequence: 3 });
        await append('4');
        expect(broker.logStats(log)).toMatchObject({ firstSequence: 4, lastSequence: 4 });
      });

      it('tells its readers when it is deleted', async () => {
        await append('1');
        const subscription = broker.subscribe({ channel: log, start: { from: 'new' } });
        const reading = subscription.next(1);
        const deleted = broker.change([{ do: 'delete-log', channel: log }]);
        const late = broker.append([message('2', { channel: log })]);
        await expect(reading).rejects.toMatchObject({ kind: 'not-found' });
        await deleted;
        await late.catch((error: unknown) => expect(error).toMatchObject({ kind: 'not-found' }));
        expect(broker.logs('')).toEqual([]);
        expect(broker.figures().liveBytes).toBe(0);
      });
    });

    describe('registry and names', () => {
      it('applies all changes or none, by version', async () => {
        const seen: unknown[] = [];
        const unwatch = broker.registry.watch('topic', (key, entry) => seen.push([key, entry?.version]));
        expect(
          await broker.change([{ do: 'put', kind: 'topic', key: 'a', value: { x: 1 }, expected: 0 }]),
        ).toEqual([1]);
        const refused = broker.change([
          { do: 'create-queue', channel: queue },
          { do: 'put', kind: 'topic', key: 'a', value: 2, expected: 7 },
        ]);
        await expect(refused).rejects.toMatchObject({ kind: 'precondition' });
        const tooLarge = broker.change([
          { do: 'create-queue', channel: queue },
          { do: 'put', kind: 'topic', key: 'b', value: 'x'.repeat(2 << 20) },
        ]);
        await expect(tooLarge).rejects.toMatchObject({ kind: 'limit' });
        expect(broker.queues('')).toEqual([]);
        await expect(
          broker.change([{ do: 'put', kind: 'topic', key: 'a', value: 2, expected: 0 }]),
        ).rejects.toMatchObject({ kind: 'already-exists' });
        await broker.change([{ do: 'remove', kind: 'topic', key: 'a', expected: 1 }]);
        expect(broker.registry.list('topic')).toEqual([]);
        unwatch();
        await broker.change([{ do: 'put', kind: 'topic', key: 'a', value: 3 }]);
        expect(seen).toEqual([
          ['a', 1],
          ['a', undefined],
        ]);
      });

      it('makes two names one channel, sub-channels included', async () => {
        await create(queue, { subChannelMarks: ['.g.'] });
        await broker.change([{ do: 'set-alias', alias: on('other'), channel: queue }]);
        expect(broker.resolve(on('other.g.x'))).toBe('orders.g.x');
        await broker.send([
          message('1', { channel: on('other') }),
          message('2', { channel: on('other.g.x') }),
        ]);
        expect((await receive({ channel: on('other') })).map((d) => d.channel)).toEqual([
          queue,
          'orders.g.x',
        ]);
        expect(broker.aliases()).toEqual([{ alias: 'other', channel: queue }]);
        await expect(
          broker.change([{ do: 'set-alias', alias: queue, channel: on('x') }]),
        ).rejects.toMatchObject({ kind: 'precondition' });
        await broker.change([{ do: 'remove-alias', alias: on('other') }]);
        expect(broker.resolve(on('other'))).toBe('other');
      });

      it('makes queues that live in memory only, alone in their batch', async () => {
        await create(queue, { durable: false });
        await send('1');
        expect(await ready()).toEqual(['1']);
        expect(broker.figures().liveBytes).toBe(0);
      });
    });

    describe('after a crash', () => {
      it('knows everything that was durable, and nothing that was gone', async () => {
        await create(queue, { dedupWindowMs: 60_000, subChannelMarks: ['.g.'] });
        await create(on('memory'), { durable: false });
        await broker.change([
          { do: 'set-alias', alias: on('other'), channel: queue },
          { do: 'put', kind: 'k', key: 'a', value: { n: 1 } },
        ]);
        await broker.append([message('e1', { channel: log })], { createMissing: true });
        await broker.send([message('m', { channel: on('memory') })]);
        await broker.send([
          message('1', { dedupId: 'x' }),
          message('2'),
          message('3'),
          message('4', { channel: on('orders.g.a') }),
        ]);
        const [one, two] = await receive({ max: 2 });
        await broker.settle({ tokens: [one!], settlement: { kind: 'ack' }, durable: true });
        broker = await harness.crash();
        expect(broker.holds(one!)).toBe(false);
        expect(broker.queues('')).toEqual([queue]);
        expect(broker.resolve(on('other'))).toBe(queue);
        expect(broker.registry.get('k', 'a')).toMatchObject({ version: 1, value: { n: 1 } });
        expect((await broker.readLog({ channel: log, fromSequence: 1, max: 9 })).map(text)).toEqual(['e1']);
        expect(broker.holds(two!)).toBe(true);
        expect((await broker.send([message('again', { dedupId: 'x' })]))[0]).toMatchObject({
          duplicate: true,
        });
        expect((await receive()).map((d) => [text(d), d.receiveCount])).toEqual([
          ['3', 1],
          ['4', 1],
        ]);
      });

      it('gives back leases without an end, counted', async () => {
        await create(queue);
        await send('1');
        await receive({ handOut: { kind: 'lease', leaseMs: 0 } });
        await send('2');
        broker = await harness.crash();
        expect((await receive()).map((d) => [text(d), d.receiveCount])).toEqual([
          ['1', 2],
          ['2', 1],
        ]);
      });

      it('is the same from a checkpoint and from the records after it', async () => {
        await create(queue, { maxPriority: 2 });
        await broker.send([
          message('1'),
          message('2', { policy: { delayMs: 1000, expirationMs: 5000 } }),
          message('3', { priority: 2 }),
        ]);
        await receive({ max: 1, handOut: { kind: 'lease', leaseMs: 500 } });
        await broker.checkpoint();
        await send('4');
        broker = await harness.crash();
        expect(broker.queueStats(queue)).toMatchObject({ ready: 2, delayed: 1, inFlight: 1 });
        harness.clock.advance(1100);
        expect(await ready()).toEqual(['3', '1', '4', '2']);
      });
    });

    it('refuses messages while it drains, and ends waits', async () => {
      await create(queue);
      const waiting = receive({ waitMs: 60_000 });
      const subscription = broker.subscribe({ channel: log, start: { from: 'new' }, createMissing: true });
      const reading = subscription.next(1);
      broker.drain();
      expect(await waiting).toEqual([]);
      expect(await reading).toEqual([]);
      await expect(broker.send([message('1')])).rejects.toMatchObject({ kind: 'draining' });
    });
  });
}
