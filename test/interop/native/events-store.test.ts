import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import type { NativeClient } from '../../support/native-client.js';
import type { ReceivedEvent } from '../../support/native-shapes.js';
import type { Subscription } from '../../support/native-streams.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

const Start = { new: 1, first: 2, last: 3, sequence: 4, time: 5, delta: 6 } as const;

let server: NativeServer;
let client: NativeClient;
beforeAll(async () => {
  server = await startNativeServer();
  client = server.client();
});
afterAll(() => server.stop());

async function store(channel: string, ...bodies: string[]): Promise<void> {
  for (const body of bodies) {
    expect(await client.sendEvent({ Channel: channel, Body: Buffer.from(body), Store: true })).toMatchObject({
      Sent: true,
    });
  }
}

const texts = (events: readonly ReceivedEvent[]): string[] => events.map((event) => event.Body.toString());

async function subscribed(channel: string, count: number): Promise<void> {
  await until(() => server.broker.logStats(channel as never)?.subscriptions === count);
}

async function cancelled(subscription: Subscription, channel: string): Promise<void> {
  subscription.cancel();
  await subscription.ended;
  await subscribed(channel, 0);
}

describe('SendEvent', () => {
  it('stores every part; sequences have no gaps', async () => {
    const Body = randomBytes(2000);
    const Tags = { 'x-kubemq-client-id': 'me', k: 'ü' };
    const sent = await client.sendEvent({
      EventID: 'e-1',
      Channel: 'e.all',
      Metadata: 'm',
      Body,
      Store: true,
      Tags,
    });
    expect(sent).toEqual({ EventID: 'e-1', Sent: true, Error: '' });
    await store('e.all', 'second');
    const [first, second] = await client.subscribe({ Channel: 'e.all' }).has(2);
    expect(first).toMatchObject({ EventID: 'e-1', Channel: 'e.all', Metadata: 'm', Sequence: '1', Tags });
    expect(first!.Body.equals(Body)).toBe(true);
    expect(second!.Sequence).toBe('2');
    const age = Date.now() - Number(BigInt(first!.Timestamp) / 1_000_000n);
    expect(Math.abs(age)).toBeLessThan(10_000);
  });

  it.each([
    [{ ClientID: '' }, TEXTS.clientId],
    [{ Channel: '' }, TEXTS.channelEmpty],
    [{ Channel: 'a.' }, TEXTS.trailingDot],
    [{ Channel: 'a b' }, TEXTS.whiteSpace],
    [{ Channel: 'a.>' }, TEXTS.wildcards],
    [{ Body: Buffer.alloc(0) }, TEXTS.messageEmpty],
  ])('refuses %j with INTERNAL and the text', async (change, details) => {
    const event = { Channel: 'e.fault', Body: Buffer.from('x'), Store: true, ...change };
    await expect(client.sendEvent(event)).rejects.toMatchObject({ code: 13, details });
  });
});

describe('SendEventsStream', () => {
  it('answers each stored event by its id and goes on after a bad one', async () => {
    const stream = client.eventsStream();
    const base = { ClientID: 'c', Channel: 'e.stream', Body: Buffer.from('x'), Store: true };
    const results = await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        stream.request(
          i === 100 ? { ...base, Channel: 'a b' } : i === 101 ? { ...base, ClientID: '' } : base,
          'EventID',
        ),
      ),
    );
    expect(results[100]).toMatchObject({ Sent: false, Error: TEXTS.whiteSpace });
    expect(results[101]).toMatchObject({ Sent: false, Error: TEXTS.clientId });
    expect(results.filter((result) => result.Sent)).toHaveLength(298);
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
    expect(server.broker.logStats('e.stream' as never)).toMatchObject({ lastSequence: 298 });
  });

  it('half-close right after the last event loses none', async () => {
    const stream = client.eventsStream();
    const results = Array.from({ length: 50 }, () =>
      stream.request({ ClientID: 'c', Channel: 'e.half', Body: Buffer.from('x'), Store: true }, 'EventID'),
    );
    stream.end();
    expect((await Promise.all(results)).every((result) => result.Sent)).toBe(true);
    expect(await stream.ended).toMatchObject({ code: 0 });
  });
});

describe('start positions', () => {
  it.each([
    ['first', { EventsStoreTypeData: Start.first }, ['1', '2', '3', 'live']],
    ['last', { EventsStoreTypeData: Start.last }, ['3', 'live']],
    ['sequence', { EventsStoreTypeData: Start.sequence, EventsStoreTypeValue: 2 }, ['2', '3', 'live']],
    ['delta', { EventsStoreTypeData: Start.delta, EventsStoreTypeValue: 3600 }, ['1', '2', '3', 'live']],
    ['new', { EventsStoreTypeData: Start.new }, ['live']],
  ])('%s', async (name, start, expected) => {
    const own = `e.start.${name}`;
    await store(own, '1', '2', '3');
    const subscription = server.client().subscribe({ Channel: own, ...start });
    await subscribed(own, 1);
    await store(own, 'live');
    expect(texts(await subscription.has(expected.length))).toEqual(expected);
    await cancelled(subscription, own);
  });

  it.each([
    ['nanoseconds', 1_000_000n],
    ['milliseconds', 1n],
  ])('time in %s', async (_unit, factor) => {
    const clock = new ManualClock();
    const own = await startNativeServer({ clock });
    const reader = own.client();
    for (const body of ['1', '2', '3']) {
      await reader.sendEvent({ Channel: 'e', Body: Buffer.from(body), Store: true });
      clock.advance(1);
    }
    const subscription = reader.subscribe({
      Channel: 'e',
      EventsStoreTypeData: Start.time,
      EventsStoreTypeValue: String(BigInt(clock.now() - 1) * factor),
    });
    expect(texts(await subscription.has(1))).toEqual(['3']);
    subscription.cancel();
    await subscription.ended;
    await own.stop();
  });

  it.each([
    [{ SubscribeTypeData: 3 }, TEXTS.subscribeType],
    [{ EventsStoreTypeData: 0 }, TEXTS.subscriptionType],
    [{ EventsStoreTypeData: Start.sequence }, TEXTS.startSequence],
    [{ Channel: 'a.*' }, TEXTS.wildcards],
    [{ ClientID: '' }, TEXTS.clientId],
    [{ SubscribeTypeData: 1, EventsStoreTypeData: 1 }, TEXTS.notEventStore],
  ])('%j ends INTERNAL with the text', async (change, details) => {
    const subscription = client.subscribe({ Channel: 'e.fault', ...change });
    expect(await subscription.ended).toEqual({ code: 13, details });
  });
});

describe('durable positions', () => {
  it('resume behind the last event taken, whatever the start type says', async () => {
    await store('e.resume', '1', '2', '3');
    const first = client.subscribe({ Channel: 'e.resume' });
    await first.has(3);
    await cancelled(first, 'e.resume');
    await store('e.resume', '4');
    for (const EventsStoreTypeData of [Start.first, Start.new]) {
      const again = client.subscribe({ Channel: 'e.resume', EventsStoreTypeData });
      const expected = EventsStoreTypeData === Start.first ? '4' : '5';
      if (EventsStoreTypeData === Start.new) await store('e.resume', '5');
      expect(texts(await again.has(1))).toEqual([expected]);
      await cancelled(again, 'e.resume');
    }
    const other = server.client().subscribe({ Channel: 'e.resume' });
    expect(texts(await other.has(5))).toEqual(['1', '2', '3', '4', '5']);
    other.cancel();
  });

  it('belong to a client and a channel; one client may read many channels', async () => {
    await store('e.many.a', 'a');
    await store('e.many.b', 'b');
    const a = client.subscribe({ Channel: 'e.many.a' });
    const b = client.subscribe({ Channel: 'e.many.b' });
    expect(texts(await a.has(1))).toEqual(['a']);
    expect(texts(await b.has(1))).toEqual(['b']);
    a.cancel();
    b.cancel();
  });

  it('are held by one live stream: a second one is told so, and takes over when the first has gone', async () => {
    await store('e.sole', '1');
    const first = client.subscribe({ Channel: 'e.sole' });
    await first.has(1);
    const second = client.subscribe({ Channel: 'e.sole' });
    const end = await second.ended;
    expect(end.code).toBe(6);
    expect(end.details).toContain('is already subscribed');
    first.cancel();
    const third = client.subscribe({ Channel: 'e.sole' });
    await store('e.sole', '2');
    expect(texts(await third.has(1))).toEqual(['2']);
    third.cancel();
  });

  it('of a group are shared by its members: each event goes to one of them', async () => {
    const members = Array.from({ length: 3 }, () =>
      server.client().subscribe({ Channel: 'e.group', Group: 'g', EventsStoreTypeData: Start.first }),
    );
    const other = server.client().subscribe({ Channel: 'e.group', Group: 'h' });
    await subscribed('e.group', 2);
    await store('e.group', ...Array.from({ length: 30 }, (_, i) => String(i)));
    await other.has(30);
    await until(() => members.reduce((sum, member) => sum + member.events.length, 0) === 30);
    const all = members.flatMap((member) => texts(member.events)).map(Number);
    expect(all.sort((x, y) => x - y)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    for (const member of [...members, other]) member.cancel();
    await subscribed('e.group', 0);
    await store('e.group', 'next');
    const later = server
      .client()
      .subscribe({ Channel: 'e.group', Group: 'g', EventsStoreTypeData: Start.first });
    expect(texts(await later.has(1))).toEqual(['next']);
    later.cancel();
  });
});

describe('a slow reader', () => {
  it('misses nothing, holds no memory at the server, and is not passed by its position', async () => {
    const channel = 'e.slow';
    const body = randomBytes(64 * 1024);
    const slow = client.subscribe({ Channel: channel, EventsStoreTypeData: Start.first });
    await subscribed(channel, 1);
    slow.pause();
    const before = server.connector.status().counters['events_delivered'] ?? 0;
    const stream = client.eventsStream();
    await Promise.all(
      Array.from({ length: 400 }, () =>
        stream.request({ ClientID: 'c', Channel: channel, Body: body, Store: true }, 'EventID'),
      ),
    );
    stream.end();
    const count = (): number => server.connector.status().counters['events_delivered'] ?? 0;
    const delivered = count() - before;
    slow.resume();
    const events = await slow.has(400);
    expect(events.map((event) => Number(event.Sequence))).toEqual(
      Array.from({ length: 400 }, (_, i) => i + 1),
    );
    expect(delivered).toBeLessThan(400);
    slow.cancel();
  });
});

describe('an event channel by another name', () => {
  it('is the same log', async () => {
    await store('e.real', '1');
    await server.broker.change([{ do: 'set-alias', alias: 'e.alias' as never, channel: 'e.real' as never }]);
    await store('e.alias', '2');
    const subscription = client.subscribe({ Channel: 'e.alias' });
    const events = await subscription.has(2);
    expect(texts(events)).toEqual(['1', '2']);
    expect(events[0]!.Channel).toBe('e.alias');
    subscription.cancel();
  });
});
