import { createServer as createPlain } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { createServer as createTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock, SystemClock } from '../../../base/clock.js';
import type { Clock } from '../../../base/clock.js';
import { parseAllowList } from './allow-list.js';
import type { AllowList } from './allow-list.js';
import { OutgoingHttp } from './http-client.js';
import type { OutgoingPost, PostOutcome } from './http-client.js';

const servers: Server[] = [];
const clients: OutgoingHttp[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function client(options: { clock?: Clock; allow?: string; trusted?: string } = {}): OutgoingHttp {
  const made = new OutgoingHttp({
    clock: options.clock ?? new SystemClock(),
    allow: parseAllowList(options.allow ?? 'loopback') as AllowList,
    connectionsPerHostMax: 4,
    ...(options.trusted !== undefined && { trusted: options.trusted }),
  });
  clients.push(made);
  return made;
}

function post(http: OutgoingHttp, url: string, more: Partial<OutgoingPost> = {}): Promise<PostOutcome> {
  const { signal } = new AbortController();
  return http.post({ url: new URL(url), headers: {}, body: 'x', timeoutMs: 5_000, signal, ...more });
}

const answering =
  (status: number): RequestListener =>
  (request, response) => {
    request.resume().on('end', () => response.writeHead(status).end('done'));
  };

describe('outgoing calls', () => {
  it('give the status, and keep the connection', async () => {
    let connections = 0;
    const server = createPlain(answering(202)).on('connection', () => connections++);
    const port = await listening(server);
    const http = client();
    for (let i = 0; i < 3; i++) {
      expect(await post(http, `http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'answered', status: 202 });
    }
    expect(connections).toBe(1);
  });

  it('go to allowed hosts only, by address and by name', async () => {
    let asked = 0;
    const port = await listening(createPlain(answering(200)).on('request', () => asked++));
    const refused = { kind: 'failed', allowed: false };
    const outside = client({ allow: 'public' });
    expect(await post(outside, `http://127.0.0.1:${port}/`)).toMatchObject(refused);
    expect(await post(outside, `http://localhost:${port}/`)).toMatchObject(refused);
    expect(await post(outside, `http://[::ffff:127.0.0.1]:${port}/`)).toMatchObject(refused);
    expect(asked).toBe(0);
    expect(await post(client({ allow: 'localhost' }), `http://localhost:${port}/`)).toMatchObject({
      status: 200,
    });
  });

  it('over TLS trust whom they are told to trust', async () => {
    const own = await generate([{ name: 'commonName', value: 'localhost' }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    });
    const port = await listening(createTls({ cert: own.cert, key: own.private }, answering(200)));
    const url = `https://127.0.0.1:${port}/`;
    expect(await post(client({ trusted: own.cert }), url)).toMatchObject({ kind: 'answered', status: 200 });
    expect(await post(client(), url)).toMatchObject({ kind: 'failed', allowed: true });
  });

  it('fail when nobody listens, nobody answers in time, or the answer is cut off', async () => {
    const port = await listening(createPlain((request) => request.resume()));
    const clock = new ManualClock();
    const silent = post(client({ clock }), `http://127.0.0.1:${port}/`);
    clock.advance(5_000);
    expect(await silent).toEqual({ kind: 'failed', reason: 'no answer within 5000 ms', allowed: true });
    const cut = await listening(
      createPlain((request, response) => {
        response.writeHead(200, { 'Content-Length': '10' }).write('x', () => request.socket.destroy());
      }),
    );
    expect(await post(client(), `http://127.0.0.1:${cut}/`)).toMatchObject({ kind: 'failed' });
    const [gone] = servers.splice(-1);
    await new Promise((resolve) => gone?.close(resolve));
    expect(await post(client(), `http://127.0.0.1:${cut}/`)).toMatchObject({ reason: 'ECONNREFUSED' });
  });

  it('end at once when told to', async () => {
    const port = await listening(createPlain((request) => request.resume()));
    const abort = new AbortController();
    const call = post(client(), `http://127.0.0.1:${port}/`, { signal: abort.signal });
    setImmediate(() => abort.abort());
    expect(await call).toEqual({ kind: 'aborted' });
    expect(await post(client(), `http://127.0.0.1:${port}/`, { signal: abort.signal })).toEqual({
      kind: 'aborted',
    });
  });

  it('do not read endless answers', async () => {
    const port = await listening(
      createPlain((request, response) => {
        request.resume();
        response.writeHead(200);
        const more = (): void => {
          while (response.write('x'.repeat(16_384)));
          response.once('drain', more);
        };
        more();
      }),
    );
    expect(await post(client(), `http://127.0.0.1:${port}/`)).toMatchObject({
      kind: 'answered',
      status: 200,
    });
  });

  it('try once more when a kept connection had been closed', async () => {
    let requests = 0;
    const server = createPlain((request, response) => {
      requests++;
      // The second request on a connection meets its end.
      if (requests === 2) request.socket.resetAndDestroy();
      else answering(200)(request, response);
    });
    const port = await listening(server);
    const http = client();
    await post(http, `http://127.0.0.1:${port}/`);
    expect(await post(http, `http://127.0.0.1:${port}/`)).toMatchObject({ kind: 'answered', status: 200 });
    expect(requests).toBe(3);
  });
});
