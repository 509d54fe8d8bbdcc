import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { v1 } from '@google-cloud/pubsub';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { channelName } from '../../../src/core/channel-name.js';
import { startServer, urlOf, useServer } from '../../support/server.js';
import { collect, connectClients, eventually, PROJECT, type Clients } from './clients.js';

type ClientOptions = ConstructorParameters<typeof v1.PublisherClient>[0];

/** What Google's client asks of its credentials, without any. */
const noCredentials = {
  getUniverseDomain: () => Promise.resolve('googleapis.com'),
  getRequestHeaders: () => Promise.resolve({}),
  getClient: () => Promise.resolve({ getRequestHeaders: () => Promise.resolve({}) }),
  fetch: (url: string, init: RequestInit) => fetch(url, init),
};

interface Reply {
  readonly status: number;
  readonly json: {
    readonly [name: string]: unknown;
    readonly error?: {
      readonly code: number;
      readonly message: string;
      readonly status: string;
      readonly details?: unknown[];
    };
  };
}

describe('REST', () => {
  const server = useServer({
    connectors: ['gcp'],
    config: { store: { engine: 'memory' }, connectors: { pubSub: { maxMessageBytes: 100_000 } } },
  });
  let clients: Clients;
  beforeAll(() => {
    clients = connectClients(server().address('gcp').port);
  });
  afterAll(() => clients.close());

  const raw = (method: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${urlOf(server(), 'gcp')}${path}`, { method, ...init });
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await raw(method, `/v1/projects/${PROJECT}${path}`, init);
    return { status: response.status, json: (await response.json()) as Reply['json'] };
  };
  const ok = async (method: string, path: string, body?: unknown): Promise<Reply['json']> => {
    const { status, json } = await call(method, path, body);
    expect([status, json]).toEqual([200, json]);
    return json;
  };

  it('is there beside gRPC, and says so', async () => {
    const response = await raw('GET', '/');
    expect([response.status, await response.text()]).toEqual([200, 'Ok\n']);
  });

  it('does what gRPC does, on the same resources', async () => {
    const name = `projects/${PROJECT}/topics/both`;
    expect(await ok('PUT', '/topics/both?alt=json', { labels: { a: 'b' } })).toEqual({
      name,
      labels: { a: 'b' },
      state: 'ACTIVE',
    });
    await ok('PUT', '/subscriptions/both', { topic: name, ack_deadline_seconds: 20 });
    const subscription = await ok('GET', '/subscriptions/both');
    expect(subscription).toMatchObject({ ackDeadlineSeconds: 20, messageRetentionDuration: '604800s' });
    const topic = clients.pubsub.topic('both');
    await topic.publishMessage({ data: Buffer.from('grpc') });
    const { messageIds } = await ok('POST', '/topics/both:publish', {
      messages: [{ data: Buffer.from([0xfb, 0xff]).toString('base64url'), attributes: { x: 'y' } }],
    });
    const pulled = await ok('POST', '/subscriptions/both:pull', { maxMessages: '10' });
    const messages = pulled['receivedMessages'] as { ackId: string; message: Record<string, unknown> }[];
    expect(messages.map(({ message }) => message['data'])).toEqual(['Z3JwYw==', '+/8=']);
    expect(messages[1]?.message).toMatchObject({
      messageId: (messageIds as string[])[0],
      attributes: { x: 'y' },
    });
    expect(messages[1]?.message['publishTime']).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const [first, second] = messages.map(({ ackId }) => ackId);
    expect(await ok('POST', '/subscriptions/both:acknowledge', { ackIds: [first] })).toEqual({});
    await ok('POST', '/subscriptions/both:modifyAckDeadline', { ackIds: [second], ackDeadlineSeconds: 0 });
    const [message] = await collect(clients.pubsub.subscription('both'), 1);
    expect(message?.data).toEqual(Buffer.from([0xfb, 0xff]));
    await clients.pubsub.subscription('both').close();
    expect((await ok('GET', '/topics?page_size=1&prettyPrint=false'))['topics']).toHaveLength(1);
    expect(await ok('DELETE', '/subscriptions/both')).toEqual({});
    expect(await ok('DELETE', '/topics/both')).toEqual({});
  });

  it("serves Google's client in its REST mode", async () => {
    const options = {
      fallback: true,
      protocol: 'http',
      servicePath: '127.0.0.1',
      port: server().address('gcp').port,
      projectId: PROJECT,
      auth: noCredentials,
    };
    const publisher = new v1.PublisherClient(options as unknown as ClientOptions);
    const subscriber = new v1.SubscriberClient(options as unknown as ClientOptions);
    const topic = `projects/${PROJECT}/topics/mode`;
    const subscription = `projects/${PROJECT}/subscriptions/mode`;
    const [created] = await publisher.createTopic({ name: topic, labels: { a: 'b' } });
    expect(created).toMatchObject({ name: topic, labels: { a: 'b' }, state: 'ACTIVE' });
    await subscriber.createSubscription({ name: subscription, topic, ackDeadlineSeconds: 20 });
    const data = Buffer.from([0, 255]);
    const [{ messageIds }] = await publisher.publish({ topic, messages: [{ data, orderingKey: 'k' }] });
    const [{ receivedMessages }] = await subscriber.pull({ subscription, maxMessages: 1 });
    expect(receivedMessages?.[0]?.message).toMatchObject({
      data,
      orderingKey: 'k',
      messageId: messageIds?.[0],
    });
    const [updated] = await subscriber.updateSubscription({
      subscription: { name: subscription, ackDeadlineSeconds: 33 },
      updateMask: { paths: ['ack_deadline_seconds'] },
    });
    expect(updated.ackDeadlineSeconds).toBe(33);
    await expect(publisher.getTopic({ topic: `${topic}-missing` })).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
    await Promise.all([publisher.close(), subscriber.close()]);
  });

  it('answers errors as Google does', async () => {
    expect(await call('GET', '/topics/missing')).toEqual({
      status: 404,
      json: { error: { code: 404, message: 'Resource not found (resource=missing).', status: 'NOT_FOUND' } },
    });
    await ok('PUT', '/topics/twice');
    expect((await call('PUT', '/topics/twice')).json.error).toMatchObject({
      code: 409,
      status: 'ALREADY_EXISTS',
    });
    const { status, json } = await call('PUT', '/topics/other', { bogus: 1 });
    const description = 'Invalid JSON payload received. Unknown name "bogus": Cannot find field.';
    expect([status, json.error]).toEqual([
      400,
      {
        code: 400,
        message: description,
        status: 'INVALID_ARGUMENT',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ description }] },
        ],
      },
    ]);
    const schema = {
      type: 'AVRO',
      definition: '{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]}',
    };
    await ok('POST', '/schemas?schemaId=refuses', schema);
    const message = Buffer.from('{"x":"text"}').toString('base64');
    const name = `projects/${PROJECT}/schemas/refuses`;
    const refused = await call('POST', '/schemas:validateMessage', { name, message, encoding: 'JSON' });
    expect(refused.json.error?.details).toMatchObject([
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        domain: 'pubsub.googleapis.com',
        reason: 'INVALID_JSON_AVRO_MESSAGE',
      },
    ]);
    expect((await call('POST', '/topics/twice')).json.error).toMatchObject({ code: 404 });
  });

  it('says which acknowledgements came too late, as gRPC does', async () => {
    const topic = `projects/${PROJECT}/topics/exact`;
    await ok('PUT', '/topics/exact');
    await ok('PUT', '/subscriptions/exact', { topic, enableExactlyOnceDelivery: true });
    await ok('POST', '/topics/exact:publish', { messages: [{ data: 'eA==' }, { data: 'eQ==' }] });
    const pulled = await ok('POST', '/subscriptions/exact:pull', { maxMessages: 2 });
    const [late, good] = (pulled['receivedMessages'] as { ackId: string }[]).map(({ ackId }) => ackId);
    await ok('POST', '/subscriptions/exact:modifyAckDeadline', { ackIds: [late], ackDeadlineSeconds: 0 });
    const metadata = {
      [late!]: 'PERMANENT_FAILURE_INVALID_ACK_ID',
      [good!]: 'TRANSIENT_FAILURE_SERVICE_UNAVAILABLE',
    };
    const refused = await call('POST', '/subscriptions/exact:acknowledge', { ackIds: [late, good] });
    expect(refused.json.error).toMatchObject({
      code: 400,
      status: 'FAILED_PRECONDITION',
      details: ['PERMANENT_FAILURE_INVALID_ACK_ID', 'EXACTLY_ONCE_ACKID_FAILURE'].map((reason) => ({
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        domain: 'pubsub.googleapis.com',
        reason,
        metadata,
      })),
    });
    expect(await ok('POST', '/subscriptions/exact:acknowledge', { ackIds: [good] })).toEqual({});
  });

  it('takes the name of what changes from the path, the body or both (google-cloud-php#5533)', async () => {
    const topic = `projects/${PROJECT}/topics/patched`;
    const name = `projects/${PROJECT}/subscriptions/patched`;
    await ok('PUT', '/topics/patched', { name: topic });
    await ok('PUT', '/subscriptions/patched', { name, topic });
    for (const [seconds, subscription] of [{ name }, {}].entries()) {
      const ackDeadlineSeconds = 20 + seconds;
      const body = {
        subscription: { ...subscription, ackDeadlineSeconds },
        updateMask: 'ackDeadlineSeconds',
      };
      expect(await ok('PATCH', '/subscriptions/patched', body)).toMatchObject({ ackDeadlineSeconds });
    }
    // The path says which it is, whatever the body says.
    const other = { subscription: { name: `${name}-other`, labels: { a: 'b' } }, updateMask: 'labels' };
    expect(await ok('PATCH', '/subscriptions/patched', other)).toMatchObject({ name, labels: { a: 'b' } });
  });

  it('refuses data with line feeds in its base64 (google-api-python-client#247)', async () => {
    await ok('PUT', '/topics/lines');
    const { status, json } = await call('POST', '/topics/lines:publish', {
      messages: [{ data: 'SGVsbG8=\n' }],
    });
    expect([status, json.error?.message]).toEqual([
      400,
      expect.stringContaining("Invalid value at 'messages[0].data' (TYPE_BYTES)"),
    ]);
  });

  it('takes bodies in gzip, and none that is too large', async () => {
    await ok('PUT', '/topics/large');
    const path = `/v1/projects/${PROJECT}/topics/large:publish`;
    const body = (bytes: number) =>
      JSON.stringify({ messages: [{ data: Buffer.alloc(bytes).toString('base64') }] });
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
    expect((await raw('POST', path, { headers, body: gzipSync(body(90_000)) })).status).toBe(200);
    expect((await raw('POST', path, { headers, body: 'no gzip' })).status).toBe(400);
    expect((await raw('POST', path, { body: body(101_000) })).status).toBe(400);
    const bomb = await raw('POST', path, { headers, body: gzipSync(Buffer.alloc(50_000_000, 0x20)) });
    expect([bomb.status, await bomb.text()]).toEqual([400, expect.stringContaining('exceeds the limit')]);
    const huge = await raw('POST', path, { body: body(4_000_000) });
    expect([huge.status, await huge.text()]).toEqual([400, expect.stringContaining('exceeds the limit')]);
  });

  it('leases nothing to a client that went away', async () => {
    const topic = `projects/${PROJECT}/topics/gone`;
    await ok('PUT', '/topics/gone');
    await ok('PUT', '/subscriptions/gone', { topic });
    const { port } = server().address('gcp');
    const socket = connect(port, '127.0.0.1');
    const body = '{"maxMessages":1}';
    socket.write(
      `POST /v1/projects/${PROJECT}/subscriptions/gone:pull HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const waiters = () => server().broker.queueStats(channelName('gcp.sub.gone'))?.waiters;
    await eventually(() => waiters() === 1);
    socket.destroy();
    await eventually(() => waiters() === 0);
    await clients.pubsub.topic('gone').publishMessage({ data: Buffer.from('x') });
    const pulled = await ok('POST', '/subscriptions/gone:pull', { maxMessages: 1 });
    expect(pulled['receivedMessages']).toHaveLength(1);
  });
});

it('a shutdown answers what was asked and closes the connection', async () => {
  const server = await startServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
  const base = `${urlOf(server, 'gcp')}/v1/projects/${PROJECT}`;
  await fetch(`${base}/topics/last`, { method: 'PUT' });
  const body = JSON.stringify({ topic: `projects/${PROJECT}/topics/last` });
  await fetch(`${base}/subscriptions/last`, { method: 'PUT', body });
  const pulling = fetch(`${base}/subscriptions/last:pull`, { method: 'POST', body: '{"maxMessages":1}' });
  await eventually(() => server.broker.queueStats(channelName('gcp.sub.last'))?.waiters === 1);
  const stopped = server.stop();
  const response = await pulling;
  expect([response.status, await response.json()]).toEqual([200, {}]);
  expect(response.headers.get('connection')).toBe('close');
  await stopped;
});
