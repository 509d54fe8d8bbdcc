import { connect } from 'node:net';
import { request, Agent } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { DEFAULT_HTTP_LIMITS, HttpListener } from './http-listener.js';
import type { HttpExchange, HttpLimits } from './http-listener.js';

const open: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.stop();
});

async function listen(
  handle: (exchange: HttpExchange) => void | Promise<void>,
  limits: Partial<HttpLimits> = {},
): Promise<{ listener: HttpListener; port: number }> {
  const listener = new HttpListener({
    host: '127.0.0.1',
    port: 0,
    limits: { ...DEFAULT_HTTP_LIMITS, ...limits },
    clock: new SystemClock(),
    log: silentLog,
    handle,
    refuseOversize: (exchange) => exchange.reply(413, [], 'too large'),
  });
  open.push(listener);
  return { listener, port: (await listener.start()).port };
}

const echo = (exchange: HttpExchange): void => exchange.reply(200, ['X-Url', exchange.url], exchange.body);

interface Answer {
  readonly status: number;
  readonly connection: string | undefined;
  readonly body: string;
}

function post(port: number, body: string | Buffer, agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method: 'POST', path: '/a?b=c', ...(agent && { agent }) };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          connection: response.headers.connection,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Everything a peer answers to raw bytes until it closes. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let got = '';
    socket.on('data', (chunk) => (got += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(got));
  });
}

describe('HTTP listener', () => {
  it('answers whole requests on a kept-alive connection', async () => {
    const { listener, port } = await listen(echo);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await post(port, 'one', agent)).toMatchObject({
      status: 200,
      body: 'one',
      connection: 'keep-alive',
    });
    expect(await post(port, Buffer.alloc(300_000, 'x'), agent)).toMatchObject({ body: 'x'.repeat(300_000) });
    expect(listener.connections).toBe(1);
    expect(listener.requests).toBe(2);
    agent.destroy();
  });

  it('answers a failing handler with 500', async () => {
    const { port } = await listen(() => Promise.reject(new Error('no')));
    expect((await post(port, '')).status).toBe(500);
    const other = await listen(() => {
      throw new Error('no');
    });
    expect((await post(other.port, '')).status).toBe(500);
  });

  it('refuses bodies over the limit and goes on serving', async () => {
    const { port } = await listen(echo, { bodyBytesMax: 1_000 });
    expect(await post(port, 'x'.repeat(1_000))).toMatchObject({ status: 200 });
    expect(await post(port, 'x'.repeat(1_001))).toMatchObject({
      status: 413,
      body: 'too large',
      connection: 'close',
    });
    const endless = `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n${'x'.repeat(10_000)}`;
    expect(await raw(port, endless)).toContain('413');
    expect(await post(port, 'again')).toMatchObject({ status: 200, body: 'again' });
  });

  it.each([
    ['garbage', '\u0000\u0001\u0002 garbage\r\n\r\n', '400'],
    ['another protocol', 'AMQP\u0000\u0000\u0009\u0001', '400'],
    ['endless headers', `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, '431'],
    ['a bad length', 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n', '400'],
  ])('refuses %s', async (_name, bytes, status) => {
    const { port } = await listen(echo);
    expect(await raw(port, bytes)).toContain(`HTTP/1.1 ${status}`);
    expect((await post(port, 'fine')).status).toBe(200);
  });

  it('cuts peers that send too slowly, not those that wait for an answer', async () => {
    let answer: (() => void) | undefined;
    const { port } = await listen(
      (exchange) => {
        answer = () => exchange.reply(200, [], 'late');
      },
      { headersTimeoutMs: 200, requestTimeoutMs: 200 },
    );
    const waiting = post(port, 'x');
    expect(await raw(port, 'POST / HTTP/1.1\r\nHost: h\r\n')).toContain('408');
    expect(await raw(port, 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf')).toContain('408');
    answer?.();
    expect(await waiting).toMatchObject({ status: 200, body: 'late' });
  });

  it('closes connections over the limit', async () => {
    const { listener, port } = await listen(echo, { connectionsMax: 1 });
    const agent = new Agent({ keepAlive: true });
    await post(port, 'x', agent);
    expect(await raw(port, 'GET / HTTP/1.1\r\n\r\n')).toBe('');
    expect(listener.refusedConnections).toBe(1);
    agent.destroy();
  });

  it('survives peers that reset in the middle of a body', async () => {
    const { listener, port } = await listen(echo);
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf'),
    );
    await expect.poll(() => listener.connections).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => listener.connections).toBe(0);
    expect(await post(port, 'fine')).toMatchObject({ status: 200, body: 'fine' });
  });

  it('says when the peer is gone', async () => {
    const gone = new Promise<void>((resolve) => {
      void listen((exchange) => exchange.onPeerGone(resolve)).then(({ port }) => {
        const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n'));
        setTimeout(() => socket.destroy(), 50);
      });
    });
    await gone;
  });

  it('drains: running calls end, connections close, new ones are refused', async () => {
    let arrived: (() => void) | undefined;
    const inside = new Promise<void>((resolve) => (arrived = resolve));
    let answer: (() => void) | undefined;
    const { listener, port } = await listen((exchange) => {
      answer = () => exchange.reply(200, [], 'done');
      arrived?.();
    });
    const running = post(port, 'x', new Agent({ keepAlive: true }));
    await inside;
    const drained = listener.drain(5_000);
    await expect(post(port, 'late')).rejects.toThrow();
    answer?.();
    expect(await running).toMatchObject({ status: 200, body: 'done' });
    await drained;
    expect(listener.connections).toBe(0);
    await listener.drain(5_000);
    await listener.stop();
    await listener.stop();
  });

  it('ends a drain at the grace time and cuts what is left on stop', async () => {
    let arrived: (() => void) | undefined;
    const inside = new Promise<void>((resolve) => (arrived = resolve));
    const { listener, port } = await listen(() => arrived?.());
    const running = post(port, 'x');
    await inside;
    await listener.drain(20);
    await Promise.all([expect(running).rejects.toThrow(), listener.stop()]);
    expect(listener.connections).toBe(0);
  });
});
