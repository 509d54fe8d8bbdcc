import { get } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Identity } from '../../../src/connectors/kit/identity.js';
import { OWN_TEXTS, TEXTS } from '../../../src/connectors/native/error-texts.js';
import { BrokerError } from '../../../src/core/errors.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
beforeEach(async () => {
  server = await startNativeServer();
});
afterEach(() => server.stop());

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly body: { is_error: boolean; message: string; data: Record<string, unknown> | null };
}

async function call(path: string, body?: unknown, options: RequestInit = {}): Promise<Reply> {
  const response = await fetch(server.restUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...options,
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    text,
    headers: response.headers,
    body: (isJson ? JSON.parse(text) : null) as Reply['body'],
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const message = (change: object = {}) => ({ ClientID: 'c', Channel: 'q', Body: base64('hello'), ...change });

describe('routes', () => {
  it('say hello, who answers, and what there is', async () => {
    expect(await call('/')).toMatchObject({ status: 200, text: 'hi' });
    const ping = await call('/ping');
    expect(ping).toMatchObject({ status: 200, body: { is_error: false, message: 'OK' } });
    expect(ping.text).toContain('\n\t"message": "OK",\n\t"data": {\n\t\t"Host": ');
    expect(ping.headers.get('broker')).toBe(ping.body.data?.['Host']);
    expect(ping.headers.get('x-powered-by')).toMatch(/^Polymq /);
    const document = JSON.parse((await call('/openapi.json')).text) as {
      paths: object;
      components: { schemas: Record<string, { properties: object }> };
    };
    expect(Object.keys(document.paths)).toEqual([
      '/ping',
      '/send/event',
      '/send/request',
      '/send/response',
      '/queue/send',
      '/queue/send_batch',
      '/queue/receive',
      '/queue/ack_all',
      '/queue/info',
      '/send/stream',
      '/queue/stream',
      '/subscribe/events',
      '/subscribe/requests',
    ]);
    expect(Object.keys(document.components.schemas['Event']!.properties)).toContain('EventID');
  });

  it('that are none, or take other methods, are answered by the router', async () => {
    expect(await call('/nothing')).toMatchObject({
      status: 404,
      body: { error_code: 404, message: 'Not Found' },
    });
    const wrong = await call('/queue/send');
    expect(wrong).toMatchObject({ status: 405, body: { error_code: 405 } });
    expect(wrong.headers.get('allow')).toBe('POST');
    expect(await call('/queue/stream')).toMatchObject({ status: 400, body: { is_error: true } });
    expect((await fetch(`${server.restUrl}/ping`, { method: 'HEAD' })).status).toBe(200);
  });

  it('refuse bodies above their limit', async () => {
    await server.stop();
    server = await startNativeServer({ rest: { bodyLimit: 2048 } });
    const reply = await call('/queue/send', message({ Body: 'A'.repeat(4096) }));
    expect(reply).toMatchObject({ status: 413, body: { error_code: 413 } });
    expect((await call('/ping')).status).toBe(200);
  });
});

describe('queues', () => {
  it('send, peek, receive, batch, info and ack all', async () => {
    const sent = await call('/queue/send', {
      Id: 'my-id',
      clientid: 'c',
      CHANNEL: 'q',
      Metadata: 'm',
      Body: base64('hello'),
      Tags: { a: 'b' },
      Policy: { ExpirationSeconds: 60, MaxReceiveCount: 3, MaxReceiveQueue: 'dlq' },
    });
    expect(sent).toMatchObject({ status: 200, body: { is_error: false, data: { MessageID: 'my-id' } } });
    // Nanoseconds, exact: more digits than a double holds, in the text itself.
    expect(sent.text).toMatch(/"SentAt": \d{19},/);
    const receive = {
      RequestID: 'r',
      ClientID: 'c',
      Channel: 'q',
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: 1,
    };
    const expected = {
      MessageID: 'my-id',
      ClientID: 'c',
      Channel: 'q',
      Metadata: 'm',
      Body: base64('hello'),
      Tags: { a: 'b' },
      Attributes: { Sequence: 1, MD5OfBody: '5d41402abc4b2a76b9719d911017c592' },
      Policy: { MaxReceiveCount: 3, MaxReceiveQueue: 'dlq' },
    };
    expect((await call('/queue/receive', { ...receive, IsPeak: true })).body.data).toMatchObject({
      RequestID: 'r',
      IsPeak: true,
      Messages: [expected],
    });
    expect((await call('/queue/receive', receive)).body.data).toMatchObject({
      MessagesReceived: 1,
      Messages: [{ ...expected, Attributes: { ReceiveCount: 1 } }],
    });
    const batch = await call('/queue/send_batch', {
      BatchID: 'b',
      Messages: [message(), message({ Channel: '' }), message()],
    });
    expect(batch.body.data).toMatchObject({
      BatchID: 'b',
      HaveErrors: true,
      Results: [{}, { IsError: true, Error: TEXTS.queueName }, {}],
    });
    for (const info of [await call('/queue/info?queue_name=q'), await info1()]) {
      expect(info.body.data).toMatchObject({ Info: { TotalQueue: 1, Queues: [{ Name: 'q', Messages: 2 }] } });
    }
    const acked = await call('/queue/ack_all', { ClientID: 'c', Channel: 'q', WaitTimeSeconds: 1 });
    expect(acked.body.data).toEqual({ AffectedMessages: 2 });
    expect((await call('/queue/receive', receive)).body.data).toEqual({ RequestID: 'r' });
  });

  /** The contract's own way: a body on a GET, which fetch does not send. */
  async function info1(): Promise<Reply> {
    const socket = connect(Number(new URL(server.restUrl).port), '127.0.0.1');
    const body = JSON.stringify({ RequestID: 'i', QueueName: 'q' });
    socket.end(
      `GET /queue/info HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
    );
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await once(socket, 'close');
    return { body: JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) } as Reply;
  }

  it('report faults of messages in the data, and those of the request in the envelope', async () => {
    const fault = await call('/queue/send', message({ Channel: 'a b' }));
    expect(fault).toMatchObject({
      status: 200,
      body: { is_error: false, data: { IsError: true, Error: TEXTS.queueName } },
    });
    for (const [body, text] of [
      ['{"Channel":5}', 'Channel must be text'],
      ['{', 'the body is not valid JSON'],
      ['{"Body":"%"}', 'Body must be base64 text'],
    ]) {
      expect(await call('/queue/send', body)).toMatchObject({
        status: 400,
        body: { is_error: true, message: text, data: null },
      });
    }
    expect(await call('/queue/send_batch', {})).toMatchObject({
      status: 400,
      body: { message: TEXTS.batchEmpty },
    });
  });

  it('give back what a receiver that went away was to get', async () => {
    const gone = new AbortController();
    const receive = { ClientID: 'c', Channel: 'w', MaxNumberOfMessages: 1, WaitTimeSeconds: 60 };
    const waiting = call('/queue/receive', receive, { signal: gone.signal });
    waiting.catch(() => undefined);
    await until(() => server.broker.queueStats('w' as never)?.waiters === 1);
    gone.abort();
    await until(() => server.broker.queueStats('w' as never)?.waiters === 0);
    await call('/queue/send', message({ Channel: 'w' }));
    expect(server.broker.queueStats('w' as never)).toMatchObject({ ready: 1, delivered: 0 });
  });
});

describe('events, commands and queries', () => {
  it('are the same over REST and gRPC', async () => {
    const client = server.client();
    const live = client.listen({ Channel: 'e' });
    const stored = client.subscribe({ Channel: 'e' });
    await until(() => server.broker.live.figures().subscribers === 1);
    const event = { EventID: 'id', ClientId: 'c', Channel: 'e', Body: base64('x'), Tags: { k: 'v' } };
    expect((await call('/send/event', event)).body.data).toEqual({ EventID: 'id', Sent: true });
    expect((await call('/send/event', { ...event, store: true })).body.data).toEqual({
      EventID: 'id',
      Sent: true,
    });
    expect((await live.has(1))[0]).toMatchObject({ EventID: 'id', Tags: { k: 'v' }, Body: Buffer.from('x') });
    expect((await stored.has(1))[0]).toMatchObject({ EventID: 'id', Sequence: '1' });
    expect(await call('/send/event', { ...event, Channel: 'a.*' })).toMatchObject({
      status: 400,
      body: { is_error: true, message: TEXTS.wildcards, data: null },
    });
  });

  it('are asked and answered', async () => {
    const client = server.client();
    const served = client.serve({ Channel: 'q' });
    await until(() => server.broker.live.figures().subscribers === 1);
    const query = { RequestTypeData: 2, ClientID: 'c', Channel: 'q', Body: base64('?'), Timeout: 5000 };
    const asked = call('/send/request', { RequestID: 'mine', ...query });
    const [request] = await served.has(1);
    const answer = await call(
      '/send/response',
      `{"ClientID":"r","RequestID":"mine","ReplyChannel":"${request!.ReplyChannel}","Executed":true,` +
        `"Body":"${base64('!')}","Timestamp":1700000000123456789}`,
    );
    expect(answer.body).toEqual({ is_error: false, message: 'OK', data: null });
    const reply = await asked;
    expect(reply.text).toContain('"Timestamp": 1700000000123456789');
    expect(reply.body.data).toMatchObject({
      RequestID: 'mine',
      ClientID: 'r',
      Executed: true,
      Body: base64('!'),
    });
    expect(await call('/send/request', { ...query, Channel: 'nobody', Timeout: 50 })).toMatchObject({
      status: 400,
      body: { message: TEXTS.requestTimeout },
    });
    const managed = await call('/send/request', {
      ...query,
      Channel: 'kubemq.cluster.internal.requests',
      Metadata: 'nothing',
    });
    expect(managed.body.data).toMatchObject({ Error: OWN_TEXTS.managementUnknown });
  });
});

describe('pages of other origins', () => {
  it('may call, unless the settings say otherwise', async () => {
    const headers = { origin: 'http://page.example' };
    expect((await call('/ping', undefined, { headers })).headers.get('access-control-allow-origin')).toBe(
      '*',
    );
    expect((await call('/ping')).headers.get('access-control-allow-origin')).toBeNull();
    const preflight = await call('/queue/send', undefined, {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-headers': 'authorization' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET,POST');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization');
    await server.stop();
    server = await startNativeServer({
      rest: {
        corsAllowOrigins: 'http://page.example, http://other.example',
        corsAllowCredentials: true,
        corsExposeHeaders: 'Broker',
        corsAllowHeaders: 'X-A',
        corsMaxAge: 60,
      },
    });
    const allowed = await call('/ping', undefined, { method: 'OPTIONS', headers });
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      'access-control-allow-origin': 'http://page.example',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'Broker',
      'access-control-allow-headers': 'X-A',
      'access-control-max-age': '60',
      vary: 'Origin',
    });
    const foreign = await call('/ping', undefined, { headers: { origin: 'http://evil.example' } });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('who asks', () => {
  it('is the client of its token, on REST and WebSockets; ping is open', async () => {
    await server.stop();
    const identity: Identity = {
      required: true,
      known: (token) => (token === 'good' ? 'me' : undefined),
      verify: () => Promise.reject(new BrokerError('unauthenticated', 'no')),
      watch: () => () => undefined,
    };
    server = await startNativeServer({ identity });
    expect((await call('/ping')).status).toBe(200);
    expect(await call('/queue/send', message())).toMatchObject({ status: 401, body: { is_error: true } });
    const bad = { headers: { authorization: 'bad' } };
    expect((await call('/queue/send', message(), bad)).status).toBe(401);
    const good = { headers: { authorization: 'good' } };
    expect((await call('/queue/send', message({ ClientID: 'somebody' }), good)).status).toBe(200);
    const seen = await server.broker.peek('q' as never, 1);
    expect(seen[0]!.message.clientId).toBe('me');
    const path = '/subscribe/events?subscribe_type=events&client_id=c&channel=e';
    const handshake = { connection: 'upgrade', upgrade: 'websocket' };
    const refused = await new Promise<number | undefined>((resolve) => {
      get(server.restUrl + path, { headers: handshake }, (response) => resolve(response.statusCode)).end();
    });
    expect(refused).toBe(401);
  });
});

describe('any body', () => {
  it('is answered with JSON, and never as our fault', async () => {
    const field = fc.constantFrom(
      'ClientID',
      'Channel',
      'Body',
      'Messages',
      'Policy',
      'Timeout',
      'RequestTypeData',
    );
    const request = fc.oneof(
      fc.string({ maxLength: 50 }),
      fc.json(),
      fc
        .dictionary(
          field,
          fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('c', 'q', 'AAAA', 1, 2, [{}])),
        )
        .map((value) => JSON.stringify(value)),
    );
    // Not those that wait.
    const path = fc.constantFrom(
      '/send/event',
      '/send/response',
      '/queue/send',
      '/queue/send_batch',
      '/queue/ack_all',
    );
    await fc.assert(
      fc.asyncProperty(path, request, async (to, body) => {
        const reply = await call(to, body);
        expect([200, 400]).toContain(reply.status);
        expect(typeof reply.body.is_error).toBe('boolean');
      }),
      { numRuns: 150, seed: 20261130 },
    );
  });
});
