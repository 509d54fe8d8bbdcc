import { describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../src/core/message.js';
import type { Delivery, LeaseToken } from '../../src/core/queue/types.js';
import type { BrokerHarness } from './broker-fixture.js';
import { dead, Fixture, log, message, on, queue, text } from './broker-fixture.js';
import { stateContract } from './broker-state.contract.js';

/** What the Broker facade promises its connectors, whatever journal and partition stand behind it. */
export function brokerContract(name: string, factory: () => Promise<BrokerHarness>): void {
  describe(`broker contract: ${name}`, () => {
    const f = new Fixture(factory);

    describe('queues', () => {
      it('gives back what was sent, in order, whole', async () => {
        await f.create(queue);
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
        const [first] = await f.broker.send([message('1', whole), message('2')]);
        expect(first).toMatchObject({ ok: true, channel: queue, id: 'own', sequence: 1, duplicate: false });
        const [one, two] = await f.receive();
        expect(one?.message).toMatchObject({ id: 'own', hasOwnId: true, clientId: 'me', metadata: 'm' });
        expect(one?.message.tags).toEqual(tags);
        expect(Buffer.from(one!.message.origin!.bytes)).toEqual(Buffer.from([0, 255]));
        expect(text(two!)).toBe('2');
        expect(two?.message.hasOwnId).toBe(false);
        expect(two).toMatchObject({ sequence: 2, receiveCount: 1, redelivered: false, reRoutedFrom: '' });
      });

      it('refuses a message for a missing queue and stores the others, or none when asked', async () => {
        await f.create(queue);
        const batch = [message('1'), message('2', { channel: on('nowhere') })];
        const some = await f.broker.send(batch);
        expect(some.map((outcome) => outcome.ok)).toEqual([true, false]);
        const none = await f.broker.send(batch, { allOrNothing: true });
        expect(none.map((outcome) => outcome.ok)).toEqual([false, false]);
        expect(await f.ready()).toEqual(['1']);
        await f.broker.send(batch, { createMissing: true });
        expect(f.broker.queues('')).toEqual(['nowhere', queue]);
      });

      it('lets a late holder acknowledge what nobody holds, whoever had it since', async () => {
        await f.create(queue);
        await f.send('1', '2');
        const lease = { handOut: { kind: 'lease', leaseMs: 1000 } } as const;
        const late = async (token: LeaseToken | undefined): Promise<readonly number[]> =>
          (await f.broker.settle({ tokens: [token!], settlement: { kind: 'ack' }, late: true })).refused;
        const [one, two] = await f.receive(lease);
        f.harness.clock.advance(1100);
        expect((await f.broker.settle({ tokens: [one!], settlement: { kind: 'ack' } })).refused).toEqual([0]);
        expect(await late(one)).toEqual([]);
        expect(await late(one)).toEqual([0]);
        expect(await f.receive(lease)).toMatchObject([{ receiveCount: 2 }]);
        expect(await late(two)).toEqual([0]);
        f.harness.clock.advance(1100);
        expect(await f.receive(lease)).toMatchObject([{ receiveCount: 3 }]);
        f.harness.clock.advance(1100);
        expect(await f.ready()).toEqual(['2']);
        expect(await late(two)).toEqual([]);
        expect(await late(two)).toEqual([0]);
        expect(await f.ready()).toEqual([]);
      });

      it('lets a late holder acknowledge nothing of another queue, whatever has the same number and place there', async () => {
        const other = on('other');
        await f.create(queue);
        await f.create(other);
        await f.send('1');
        const [token] = await f.receive({ handOut: { kind: 'lease', leaseMs: 1000 } });
        f.harness.clock.advance(1100);
        await f.broker.send([message('first', { channel: other })]);
        // It stands behind all others with the second number of its queue by now, and goes.
        const again = await f.receive();
        await f.broker.settle({ tokens: again, settlement: { kind: 'ack' } });
        await f.broker.send([message('second', { channel: other })]);
        const settled = await f.broker.settle({ tokens: [token!], settlement: { kind: 'ack' }, late: true });
        expect(settled.refused).toEqual([0]);
        expect(f.broker.queueStats(other)).toMatchObject({ ready: 2 });
      });

      it('hands a message to one holder, again when its lease ends, and forgets it when it is acknowledged', async () => {
        await f.create(queue);
        await f.send('1');
        const [first] = await f.receive({ handOut: { kind: 'lease', leaseMs: 1000 } });
        expect(await f.receive()).toEqual([]);
        f.harness.clock.advance(1100);
        const [second] = await f.receive();
        expect(second).toMatchObject({ receiveCount: 2, redelivered: true });
        expect((await f.broker.settle({ tokens: [first!], settlement: { kind: 'ack' } })).refused).toEqual([
          0,
        ]);
        expect(f.broker.holds(second!)).toBe(true);
        const settled = await f.broker.settle({
          tokens: [second!],
          settlement: { kind: 'ack' },
          durable: true,
        });
        expect(settled.refused).toEqual([]);
        expect(f.broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
      });

      it('puts a message back in its old place or behind all, counted or not, now or later', async () => {
        await f.create(queue);
        await f.send('1', '2', '3');
        const take = async (): Promise<Delivery> => (await f.receive({ max: 1 }))[0]!;
        await f.broker.settle({ tokens: [await take()], settlement: { kind: 'nack', to: 'origin' } });
        expect(await f.ready()).toEqual(['1', '2', '3']);
        const first = await take();
        f.harness.clock.advance(100);
        await f.broker.settle({ tokens: [first], settlement: { kind: 'nack', to: 'tail' } });
        expect(await f.ready()).toEqual(['2', '3', '1']);
        // Behind all others, and no younger: how long it is kept counts from when it came.
        const peeked = await f.broker.peek(queue, 3);
        expect(peeked[2]?.enqueuedAt).toBe(first.enqueuedAt);
        const uncounted = await take();
        await f.broker.settle({
          tokens: [uncounted],
          settlement: { kind: 'nack', to: 'origin', uncounted: true },
        });
        const again = await take();
        expect([text(again), again.receiveCount]).toEqual(['2', 1]);
        // The same count, and still another lease.
        expect(f.broker.holds(uncounted)).toBe(false);
        await f.broker.settle({ tokens: [again], settlement: { kind: 'nack', to: 'origin', delayMs: 500 } });
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 2, delayed: 1, inFlight: 0 });
        f.harness.clock.advance(600);
        expect(await f.ready()).toEqual(['2', '3', '1']);
      });

      it('dead-letters after the last delivery, with its origin named, and moves on request', async () => {
        await f.create(queue, {
          deadLetter: { target: { channel: dead }, maxReceiveCount: 1, reasons: ['max-receives'] },
        });
        await f.create(dead);
        await f.send('1', '2');
        const deliveries = await f.receive();
        await f.broker.settle({ tokens: [deliveries[0]!], settlement: { kind: 'nack', to: 'tail' } });
        await f.broker.settle({
          tokens: [deliveries[1]!],
          settlement: { kind: 'move', channel: dead },
          durable: true,
        });
        const letters = await f.receive({ channel: dead });
        expect(letters.map((d) => [text(d), d.reRoutedFrom, d.receiveCount])).toEqual([
          ['1', queue, 1],
          ['2', queue, 1],
        ]);
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 0, inFlight: 0, deadLettered: 1 });
      });

      it('takes rejected, expired and overflowing messages where a route says', async () => {
        f.broker.registerRouter('test', (rest, letter) => [
          { channel: dead, originBytes: Buffer.from(`${rest}:${letter.reason}`) },
        ]);
        await f.create(dead);
        const target = { route: 'test:somewhere' };
        await f.create(queue, {
          maxLength: 1,
          deadLetter: { target, reasons: ['rejected', 'expired', 'overflow'] },
        });
        const origin = { protocol: 'p', bytes: Buffer.from('was') };
        await f.broker.send([
          message('1', { origin }),
          message('2', { origin, policy: { expirationMs: 100 } }),
        ]);
        f.harness.clock.advance(200);
        await f.broker.send([message('3', { origin })]);
        const [third] = await f.receive();
        await f.broker.settle({ tokens: [third!], settlement: { kind: 'reject' }, durable: true });
        const letters = (await f.receive({ channel: dead })).map((d) =>
          Buffer.from(d.message.origin!.bytes).toString(),
        );
        expect(letters).toEqual(['somewhere:overflow', 'somewhere:expired', 'somewhere:rejected']);
      });

      it('keeps a dead letter whose route nobody knows yet', async () => {
        await f.create(dead);
        await f.create(queue, { deadLetter: { target: { route: 'late:x' }, reasons: ['expired'] } });
        await f.broker.send([message('1', { policy: { expirationMs: 100 } })]);
        f.harness.clock.advance(200);
        expect(f.broker.figures().messages).toBe(1);
        f.broker.registerRouter('late', () => [{ channel: dead }]);
        f.harness.clock.advance(2000);
        expect((await f.receive({ channel: dead, waitMs: 1000 })).map(text)).toEqual(['1']);
      });

      it('answers a second message with the same dedup id as the first, within the window', async () => {
        await f.create(queue, { dedupWindowMs: 1000 });
        const [first] = await f.broker.send([message('1', { dedupId: 'x' })]);
        const [second] = await f.broker.send([message('2', { dedupId: 'x' })]);
        expect(second).toMatchObject({
          ok: true,
          duplicate: true,
          sequence: (first as { sequence: number }).sequence,
        });
        f.harness.clock.advance(1000);
        await f.broker.send([message('3', { dedupId: 'x' })]);
        expect(await f.ready()).toEqual(['1', '3']);
      });

      it('delays, expires and orders by priority', async () => {
        await f.create(queue, { maxPriority: 9 });
        await f.broker.send([
          message('late', { policy: { delayMs: 500 } }),
          message('short', { policy: { expirationMs: 100 } }),
          message('low'),
          message('high', { priority: 200 }),
        ]);
        expect(await f.ready()).toEqual(['high', 'short', 'low']);
        f.harness.clock.advance(600);
        expect(await f.ready()).toEqual(['high', 'low', 'late']);
        expect(f.broker.queueStats(queue)).toMatchObject({ expired: 1 });
      });

      it('refuses what is over the bound of a queue, within one batch too', async () => {
        await f.create(queue, { maxLength: 2, overflow: 'reject' });
        const outcomes = await f.broker.send([message('1'), message('2'), message('3')]);
        expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.kind))).toEqual([
          'ok',
          'ok',
          'limit',
        ]);
      });

      it('drops from the front what is too much once those who wait have had their share', async () => {
        await f.create(queue, { maxLength: 2, overflow: 'drop-head' });
        await f.create(on('other'));
        const got: string[] = [];
        const consumer = f.broker.consume({
          channel: queue,
          credit: 3,
          handOut: { kind: 'auto' },
          onDeliveries: (all) => got.push(...all.map(text)),
          onCancel: () => undefined,
        });
        await f.send('1', '2', '3', '4', '5', '6', '7');
        expect(got).toEqual(['1', '2', '3']);
        expect(await f.ready()).toEqual(['6', '7']);
        consumer.cancel();
        // Likewise when they come from another queue.
        await f.broker.send(['8', '9'].map((body) => message(body, { channel: on('other') })));
        const tokens = await f.receive({ channel: on('other') });
        await f.broker.settle({ tokens, settlement: { kind: 'move', channel: queue }, durable: true });
        expect(await f.ready()).toEqual(['8', '9']);
      });

      it('counts what is on its way to the disk against the bytes of a queue that refuses', async () => {
        await f.create(queue, { maxLengthBytes: 100, overflow: 'reject' });
        const sends = ['a', 'b', 'c'].map((body) => f.broker.send([message(body.repeat(60))]));
        const outcomes = (await Promise.all(sends)).map(([outcome]) => outcome?.ok);
        expect(outcomes).toEqual([true, false, false]);
      });

      it('bounds bytes of bodies, whatever else a message says', async () => {
        await f.create(queue, { maxLengthBytes: 10 });
        const tags = new Map([['key', 'a longer value than the bound']]);
        await f.broker.send(['aaaa', 'bbbb', 'cccc'].map((body) => message(body, { tags })));
        expect(await f.ready()).toEqual(['bbbb', 'cccc']);
      });

      it('drops at once what comes back to a full queue, from the front', async () => {
        await f.create(queue, { maxLength: 2 });
        await f.send('1', '2');
        const [one] = await f.receive({ max: 1 });
        await f.send('3');
        const nack = { kind: 'nack', to: 'origin' } as const;
        await f.broker.settle({ tokens: [one!], settlement: nack });
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 2, inFlight: 0 });
        expect(await f.ready()).toEqual(['2', '3']);
        // Before anybody who waits is served.
        await f.broker.change([{ do: 'update-queue', channel: queue, settings: { maxLength: 1 } }]);
        await f.send('4');
        const [held] = await f.receive({ max: 1 });
        await f.send('5');
        const taken: string[] = [];
        const consumer = f.broker.consume({
          channel: queue,
          credit: 0,
          handOut: { kind: 'auto' },
          onDeliveries: (deliveries) => taken.push(...deliveries.map(text)),
          onCancel: () => undefined,
        });
        const settled = f.broker.settle({ tokens: [held!], settlement: nack });
        consumer.grant(1);
        await settled;
        expect(taken).toEqual(['5']);
        consumer.cancel();
      });

      it('counts nothing that came back and is kept longer than the queue keeps', async () => {
        await f.create(queue, { retentionMs: 10_000 });
        await f.send('1', '2', '3', '4');
        const [early, late, delayed] = await f.receive({ max: 3 });
        f.harness.clock.advance(6000);
        await f.send('5');
        const toTail = { kind: 'nack', to: 'tail' } as const;
        await f.broker.settle({ tokens: [early!], settlement: toTail });
        await f.broker.settle({ tokens: [delayed!], settlement: { ...toTail, delayMs: 5000 } });
        const counts = (): unknown => f.broker.queueStats(queue);
        expect(counts()).toMatchObject({ ready: 3, delayed: 1, inFlight: 1 });
        f.harness.clock.advance(4500);
        // '4' left from the front, '1' from behind '5'.
        expect(counts()).toMatchObject({ ready: 1, delayed: 1, inFlight: 1 });
        await f.broker.settle({ tokens: [late!], settlement: { kind: 'nack', to: 'origin' } });
        expect(counts()).toMatchObject({ ready: 1, delayed: 1, inFlight: 0, expired: 3 });
        f.harness.clock.advance(1000);
        expect(counts()).toMatchObject({ ready: 1, delayed: 0, inFlight: 0, expired: 4 });
        expect(await f.ready()).toEqual(['5']);
      });

      it('says that a settlement is durable when it is, also to who asks a second time', async () => {
        await f.create(queue);
        await f.send('1', '2');
        const tokens = await f.receive();
        const settle = (durable: boolean): Promise<unknown> =>
          f.broker.settle({ tokens, settlement: { kind: 'ack' }, durable });
        expect(await settle(false)).toEqual({ refused: [] });
        expect(await settle(true)).toEqual({ refused: [0, 1] });
        f.broker = await f.harness.crash();
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 0, inFlight: 0 });
      });

      it('keeps the order of what is due at the same time', async () => {
        await f.create(dead);
        await f.create(queue, { deadLetter: { target: { channel: dead }, reasons: ['expired'] } });
        const texts = Array.from({ length: 9 }, (_, i) => String(i));
        await f.broker.send(texts.map((body) => message(body, { policy: { delayMs: 500 } })));
        await f.broker.send(texts.map((body) => message(body, { policy: { expirationMs: 500 } })));
        f.harness.clock.advance(500);
        await f.broker.lettersInto(dead);
        expect((await f.receive({ max: 20 })).map(text)).toEqual(texts);
        expect((await f.receive({ channel: dead, max: 20 })).map(text)).toEqual(texts);
      });

      it('counts nothing whose delay is longer than the queue keeps', async () => {
        await f.create(queue, { retentionMs: 10_000 });
        await f.broker.send([message('late', { policy: { delayMs: 12_000 } })]);
        f.harness.clock.advance(11_000);
        await f.send('young');
        // Its delay is over behind a younger one, where no look at the front finds it.
        f.harness.clock.advance(1500);
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 1, delayed: 0, expired: 1 });
        expect(await f.ready()).toEqual(['young']);
      });

      it('keeps what came back by a retention that has changed', async () => {
        await f.create(queue, { retentionMs: 10_000 });
        await f.send('1', '2', '3');
        const tokens = await f.receive({ max: 2 });
        f.harness.clock.advance(3000);
        await f.send('4');
        await f.broker.settle({ tokens, settlement: { kind: 'nack', to: 'tail' } });
        const keep = (retentionMs: number): Promise<unknown> =>
          f.broker.change([{ do: 'update-queue', channel: queue, settings: { retentionMs } }]);
        await keep(60_000);
        f.harness.clock.advance(20_000);
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 4 });
        await keep(24_000);
        f.harness.clock.advance(2500);
        expect(f.broker.queueStats(queue)).toMatchObject({ ready: 1 });
        expect(await f.ready()).toEqual(['4']);
      });

      it('drops what is kept longer than the queue keeps', async () => {
        await f.create(queue, { retentionMs: 10_000 });
        await f.send('1');
        f.harness.clock.advance(6000);
        await f.send('2');
        f.harness.clock.advance(6000);
        expect(await f.ready()).toEqual(['2']);
        f.harness.clock.advance(6000);
        expect(f.broker.figures().messages).toBe(0);
      });

      it('purges what it is asked to, as one operation', async () => {
        await f.create(queue);
        await f.broker.send([message('1'), message('2'), message('3', { policy: { delayMs: 1000 } })]);
        await f.receive({ max: 1 });
        const ready = { ready: true, delayed: false, inFlight: false };
        expect(await f.broker.purge(queue, ready)).toEqual({ ready: 1, delayed: 0, inFlight: 0 });
        const rest = { ready: true, delayed: true, inFlight: true };
        expect(await f.broker.purge(queue, rest)).toEqual({ ready: 0, delayed: 1, inFlight: 1 });
        expect(f.broker.figures()).toMatchObject({ messages: 0, liveBytes: 0 });
      });

      it('serves waiting receives in the order they came, and none that gave up', async () => {
        await f.create(queue);
        const gone = new AbortController();
        const waits = [
          f.receive({ max: 1, waitMs: 1000, signal: gone.signal }),
          f.receive({ max: 1, waitMs: 1000 }),
          f.receive({ max: 1, waitMs: 100 }),
          f.receive({ max: 1, waitMs: 1000 }),
        ];
        expect(f.broker.queueStats(queue)?.waiters).toBe(4);
        gone.abort();
        f.harness.clock.advance(200);
        await f.send('1', '2');
        expect((await Promise.all(waits)).map((d) => d.map(text))).toEqual([[], ['1'], [], ['2']]);
      });

      it('lets consumers take turns by their credit, the higher priority first', async () => {
        await f.create(queue);
        const got: string[] = [];
        const consume = (who: string, priority: number): ReturnType<typeof f.broker.consume> =>
          f.broker.consume({
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
        await f.send('1', '2', '3', '4', '5', '6', '7');
        expect([...got].sort()).toEqual(['a3', 'a5', 'b4', 'b6', 'c1', 'c2'].sort());
        a.grant(1);
        expect(got).toContain('a7');
        a.cancel();
        a.cancel();
        await f.broker.change([{ do: 'delete-queue', channel: queue }]);
        expect(got.slice(-2).sort()).toEqual(['b cancelled', 'c cancelled']);
      });

      it('keeps an exclusive consumer alone', async () => {
        await f.create(queue);
        const request = {
          channel: queue,
          credit: 1,
          handOut: { kind: 'auto' } as const,
          onDeliveries: () => undefined,
          onCancel: () => undefined,
        };
        const alone = f.broker.consume({ ...request, exclusive: true });
        expect(() => f.broker.consume(request)).toThrow(/exclusive/);
        alone.cancel();
        f.broker.consume(request);
        expect(() => f.broker.consume({ ...request, exclusive: true })).toThrow(/exclusive/);
      });
    });

    describe('families', () => {
      const subChannelMarks = ['.g.'];

      it('hands sub-channels out in turn, each in order and to one holder at a time', async () => {
        await f.create(queue, { subChannelMarks });
        const to = (group: string, body: string): OutgoingMessage =>
          message(body, { channel: on(`orders.g.${group}`) });
        await f.broker.send([to('a', 'a1'), to('a', 'a2'), to('a', 'a3'), to('b', 'b1'), to('c', 'c1')]);
        const first = await f.receive({ max: 4, perSubChannelMax: 2 });
        expect(first.map(text)).toEqual(['a1', 'a2', 'b1', 'c1']);
        expect(await f.receive()).toEqual([]);
        // One base message beside them: it goes to the tail, the ordered ones to their old places.
        await f.broker.settle({ tokens: first, settlement: { kind: 'nack', to: 'tail' } });
        expect((await f.receive({ channel: on('orders.g.a') })).map(text)).toEqual(['a1', 'a2', 'a3']);
        expect(f.broker.queueStats(queue)?.subChannels).toBe(3);
        await f.broker.purge(queue, { ready: true, delayed: true, inFlight: true });
        expect(f.broker.queueStats(queue)?.subChannels).toBe(0);
      });

      it('holds a sub-channel back while one of its messages is set aside', async () => {
        await f.create(queue, { subChannelMarks });
        const channel = on('orders.g.a');
        await f.broker.send([message('1', { channel }), message('2', { channel })]);
        const [one] = await f.receive({ max: 1 });
        await f.broker.settle({ tokens: [one!], settlement: { kind: 'nack', to: 'origin', delayMs: 500 } });
        expect(await f.receive()).toEqual([]);
        f.harness.clock.advance(600);
        expect((await f.receive()).map(text)).toEqual(['1', '2']);
      });
    });

    stateContract(f);

    it('refuses messages while it drains, and ends waits', async () => {
      await f.create(queue);
      const waiting = f.receive({ waitMs: 60_000 });
      const subscription = f.broker.subscribe({ channel: log, start: { from: 'new' }, createMissing: true });
      const reading = subscription.next(1);
      f.broker.drain();
      expect(await waiting).toEqual([]);
      expect(await reading).toEqual([]);
      await expect(f.broker.send([message('1')])).rejects.toMatchObject({ kind: 'draining' });
    });
  });
}
