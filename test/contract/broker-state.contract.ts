import { describe, expect, it } from 'vitest';
import type { Fixture } from './broker-fixture.js';
import { dead, log, message, on, queue, text } from './broker-fixture.js';

/** Logs, the registry, and what a crash leaves of everything. */
export function stateContract(f: Fixture): void {
  describe('logs', () => {
    async function append(...bodies: string[]): Promise<void> {
      await f.broker.append(
        bodies.map((body) => message(body, { channel: log })),
        { createMissing: true },
      );
    }

    it('numbers events without gaps and reads them from anywhere', async () => {
      await append('1', '2');
      f.harness.clock.advance(1000);
      await append('3');
      const from = async (start: Parameters<typeof f.broker.subscribe>[0]['start']): Promise<string[]> => {
        const subscription = f.broker.subscribe({ channel: log, start });
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
      expect((await from({ from: 'time', time: f.harness.clock.now() - 500 })).at(0)).toBe('3');
      expect(f.broker.sequenceAt(log, f.harness.clock.now() + 1)).toBe(
        f.broker.logStats(log)!.lastSequence + 1,
      );
      const read = await f.broker.readLog({ channel: log, fromSequence: 1, max: 3, maxBytes: 1 });
      expect(read.map((event) => event.sequence)).toEqual([1]);
    });

    it('keeps a durable position, one reader a name', async () => {
      await append('1', '2', '3');
      const request = { channel: log, start: { from: 'first' }, durable: 'me' } as const;
      const first = f.broker.subscribe(request);
      expect(() => f.broker.subscribe(request)).toThrow(/already/);
      expect((await first.next(2)).map(text)).toEqual(['1', '2']);
      first.advance(2);
      first.close();
      expect(await first.next(1)).toEqual([]);
      expect((await f.broker.subscribe(request).next(5)).map(text)).toEqual(['3']);
    });

    it('puts events on its targets in the same entry, where their filter says so', async () => {
      await append('0');
      await f.create(queue, { subChannelMarks: ['.g.'] });
      await f.create(dead);
      f.broker.setFanOut(log, [
        { queue, route: (m) => (text({ message: m }).startsWith('a') ? on('orders.g.a') : queue) },
        { queue: dead, route: (_, sequence) => (sequence % 2 === 0 ? dead : undefined) },
      ]);
      await append('a2', 'b3', 'a4');
      expect((await f.receive()).map((d) => [d.channel, text(d)])).toEqual([
        ['orders.g.a', 'a2'],
        ['orders.g.a', 'a4'],
        [queue, 'b3'],
      ]);
      expect(await f.ready(dead)).toEqual(['a2', 'a4']);
    });

    it('lets go of old events by count, bytes and age', async () => {
      await f.broker.change([{ do: 'create-log', channel: log, settings: { retentionCount: 2 } }]);
      await append('1', '2', '3');
      expect(f.broker.logStats(log)).toMatchObject({ firstSequence: 2, lastSequence: 3, events: 2 });
      await f.broker.change([
        { do: 'update-log', channel: log, settings: { retentionCount: 0, retentionMs: 1000 } },
      ]);
      f.harness.clock.advance(1100);
      expect(f.broker.logStats(log)).toMatchObject({ events: 0, bytes: 0, lastSequence: 3 });
      await append('4');
      expect(f.broker.logStats(log)).toMatchObject({ firstSequence: 4, lastSequence: 4 });
    });

    it('tells its readers when it is deleted', async () => {
      await append('1');
      const subscription = f.broker.subscribe({ channel: log, start: { from: 'new' } });
      const reading = subscription.next(1);
      const deleted = f.broker.change([{ do: 'delete-log', channel: log }]);
      const late = f.broker.append([message('2', { channel: log })]);
      await expect(reading).rejects.toMatchObject({ kind: 'not-found' });
      await deleted;
      await late.catch((error: unknown) => expect(error).toMatchObject({ kind: 'not-found' }));
      expect(f.broker.logs('')).toEqual([]);
      expect(f.broker.figures().liveBytes).toBe(0);
    });
  });

  describe('registry and names', () => {
    it('applies all changes or none, by version', async () => {
      const seen: unknown[] = [];
      const unwatch = f.broker.registry.watch('topic', (key, entry) => seen.push([key, entry?.version]));
      expect(
        await f.broker.change([{ do: 'put', kind: 'topic', key: 'a', value: { x: 1 }, expected: 0 }]),
      ).toEqual([1]);
      const refused = f.broker.change([
        { do: 'create-queue', channel: queue },
        { do: 'put', kind: 'topic', key: 'a', value: 2, expected: 7 },
      ]);
      await expect(refused).rejects.toMatchObject({ kind: 'precondition' });
      const tooLarge = f.broker.change([
        { do: 'create-queue', channel: queue },
        { do: 'put', kind: 'topic', key: 'b', value: 'x'.repeat(2 << 20) },
      ]);
      await expect(tooLarge).rejects.toMatchObject({ kind: 'limit' });
      expect(f.broker.queues('')).toEqual([]);
      await expect(
        f.broker.change([{ do: 'put', kind: 'topic', key: 'a', value: 2, expected: 0 }]),
      ).rejects.toMatchObject({ kind: 'already-exists' });
      await f.broker.change([{ do: 'remove', kind: 'topic', key: 'a', expected: 1 }]);
      expect(f.broker.registry.list('topic')).toEqual([]);
      unwatch();
      await f.broker.change([{ do: 'put', kind: 'topic', key: 'a', value: 3 }]);
      expect(seen).toEqual([
        ['a', 1],
        ['a', undefined],
      ]);
    });

    it('makes two names one channel, sub-channels included', async () => {
      await f.create(queue, { subChannelMarks: ['.g.'] });
      await f.broker.change([{ do: 'set-alias', alias: on('other'), channel: queue }]);
      expect(f.broker.resolve(on('other.g.x'))).toBe('orders.g.x');
      await f.broker.send([
        message('1', { channel: on('other') }),
        message('2', { channel: on('other.g.x') }),
      ]);
      expect((await f.receive({ channel: on('other') })).map((d) => d.channel)).toEqual([
        queue,
        'orders.g.x',
      ]);
      expect(f.broker.aliases()).toEqual([{ alias: 'other', channel: queue }]);
      await expect(
        f.broker.change([{ do: 'set-alias', alias: queue, channel: on('x') }]),
      ).rejects.toMatchObject({ kind: 'precondition' });
      await f.broker.change([{ do: 'remove-alias', alias: on('other') }]);
      expect(f.broker.resolve(on('other'))).toBe('other');
    });

    it('makes queues that live in memory only, alone in their batch', async () => {
      await f.create(queue, { durable: false });
      await f.send('1');
      expect(await f.ready()).toEqual(['1']);
      expect(f.broker.figures().liveBytes).toBe(0);
    });
  });

  describe('after a crash', () => {
    it('knows everything that was durable, and nothing that was gone', async () => {
      await f.create(queue, { dedupWindowMs: 60_000, subChannelMarks: ['.g.'] });
      await f.create(on('memory'), { durable: false });
      await f.broker.change([
        { do: 'set-alias', alias: on('other'), channel: queue },
        { do: 'put', kind: 'k', key: 'a', value: { n: 1 } },
      ]);
      await f.broker.append([message('e1', { channel: log })], { createMissing: true });
      await f.broker.send([message('m', { channel: on('memory') })]);
      await f.broker.send([
        message('1', { dedupId: 'x' }),
        message('2'),
        message('3'),
        message('4', { channel: on('orders.g.a') }),
      ]);
      const [one, two] = await f.receive({ max: 2 });
      await f.broker.settle({ tokens: [one!], settlement: { kind: 'ack' }, durable: true });
      f.broker = await f.harness.crash();
      expect(f.broker.holds(one!)).toBe(false);
      expect(f.broker.queues('')).toEqual([queue]);
      expect(f.broker.resolve(on('other'))).toBe(queue);
      expect(f.broker.registry.get('k', 'a')).toMatchObject({ version: 1, value: { n: 1 } });
      expect((await f.broker.readLog({ channel: log, fromSequence: 1, max: 9 })).map(text)).toEqual(['e1']);
      expect(f.broker.holds(two!)).toBe(true);
      expect((await f.broker.send([message('again', { dedupId: 'x' })]))[0]).toMatchObject({
        duplicate: true,
      });
      expect((await f.receive()).map((d) => [text(d), d.receiveCount])).toEqual([
        ['3', 1],
        ['4', 1],
      ]);
    });

    it('gives back leases without an end, counted', async () => {
      await f.create(queue);
      await f.send('1');
      await f.receive({ handOut: { kind: 'lease', leaseMs: 0 } });
      await f.send('2');
      f.broker = await f.harness.crash();
      expect((await f.receive()).map((d) => [text(d), d.receiveCount])).toEqual([
        ['1', 2],
        ['2', 1],
      ]);
    });

    it('is the same from a checkpoint and from the records after it', async () => {
      await f.create(queue, { maxPriority: 2 });
      await f.broker.send([
        message('1'),
        message('2', { policy: { delayMs: 1000, expirationMs: 5000 } }),
        message('3', { priority: 2 }),
      ]);
      await f.receive({ max: 1, handOut: { kind: 'lease', leaseMs: 500 } });
      await f.broker.checkpoint();
      await f.send('4');
      f.broker = await f.harness.crash();
      expect(f.broker.queueStats(queue)).toMatchObject({ ready: 2, delayed: 1, inFlight: 1 });
      f.harness.clock.advance(1100);
      expect(await f.ready()).toEqual(['3', '1', '4', '2']);
    });
  });
}
