import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import type { NativeClient } from '../../support/native-client.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
let client: NativeClient;
beforeEach(async () => {
  server = await startNativeServer();
  client = server.client();
});
afterEach(() => server.stop());

const Body = Buffer.from('x');
const subscribed = (count: number) => until(() => server.broker.live.figures().subscribers === count);
const bodies = (events: readonly { Body: Buffer }[]) => events.map((event) => event.Body.toString());

describe('live events', () => {
  it('come as they were sent, with a time and no sequence', async () => {
    const subscription = client.listen({ Channel: 'e.1' });
    await subscribed(1);
    const before = BigInt(Date.now()) * 1_000_000n;
    const event = { EventID: 'id', Channel: 'e.1', Metadata: 'm', Body, Tags: { a: 'b', __proto__x: '' } };
    expect(await client.sendEvent(event)).toEqual({ EventID: 'id', Sent: true, Error: '' });
    const [received] = await subscription.has(1);
    expect(received).toMatchObject({ ...event, Sequence: '0' });
    expect(BigInt(received!.Timestamp)).toBeGreaterThanOrEqual(before);
  });

  it('get an id when they have none, and are sent when nobody listens', async () => {
    const { EventID, Sent } = await client.sendEvent({ Channel: 'nobody', Body });
    expect(Sent).toBe(true);
    expect(EventID).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('come to wildcards, and to one member of each group', async () => {
    const all = client.listen({ Channel: 'w.>' });
    const one = client.listen({ Channel: 'w.*' });
    const exact = client.listen({ Channel: 'w.a.b' });
    const members = [
      client.listen({ Channel: 'w.*', Group: 'g' }),
      client.listen({ Channel: 'w.*', Group: 'g' }),
    ];
    const other = client.listen({ Channel: 'w.*', Group: 'h' });
    await subscribed(6);
    for (let i = 0; i < 10; i++) await client.sendEvent({ Channel: 'w.a', Body: Buffer.from(String(i)) });
    await client.sendEvent({ Channel: 'w.a.b', Body: Buffer.from('deep') });
    expect(bodies(await all.has(11)).at(-1)).toBe('deep');
    expect((await all.has(11)).map(({ Channel }) => Channel)).toContain('w.a');
    await one.has(10);
    await other.has(10);
    expect(bodies(await exact.has(1))).toEqual(['deep']);
    await until(() => members[0]!.events.length + members[1]!.events.length === 10);
    expect(members.map(({ events }) => events.length)).toEqual([5, 5]);
    for (const member of members) member.cancel();
    await subscribed(4);
  });

  it('on a stream are answered only when they are bad, beside stored ones', async () => {
    const subscription = client.listen({ Channel: 's' });
    await subscribed(1);
    const stream = client.eventsStream();
    stream.write({ EventID: '1', ClientID: 'c', Channel: 's', Body });
    stream.write({ EventID: '2', ClientID: 'c', Channel: 's', Body, Store: true });
    stream.write({ EventID: '3', ClientID: '', Channel: 's', Body });
    stream.write({ EventID: '4', ClientID: 'c', Channel: 's', Body });
    await subscription.has(2);
    const results = [await stream.next(), await stream.next()];
    results.sort((a, b) => Number(a.EventID) - Number(b.EventID));
    expect(results).toEqual([
      { EventID: '2', Sent: true, Error: '' },
      { EventID: '3', Sent: false, Error: TEXTS.clientId },
    ]);
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
    expect(stream.unsolicited).toEqual([]);
    expect(subscription.events.map(({ EventID }) => EventID)).toEqual(['1', '4']);
    expect(server.broker.logStats('s' as never)).toMatchObject({ events: 1 });
  });

  it('are refused in the words of the contract', async () => {
    await expect(client.sendEvent({ Channel: 'a.*', Body })).rejects.toMatchObject({
      code: 13,
      details: TEXTS.wildcards,
    });
    expect(await client.subscribe({ Channel: 'a.*' }).ended).toEqual({ code: 13, details: TEXTS.wildcards });
    expect(await client.listen({ Channel: 'a', EventsStoreTypeData: 1 }).ended).toEqual({
      code: 13,
      details: TEXTS.notEventStore,
    });
    expect(await client.listen({ Channel: 'a', SubscribeTypeData: 3 }).ended).toEqual({
      code: 13,
      details: TEXTS.subscribeType,
    });
    expect(await client.listen({ Channel: 'a.>.b' }).ended).toMatchObject({ code: 13 });
  });

  it('that a slow reader does not take are held, and others do not wait for it', async () => {
    const slow = client.listen({ Channel: 'd' });
    const quick = server.client().listen({ Channel: 'd' });
    await subscribed(2);
    slow.pause();
    const big = Buffer.alloc(64 * 1024);
    const sender = server.client();
    const stream = sender.eventsStream();
    for (let i = 0; i < 120; i++) stream.write({ ClientID: 'c', Channel: 'd', Body: big });
    await quick.has(120);
    slow.resume();
    await slow.has(120);
    stream.end();
  });

  it('end with UNAVAILABLE at shutdown', async () => {
    const subscription = client.listen({ Channel: 'd' });
    await subscribed(1);
    await server.connector.drain(5000);
    expect(await subscription.ended).toEqual({ code: 14, details: TEXTS.shutdown });
    expect(server.broker.live.figures().subscribers).toBe(0);
  });
});
