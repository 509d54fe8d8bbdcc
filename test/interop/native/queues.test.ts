import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import { NativeClient } from '../../support/native-client.js';
import { lineTo } from './line.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
let client: NativeClient;
beforeAll(async () => {
  server = await startNativeServer();
  client = server.client();
});
afterAll(() => server.stop());

const Body = Buffer.from('hello');

describe('Ping', () => {
  it('says who answers, with a version that clients can compare', async () => {
    const reply = await client.call<{ Host: string; Version: string; ServerStartTime: string }>('Ping', {});
    expect(reply.Host).not.toBe('');
    expect(reply.Version).toMatch(/^3\.\d+\.\d+/);
    expect(Number(reply.ServerStartTime)).toBeGreaterThan(1_600_000_000);
  });
});

describe('SendQueueMessage and ReceiveQueueMessages', () => {
  it('carry every part, and all there is to know about a message', async () => {
    const body = randomBytes(3000);
    const Tags = { a: '1', 'b c': 'ü', __proto: 'x' };
    const sent = await client.send({
      MessageID: 'm-1',
      Channel: 'q.all',
      Metadata: 'meta',
      Body: body,
      Tags,
    });
    expect(sent).toMatchObject({ MessageID: 'm-1', IsError: false, ExpirationAt: '0', DelayedTo: '0' });
    const reply = await client.receive('q.all');
    expect(reply).toMatchObject({ IsError: false, MessagesReceived: 1, IsPeak: false });
    const [message] = reply.Messages;
    expect(message).toMatchObject({
      MessageID: 'm-1',
      ClientID: client.clientId,
      Channel: 'q.all',
      Metadata: 'meta',
      Tags,
    });
    expect(message!.Body.equals(body)).toBe(true);
    expect(message!.Attributes).toMatchObject({
      Sequence: '1',
      ReceiveCount: 1,
      ReRouted: false,
      Timestamp: sent.SentAt,
      MD5OfBody: createHash('md5').update(body).digest('hex'),
    });
  });

  it('makes an id when there is none, and gives the same one to every reader', async () => {
    const sent = await client.send({ Channel: 'q.id', Body });
    expect(sent.MessageID).not.toBe('');
    const peeked = await client.receive('q.id', { isPeek: true });
    expect(peeked.Messages[0]!.MessageID).toBe(sent.MessageID);
    expect((await client.receive('q.id')).Messages[0]!.MessageID).toBe(sent.MessageID);
  });

  it('takes at most what is asked, in order, and removes it', async () => {
    await client.sendBatch(['1', '2', '3'].map((text) => ({ Channel: 'q.order', Body: Buffer.from(text) })));
    const two = await client.receive('q.order', { max: 2 });
    expect(two.Messages.map((message) => message.Body.toString())).toEqual(['1', '2']);
    expect((await client.receive('q.order', { max: 10 })).Messages.map((m) => m.Body.toString())).toEqual([
      '3',
    ]);
    expect((await client.receive('q.order', { isPeek: true, max: 10 })).Messages).toEqual([]);
  });

  it('waits for a first message and does not wait for more', async () => {
    const waiting = client.receive('q.wait', { max: 10, waitSeconds: 20 });
    await until(() => server.broker.queueStats('q.wait' as never)?.waiters === 1);
    await client.send({ Channel: 'q.wait', Body });
    expect((await waiting).Messages).toHaveLength(1);
  });

  it('answers an empty queue after the wait, without an error', async () => {
    const reply = await client.receive('q.none', { waitSeconds: 0 });
    expect(reply).toMatchObject({ IsError: false, Messages: [], MessagesReceived: 0 });
  });

  it('loses nothing when the client goes away while it waits', async () => {
    const line = await lineTo(server.port);
    const leaver = new NativeClient(line.address);
    const left = leaver.receive('q.leave', { waitSeconds: 20 }).catch(() => 'gone');
    const waiters = (): number | undefined => server.broker.queueStats('q.leave' as never)?.waiters;
    await until(() => waiters() === 1);
    line.cut();
    expect(await left).toBe('gone');
    leaver.close();
    await until(() => waiters() === 0);
    const impatient = client.call(
      'ReceiveQueueMessages',
      { ClientID: 'c', Channel: 'q.leave', MaxNumberOfMessages: 1, WaitTimeSeconds: 20 },
      200,
    );
    await expect(impatient).rejects.toMatchObject({ code: 4 });
    await until(() => waiters() === 0);
    await client.send({ Channel: 'q.leave', Body });
    const [message] = (await client.receive('q.leave')).Messages;
    expect(message!.Attributes.ReceiveCount).toBe(1);
  });

  it('peeks without touching: no count, no lock', async () => {
    await client.sendBatch([
      { Channel: 'q.peek', Body },
      { Channel: 'q.peek', Body },
    ]);
    for (let i = 0; i < 3; i++) {
      const reply = await client.receive('q.peek', { isPeek: true, max: 10 });
      expect(reply.IsPeak).toBe(true);
      expect(reply.Messages).toHaveLength(2);
      expect(reply.Messages[0]!.Attributes.ReceiveCount).toBe(0);
    }
    const [first] = (await client.receive('q.peek')).Messages;
    expect(first!.Attributes.ReceiveCount).toBe(1);
  });

  it('keeps large messages whole, several in one answer as far as 4 MiB clients read', async () => {
    const body = randomBytes(2 * 1024 * 1024);
    for (let i = 0; i < 3; i++) await client.send({ Channel: 'q.large', Body: body });
    const first = await client.receive('q.large', { max: 10 });
    expect(first.Messages).toHaveLength(1);
    expect(first.Messages[0]!.Body.equals(body)).toBe(true);
    const huge = randomBytes(20 * 1024 * 1024);
    await client.send({ Channel: 'q.huge', Body: huge });
    expect((await client.receive('q.huge')).Messages[0]!.Body.equals(huge)).toBe(true);
  });
});

describe('faults of sends', () => {
  it.each([
    [{ ClientID: '' }, TEXTS.clientId],
    [{ Channel: 'a.*' }, TEXTS.queueName],
    [{ Body: Buffer.alloc(0) }, TEXTS.messageEmpty],
    [{ Policy: { DelaySeconds: 43_201 } }, TEXTS.delay],
  ])('%j is in the answer', async (change, text) => {
    const reply = await client.send({ MessageID: 'm', Channel: 'q.fault', Body, ...change });
    expect(reply).toMatchObject({ IsError: true, Error: text, MessageID: 'm' });
  });

  it('of one message leave the rest of a batch alone', async () => {
    const reply = await client.sendBatch([
      { Channel: 'q.batch', Body: Buffer.from('1') },
      { Channel: 'q.batch.', Body },
      { Channel: 'q.batch2', Body: Buffer.from('3') },
    ]);
    expect(reply.HaveErrors).toBe(true);
    expect(reply.Results.map((result) => result.Error)).toEqual(['', TEXTS.queueName, '']);
    expect((await client.receive('q.batch', { max: 10 })).Messages).toHaveLength(1);
    expect((await client.receive('q.batch2', { max: 10 })).Messages).toHaveLength(1);
  });

  it('refuse an empty batch as a call', async () => {
    await expect(client.sendBatch([])).rejects.toMatchObject({ code: 2, details: 'empty messages batch' });
  });

  it('are in the answer of a receive too', async () => {
    expect(await client.receive('q', { max: 0 })).toMatchObject({ IsError: true, Error: TEXTS.maxMessages });
    expect(await client.receive('q', { waitSeconds: 3601 })).toMatchObject({
      IsError: true,
      Error: TEXTS.waitTimeout,
    });
  });
});

describe('AckAllQueueMessages', () => {
  it('drops what is ready and delayed at once and leaves what is held', async () => {
    const downstream = client.downstream();
    await client.send({ Channel: 'q.ack', Body });
    const held = await downstream.get('q.ack');
    await client.sendBatch([
      { Channel: 'q.ack', Body },
      { Channel: 'q.ack', Body, Policy: { DelaySeconds: 60 } },
    ]);
    expect(await client.ackAll('q.ack')).toBe(2);
    expect(await client.ackAll('q.never')).toBe(0);
    downstream.cancel();
    await downstream.ended;
    expect((await client.receive('q.ack')).Messages[0]!.MessageID).toBe(held.Messages[0]!.MessageID);
  });
});

describe('QueuesInfo', () => {
  it('names exactly the queues that are asked for', async () => {
    await client.sendBatch([
      { Channel: 'QUEUES_A.S', Body },
      { Channel: 'QUEUES_A.S', Body },
      { Channel: 'info.b', Body },
    ]);
    await client.receive('QUEUES_A.S');
    const info = await client.queuesInfo('QUEUES_A.S;info.b;info.never');
    expect(info.TotalQueue).toBe(2);
    expect(
      info.Queues.map((queue) => [queue.Name, queue.Messages, queue.Waiting, queue.Sent, queue.Delivered]),
    ).toEqual([
      ['QUEUES_A.S', '1', '1', '2', '1'],
      ['info.b', '1', '1', '1', '0'],
    ]);
    const all = await client.queuesInfo('');
    expect(all.Queues.map((queue) => queue.Name)).toContain('QUEUES_A.S');
  });
});

describe('QueuesUpstream', () => {
  it('answers each request with a result for each message', async () => {
    const stream = client.upstream();
    const ClientID = client.clientId;
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        stream.request({
          Messages: Array.from({ length: i === 7 ? 0 : 3 }, () => ({ ClientID, Channel: 'q.up', Body })),
        }),
      ),
    );
    expect(replies[7]).toMatchObject({ IsError: true, Error: TEXTS.upstreamEmpty });
    expect(replies.filter((reply) => !reply.IsError).every((reply) => reply.Results.length === 3)).toBe(true);
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
    expect((await client.receive('q.up', { max: 1000 })).Messages).toHaveLength(49 * 3);
  });

  it('answers everything it took before a half-close', async () => {
    const stream = client.upstream();
    const replies = Array.from({ length: 20 }, () =>
      stream.request({ Messages: [{ ClientID: 'c', Channel: 'q.half', Body }] }),
    );
    stream.end();
    expect(await Promise.all(replies)).toHaveLength(20);
    expect(await stream.ended).toMatchObject({ code: 0 });
  });

  it('reports faults of single messages in their results only', async () => {
    const stream = client.upstream();
    const reply = await stream.request({ Messages: [{ ClientID: 'c', Channel: '', Body }] });
    expect(reply).toMatchObject({ IsError: false, Error: '' });
    expect(reply.Results[0]).toMatchObject({ IsError: true, Error: TEXTS.queueName });
    stream.end();
  });
});

describe('any channel', () => {
  it('is reachable by each of its names', async () => {
    await client.send({ Channel: 'sqs.real', Body });
    await server.broker.change([
      { do: 'set-alias', alias: 'other.name' as never, channel: 'sqs.real' as never },
    ]);
    const [message] = (await client.receive('other.name')).Messages;
    expect(message!.Channel).toBe('other.name');
    await client.send({ Channel: 'other.name', Body });
    expect((await client.receive('sqs.real')).Messages[0]!.Channel).toBe('sqs.real');
  });
});
