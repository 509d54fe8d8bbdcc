import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { OWN_TEXTS, TEXTS } from '../../../src/connectors/native/error-texts.js';
import type { NativeClient } from '../../support/native-client.js';
import type { ReceivedRequest, Response } from '../../support/native-shapes.js';
import type { Subscription } from '../../support/native-streams.js';
import { pass, startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
let client: NativeClient;
beforeEach(async () => {
  server = await startNativeServer();
  client = server.client('asker');
});
afterEach(() => server.stop());

const Body = Buffer.from('x');
const subscribed = (count: number) => until(() => server.broker.live.figures().subscribers === count);

/** Serves queries of a channel, each with this answer. */
async function responder(
  channel: string,
  answer: Response,
  group = '',
): Promise<Subscription<ReceivedRequest>> {
  const before = server.broker.live.figures().subscribers;
  const own = server.client('responder');
  const subscription = own.serve({ Channel: channel, Group: group });
  let answered = 0;
  void (async () => {
    for (;;) {
      const requests = await subscription.has(answered + 1);
      await own.respond(requests[answered++]!, answer);
    }
  })().catch(() => undefined);
  await subscribed(before + 1);
  return subscription;
}

describe('queries and commands', () => {
  it('bring the answer to who asked before they thank who gave it', async () => {
    const subscription = client.serve({ Channel: 'q', Group: '' });
    await subscribed(1);
    const order: string[] = [];
    for (let asked = 1; asked <= 5; asked++) {
      // One connection for all, so that what is sent first comes first.
      const reply = client.ask({ Channel: 'q', Body }).then(() => order.push('answer'));
      const requests = await subscription.has(asked);
      await client.respond(requests[asked - 1]!, {}).then(() => order.push('thanks'));
      await reply;
    }
    expect(order).toEqual(Array.from({ length: 5 }, () => ['answer', 'thanks']).flat());
  });

  it('come and go whole', async () => {
    const answer = {
      Metadata: 'am',
      Body: Buffer.from('answer'),
      Tags: { k: 'v' },
      Timestamp: '1700000000123456789',
      Span: Buffer.from('s2'),
    };
    const served = await responder('q', answer);
    const reply = await client.ask({
      RequestID: 'mine',
      Channel: 'q',
      Metadata: 'm',
      Body,
      Tags: { a: 'b' },
      Span: Buffer.from('s1'),
      // What the published client sends; the broker has its own.
      ReplyChannel: 'q',
    });
    expect(served.events[0]).toMatchObject({
      RequestID: 'mine',
      RequestTypeData: 2,
      ClientID: 'asker',
      Channel: 'q',
      Metadata: 'm',
      Body,
      Timeout: 5000,
      Tags: { a: 'b' },
      Span: Buffer.from('s1'),
    });
    expect(served.events[0]!.ReplyChannel).toMatch(/^reply\./);
    expect(reply).toEqual({
      ...answer,
      ClientID: 'responder',
      RequestID: 'mine',
      ReplyChannel: '',
      CacheHit: false,
      Executed: true,
      Error: '',
    });
  });

  it('may fail: that is an answer', async () => {
    await responder('q', { Executed: false, Error: 'cannot' });
    expect(await client.ask({ Channel: 'q', Body })).toMatchObject({ Executed: false, Error: 'cannot' });
  });

  it('go to responders of their kind, one of each group', async () => {
    const members = [await responder('q', {}, 'g'), await responder('q', {}, 'g')];
    const commands = client.serve({ Channel: 'q', SubscribeTypeData: 3 });
    await subscribed(3);
    for (let i = 0; i < 6; i++) await client.ask({ Channel: 'q', Body });
    expect(members.map(({ events }) => events.length)).toEqual([3, 3]);
    const asked = client.ask({ Channel: 'q', Body, RequestTypeData: 1 });
    const [command] = await commands.has(1);
    await client.respond(command!, { Body });
    // Commands keep what their answer carries.
    expect(await asked).toMatchObject({ Executed: true, Body });
  });

  it('without an answer fail with Error 301 when their time is over, and not before', async () => {
    const clock = new ManualClock();
    const own = await startNativeServer({ clock });
    try {
      const asked = own.client().ask({ Channel: 'nobody', Body, Timeout: 300 });
      const failed = expect(asked).rejects.toMatchObject({ code: 13, details: TEXTS.requestTimeout });
      const pending = () => own.broker.live.figures().pendingRequests;
      await until(() => pending() === 1);
      await pass(clock, 299);
      expect(pending()).toBe(1);
      await pass(clock, 51);
      await failed;
      expect(pending()).toBe(0);
    } finally {
      await own.stop();
    }
  });

  it('without an answer because the responder went away fail likewise, and late answers are dropped', async () => {
    const leaving = client.serve({ Channel: 'q' });
    await subscribed(1);
    const asked = client.ask({ Channel: 'q', Body, Timeout: 300 });
    asked.catch(() => undefined);
    const [request] = await leaving.has(1);
    leaving.cancel();
    await expect(asked).rejects.toMatchObject({ details: TEXTS.requestTimeout });
    expect(await client.respond(request!)).toEqual({});
    expect(await client.respond({ ...request!, ReplyChannel: 'anything' })).toEqual({});
  });

  it('of a caller that gave up leave nothing behind', async () => {
    await expect(
      client.call(
        'SendRequest',
        { RequestTypeData: 1, ClientID: 'c', Channel: 'q', Body, Timeout: 60_000 },
        100,
      ),
    ).rejects.toMatchObject({ code: 4 });
    await until(() => server.broker.live.figures().pendingRequests === 0);
  });

  it('are refused in the words of the contract', async () => {
    const fault = async (change: object) => {
      const request = { Channel: 'q', Body, ...change };
      return client.ask(request).then(
        () => undefined,
        (error: unknown) => {
          const { code, details } = error as { code: number; details: string };
          return [code, details];
        },
      );
    };
    expect(await fault({ RequestTypeData: 0 })).toEqual([13, TEXTS.requestType]);
    expect(await fault({ Timeout: 0 })).toEqual([13, TEXTS.requestTimeoutValue]);
    expect(await fault({ CacheKey: 'k' })).toEqual([13, TEXTS.cacheTtl]);
    expect(await fault({ Channel: '>' })).toEqual([13, TEXTS.wildcards]);
    expect(await fault({ Body: Buffer.alloc(0) })).toEqual([13, TEXTS.requestEmpty]);
    expect(await client.serve({ Channel: 'a.*' }).ended).toEqual({ code: 13, details: TEXTS.wildcards });
    expect(await client.serve({ Channel: 'a', SubscribeTypeData: 1 }).ended).toEqual({
      code: 13,
      details: TEXTS.subscribeType,
    });
    await expect(client.call('SendResponse', { ClientID: 'c', ReplyChannel: 'r' })).rejects.toMatchObject({
      code: 13,
      details: TEXTS.requestId,
    });
  });

  it('are cut short by a shutdown, in a way that clients try again', async () => {
    const asked = client.ask({ Channel: 'q', Body, Timeout: 60_000 });
    asked.catch(() => undefined);
    const serving = client.serve({ Channel: 'other' });
    await until(() => server.broker.live.figures().pendingRequests === 1);
    await subscribed(1);
    await server.connector.drain(5000);
    await expect(asked).rejects.toMatchObject({ code: 14, details: TEXTS.shutdown });
    expect(await serving.ended).toMatchObject({ code: 14 });
  });
});

describe('the query cache', () => {
  it('answers within the time to live, under the id of each caller', async () => {
    await server.stop();
    const clock = new ManualClock();
    server = await startNativeServer({ clock });
    client = server.client('asker');
    const served = await responder('q', { Body, Metadata: 'am' });
    const query = { Channel: 'q', Body, CacheKey: 'k', CacheTTL: 10 };
    expect(await client.ask({ ...query, RequestID: '1' })).toMatchObject({ CacheHit: false, RequestID: '1' });
    expect(await client.ask({ ...query, RequestID: '2' })).toMatchObject({
      CacheHit: true,
      RequestID: '2',
      Body,
      Metadata: 'am',
      Executed: true,
    });
    clock.advance(10_000);
    expect(await client.ask(query)).toMatchObject({ CacheHit: false });
    expect(served.events).toHaveLength(2);
  });
});

describe('channel management', () => {
  const manage = (metadata: string, tags: Record<string, string>) =>
    client.ask({
      Channel: 'kubemq.cluster.internal.requests',
      Metadata: metadata,
      Tags: tags,
      Timeout: 10_000,
    });
  const list = async (type: string, search?: string) => {
    const tags = { channel_type: type, ...(search === undefined ? {} : { channel_search: search }) };
    const reply = await manage('list-channels', tags);
    expect(reply).toMatchObject({ Executed: true, Error: '' });
    return JSON.parse(reply.Body.toString()) as { name: string; incoming: object; outgoing: object }[];
  };

  it.each(['events', 'events_store', 'commands', 'queries', 'queues'])(
    'creates, lists and deletes channels of type %s',
    async (type) => {
      const channel = `m.${type}`;
      expect(await list(type)).toEqual([]);
      for (let i = 0; i < 2; i++) {
        const tags = { channel_type: type, channel, client_id: 'c' };
        expect(await manage('create-channel', tags)).toMatchObject({ Executed: true, Error: '' });
      }
      const figures = { messages: 0, volume: 0, responses: 0, waiting: 0, expired: 0, delayed: 0 };
      expect(await list(type)).toEqual([
        { name: channel, type, lastActivity: 0, isActive: false, incoming: figures, outgoing: figures },
      ]);
      // A created channel is there after a restart.
      const again = await startNativeServer({ image: server.journal.image() });
      const asked = await again.client().ask({
        Channel: 'kubemq.cluster.internal.requests',
        Metadata: 'list-channels',
        Tags: { channel_type: type },
      });
      expect(asked.Body.toString()).toContain(channel);
      await again.stop();
      for (let i = 0; i < 2; i++) {
        expect(await manage('delete-channel', { channel_type: type, channel })).toMatchObject({
          Executed: true,
        });
      }
      expect(await list(type)).toEqual([]);
    },
  );

  it('lists channels in use, with figures', async () => {
    const subscription = client.listen({ Channel: 'used' });
    await subscribed(1);
    await client.sendEvent({ Channel: 'used', Body });
    await subscription.has(1);
    expect(await list('events')).toMatchObject([
      { name: 'used', isActive: true, incoming: { messages: 1, volume: 1 }, outgoing: { messages: 1 } },
    ]);
    await client.send({ Channel: 'queue', Body, Policy: { DelaySeconds: 60 } });
    await client.send({ Channel: 'queue', Body });
    await client.receive('queue');
    expect(await list('queues')).toMatchObject([
      {
        name: 'queue',
        isActive: true,
        incoming: { messages: 2, waiting: 1, delayed: 1 },
        outgoing: { messages: 1 },
      },
    ]);
    await client.sendEvent({ Channel: 'stored', Body, Store: true });
    expect(await list('events_store')).toMatchObject([{ name: 'stored', incoming: { messages: 1 } }]);
    await responder('asked', {});
    await client.ask({ Channel: 'asked', Body });
    expect(await list('queries')).toMatchObject([{ name: 'asked', incoming: { messages: 1, responses: 1 } }]);
  });

  it('searches by regular expression, or by part when it is none, and within bounds', async () => {
    for (const channel of ['a.1', 'a.2', 'b(1']) await client.send({ Channel: channel, Body });
    const names = async (search: string) => (await list('queues', search)).map(({ name }) => name);
    expect(await names('^a')).toEqual(['a.1', 'a.2']);
    expect(await names('2$')).toEqual(['a.2']);
    expect(await names('b(')).toEqual(['b(1']);
    expect(await names('')).toHaveLength(3);
    await client.send({ Channel: `${'a'.repeat(60)}!`, Body });
    const slow = await manage('list-channels', { channel_type: 'queues', channel_search: '^(a+)+$' });
    expect(slow).toMatchObject({ Executed: false, Error: OWN_TEXTS.searchTooSlow });
  });

  it('answers every fault at once', async () => {
    const fault = async (metadata: string, tags: Record<string, string>) => {
      const reply = await manage(metadata, tags);
      expect(reply.Executed).toBe(false);
      return reply.Error;
    };
    expect(await fault('do-something', {})).toBe(OWN_TEXTS.managementUnknown);
    expect(await fault('create-channel', { channel: 'a' })).toBe(OWN_TEXTS.channelType);
    expect(await fault('create-channel', { channel_type: 'queues' })).toBe(TEXTS.queueName);
    expect(await fault('create-channel', { channel_type: 'events', channel: 'a.*' })).toBe(TEXTS.wildcards);
    expect(await fault('delete-channel', { channel_type: 'queues', channel: 'sqs.q' })).toBe(
      OWN_TEXTS.foreignChannel('sqs.q'),
    );
  });

  it('takes away queues and stored events with what they hold', async () => {
    await client.send({ Channel: 'gone', Body });
    await client.sendEvent({ Channel: 'gone', Body, Store: true });
    await manage('delete-channel', { channel_type: 'queues', channel: 'gone' });
    await manage('delete-channel', { channel_type: 'events_store', channel: 'gone' });
    expect(server.broker.queueStats('gone' as never)).toBeUndefined();
    expect(server.broker.logStats('gone' as never)).toBeUndefined();
  });
});
