import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ManualClock, SystemClock } from '../../../base/clock.js';
import type { Clock } from '../../../base/clock.js';
import { silentLog } from '../../../base/log.js';
import type { HttpExchange } from './exchange.js';
import { DEFAULT_HTTP_LIMITS } from './limits.js';
import type { HttpLimits } from './limits.js';
import { Http1Server } from './server.js';

const open: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

interface ServeOptions {
  readonly limits?: Partial<HttpLimits>;
  readonly clock?: Clock;
}

/** A server on a free port; `served` are the sockets it got. */
async function serve(
  handle: (exchange: HttpExchange) => void | Promise<void>,
  { limits = {}, clock = new SystemClock() }: ServeOptions = {},
): Promise<{ server: Http1Server; port: number; served: Socket[] }> {
  const server = new Http1Server({
    limits: { ...DEFAULT_HTTP_LIMITS, ...limits },
    clock,
    log: silentLog,
    handle,
    refuseOversize: (exchange) => exchange.reply(413, [], 'too large'),
  });
  const served: Socket[] = [];
  const listener = createServer((socket) => {
    served.push(socket);
    sockets.push(socket);
    server.serve(socket, Buffer.alloc(0));
  });
  return { server, port: await bind(listener), served };
}

function bind(listener: Server): Promise<number> {
  open.push(listener);
  return new Promise((resolve) =>
    listener.listen(0, '127.0.0.1', () => resolve((listener.address() as AddressInfo).port)),
  );
}

class Peer {
  readonly socket: Socket;
  got = '';
  chunks = 0;
  ended = false;
  closed = false;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(this.socket);
    this.socket.on('data', (chunk) => {
      this.got += chunk.toString('latin1');
      this.chunks++;
    });
    this.socket.on('end', () => (this.ended = true));
    this.socket.on('close', () => (this.closed = true));
    this.socket.on('error', () => undefined);
  }

  send(text: string): void {
    this.socket.write(text, 'latin1');
  }

  async sees(text: string): Promise<void> {
    await expect.poll(() => this.got, { interval: 2 }).toContain(text);
  }

  async seesEnd(): Promise<void> {
    await expect.poll(() => this.ended, { interval: 2 }).toBe(true);
  }
}

const echo = (exchange: HttpExchange): void => exchange.reply(200, ['X-Url', exchange.url], exchange.body);
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
const post = (path: string, body: string, fields = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;

describe('HTTP/1.1 server', () => {
  it('writes one answer byte for byte', async () => {
    const clock = new ManualClock(1_700_000_000_999);
    const { port } = await serve((exchange) => exchange.reply(200, ['Content-Type', 'text/plain'], 'häh'), {
      clock,
    });
    const peer = new Peer(port);
    peer.send(get('/'));
    await peer.sees('häh'.slice(2));
    expect(Buffer.from(peer.got, 'latin1').toString('utf8')).toBe(
      'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n' +
        'Connection: keep-alive\r\n\r\nhäh',
    );
  });

  it('answers pipelined requests in their order, those of one turn in one write', async () => {
    const waiting: HttpExchange[] = [];
    const { port } = await serve((exchange) => void waiting.push(exchange));
    const peer = new Peer(port);
    peer.send(get('/0') + post('/1', 'body') + get('/2') + get('/3'));
    await expect.poll(() => waiting.length).toBe(4);
    for (const exchange of waiting.slice(1).reverse()) exchange.reply(200, [], exchange.url);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(peer.got).toBe('');
    waiting[0]?.reply(200, [], Buffer.from(waiting[0].url));
    await peer.sees('\r\n\r\n/3');
    expect(peer.got.match(/\r\n\r\n\/\d/g)).toEqual(['/0', '/1', '/2', '/3'].map((url) => `\r\n\r\n${url}`));
    expect(peer.chunks).toBe(1);
  });

  it('answers what is pipelined before malformed bytes, then refuses and ends', async () => {
    let first: HttpExchange | undefined;
    const { server, port } = await serve((exchange) => void (first = exchange));
    const peer = new Peer(port);
    peer.send(`${get('/0')}garbage\r\n\r\n`);
    await expect.poll(() => server.badRequests).toBe(1);
    first?.reply(200, [], 'good');
    await peer.seesEnd();
    expect(peer.got).toMatch(
      /^HTTP\/1\.1 200 OK[^]*keep-alive\r\n\r\ngoodHTTP\/1\.1 400 Bad Request[^]*close\r\n\r\n$/,
    );
  });

  it('takes no more pipelined requests than it may, and goes on when they are answered', async () => {
    const waiting: HttpExchange[] = [];
    const { port } = await serve((exchange) => void waiting.push(exchange), { limits: { pipelinedMax: 4 } });
    const peer = new Peer(port);
    peer.send(Array.from({ length: 10 }, (_, i) => get(`/${i}`)).join(''));
    await expect.poll(() => waiting.length).toBe(4);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(waiting).toHaveLength(4);
    for (let i = 0; i < 10; i++) {
      await expect.poll(() => waiting.length).toBeGreaterThan(i);
      waiting[i]?.reply(200, [], `<${i}>`);
    }
    await peer.sees('<9>');
    expect(peer.got.match(/<\d>/g)).toHaveLength(10);
  });

  it('counts the bytes of pipelined bodies', async () => {
    const waiting: HttpExchange[] = [];
    const { port } = await serve((exchange) => void waiting.push(exchange), {
      limits: { pipelinedBytesMax: 100 },
    });
    const peer = new Peer(port);
    peer.send(post('/', 'x'.repeat(60)).repeat(5));
    await expect.poll(() => waiting.length).toBe(2);
    waiting[0]?.reply(200, [], '');
    await expect.poll(() => waiting.length).toBe(3);
  });

  it('does not read from a peer that does not read its answers, and gives it up in time', async () => {
    const clock = new ManualClock();
    const big = Buffer.alloc(1_000_000, 'x');
    const { server, port, served } = await serve((exchange) => exchange.reply(200, [], big), {
      clock,
      limits: { unsentBytesMax: 500_000 },
    });
    const peer = new Peer(port);
    peer.socket.pause();
    peer.send(get('/').repeat(1_000));
    await expect.poll(() => served[0]?.isPaused()).toBe(true);
    const { requests } = server;
    expect(requests).toBeLessThan(50);
    peer.socket.resume();
    await expect.poll(() => server.requests).toBeGreaterThan(requests);
    peer.socket.pause();
    await expect.poll(() => (served[0]?.writableLength ?? 0) > 500_000).toBe(true);
    clock.advance(DEFAULT_HTTP_LIMITS.unsentTimeoutMs + 1_000);
    expect(served[0]?.destroyed).toBe(true);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  it('answers Expect: 100-continue when the body is waited for, in its turn', async () => {
    const waiting: HttpExchange[] = [];
    const { port } = await serve((exchange) => void waiting.push(exchange));
    const peer = new Peer(port);
    peer.send(get('/0') + 'POST /1 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.reply(200, [], 'first');
    await peer.sees('firstHTTP/1.1 100 Continue\r\n\r\n');
    peer.send('ok');
    await expect.poll(() => waiting.length).toBe(2);
    expect(waiting[1]?.body.toString()).toBe('ok');
    waiting[1]?.reply(200, [], 'second');
    await peer.sees('second');
  });

  it('knows HTTP/1.0, Connection: close and HEAD', async () => {
    const { port } = await serve(echo);
    const old = new Peer(port);
    old.send('GET /old HTTP/1.0\r\n\r\n');
    await old.seesEnd();
    expect(old.got).toContain('Connection: close');
    const kept = new Peer(port);
    kept.send('GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    await kept.sees('Connection: keep-alive');
    kept.send('HEAD /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi');
    await kept.sees('X-Url: /b\r\nContent-Length: 2\r\n');
    expect(kept.got.endsWith('\r\n\r\n')).toBe(true);
    kept.send(post('/c', 'x', 'Connection: close\r\n') + get('/never'));
    await kept.seesEnd();
    expect(kept.got).not.toContain('/never');
  });

  it('sends no body with statuses that have none', async () => {
    const { port } = await serve((exchange) =>
      exchange.reply(exchange.url === '/204' ? 204 : 304, [], 'none'),
    );
    const peer = new Peer(port);
    peer.send(get('/204') + get('/304') + get('/304'));
    await expect.poll(() => peer.got.split('HTTP/1.1 ').length, { interval: 2 }).toBe(4);
    await expect.poll(() => peer.got.endsWith('\r\n\r\n')).toBe(true);
    expect(peer.got).not.toContain('none');
    expect(peer.got).not.toContain('Content-Length');
  });

  it('lets peers that closed their side have their answers, and tells those that wait', async () => {
    const waiting: HttpExchange[] = [];
    let gone = 0;
    const { port } = await serve((exchange) => {
      waiting.push(exchange);
      if (exchange.url === '/poll') exchange.onPeerGone(() => gone++);
    });
    const peer = new Peer(port);
    peer.socket.end(get('/poll') + get('/send'));
    await expect.poll(() => gone).toBe(1);
    for (const exchange of waiting) exchange.reply(200, [], exchange.url);
    await peer.seesEnd();
    expect(peer.got).toContain('/poll');
    expect(peer.got).toContain('/send');
    const late = new Peer(port);
    late.socket.end(get('/late'));
    await expect.poll(() => waiting.length).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 20));
    waiting[2]?.onPeerGone(() => gone++);
    expect(gone).toBe(2);
  });

  it('answers once, and nothing to a peer that is gone', async () => {
    let exchange: HttpExchange | undefined;
    const { port, served } = await serve((one) => void (exchange = one));
    const peer = new Peer(port);
    peer.send(get('/'));
    await expect.poll(() => exchange).toBeDefined();
    exchange?.reply(200, [], 'one');
    exchange?.reply(200, [], 'two');
    await peer.sees('one');
    peer.send(get('/again'));
    await expect.poll(() => exchange?.url).toBe('/again');
    peer.socket.resetAndDestroy();
    await expect.poll(() => served[0]?.destroyed).toBe(true);
    exchange?.reply(200, [], 'three');
    expect(exchange?.answered).toBe(false);
  });

  it('refuses headers that would break the answer', async () => {
    const { port } = await serve((exchange) => exchange.reply(200, ['X', 'a\r\nSet-Cookie: b'], ''));
    const peer = new Peer(port);
    peer.send(get('/'));
    await peer.sees('500 Internal Server Error');
    expect(peer.got).not.toContain('Cookie');
  });

  it('serves a socket that others read from first', async () => {
    const { server } = await serve(echo);
    const port = await bind(
      createServer((socket) => {
        sockets.push(socket);
        socket.once('readable', () => {
          const head = socket.read(7) as Buffer;
          server.serve(socket, head);
        });
      }),
    );
    const peer = new Peer(port);
    peer.send(post('/sniffed', 'hello'));
    await peer.sees('hello');
    peer.send(post('/again', 'world'));
    await peer.sees('world');
  });
});

describe('HTTP/1.1 server timeouts', () => {
  const limits = { headersTimeoutMs: 10_000, requestTimeoutMs: 60_000, keepAliveTimeoutMs: 75_000 };

  it('cuts slow heads, slow bodies and idle peers, each at its time, not those that wait', async () => {
    const clock = new ManualClock();
    let polls = 0;
    const { server, port, served } = await serve(
      (exchange) => {
        if (exchange.url === '/poll') polls++;
        else exchange.reply(200, [], 'ok');
      },
      { clock, limits },
    );
    const [silent, head, body, idle, poll] = Array.from({ length: 5 }, () => new Peer(port)) as [
      Peer,
      Peer,
      Peer,
      Peer,
      Peer,
    ];
    head.send('GET / HTTP/1.1\r\nHo');
    body.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhal');
    idle.send(get('/'));
    poll.send(get('/poll'));
    await idle.sees('ok');
    await expect.poll(() => polls).toBe(1);
    await expect.poll(() => served.reduce((sum, socket) => sum + socket.bytesRead, 0)).toBeGreaterThan(100);
    await expect
      .poll(() => served.every((socket) => socket.bytesRead > 0 || socket === served[0]))
      .toBe(true);
    clock.advance(9_500);
    expect(
      [silent, head, body, idle, poll].map((peer) => peer.got.includes('408') || peer.ended),
    ).not.toContain(true);
    clock.advance(1_000);
    await head.sees('408 Request Timeout');
    await silent.seesEnd();
    expect(silent.got).toBe('');
    clock.advance(50_000);
    await body.sees('408 Request Timeout');
    expect(idle.ended).toBe(false);
    clock.advance(15_000);
    await idle.seesEnd();
    clock.advance(3_600_000);
    expect(poll.ended).toBe(false);
    expect(server.badRequests).toBe(2);
    poll.socket.resetAndDestroy();
    await expect.poll(() => clock.pending).toBe(0);
  });

  it('ends an idle connection once, whatever time goes by before the peer is seen to close', async () => {
    const clock = new ManualClock();
    const { port, served } = await serve(echo, { clock, limits });
    const peer = new Peer(port);
    peer.send(get('/'));
    await peer.sees('200 OK');
    const [socket] = served as [Socket];
    const ends = vi.spyOn(socket, 'destroySoon');
    // All in one turn: nothing the socket has to say gets in between.
    clock.advance(2 * limits.keepAliveTimeoutMs);
    expect(ends).toHaveBeenCalledTimes(1);
    expect(socket.listenerCount('finish')).toBeLessThan(5);
    await peer.seesEnd();
  });

  it('reads what came while the process stood still before it ends anybody for being late', async () => {
    let now = 0;
    let ring: (() => void) | undefined;
    const clock: Clock = {
      now: () => now,
      after: (_ms, run) => {
        ring = run;
        return { cancel: () => undefined };
      },
    };
    const { port, served } = await serve(echo, { clock, limits });
    const [sends, silent] = [new Peer(port), new Peer(port)];
    for (const peer of [sends, silent]) {
      peer.send(get('/'));
      await peer.sees('200 OK');
    }
    expect(served).toHaveLength(2);
    sends.send(get('/again'));
    // All in one turn: the request is on its way when the timer rings, far too late.
    now += limits.keepAliveTimeoutMs + 10_000;
    ring?.();
    await sends.sees('/again');
    await silent.seesEnd();
    expect(sends.ended).toBe(false);
  });

  it('gives up an idle peer that takes no more', async () => {
    const clock = new ManualClock();
    const { port, served } = await serve(echo, { clock, limits });
    const peer = new Peer(port);
    peer.send(get('/'));
    await peer.sees('200 OK');
    const [socket] = served as [Socket];
    // As when the peer's window is shut: the end of the stream cannot be written.
    vi.spyOn(socket, 'destroySoon').mockImplementation(() => undefined);
    clock.advance(limits.keepAliveTimeoutMs + 1_000);
    expect(socket.destroyed).toBe(false);
    clock.advance(DEFAULT_HTTP_LIMITS.unsentTimeoutMs + 1_000);
    expect(socket.destroyed).toBe(true);
  });

  it('lets a refused peer send on for a while, then closes', async () => {
    const clock = new ManualClock();
    const { port, served } = await serve(echo, { clock, limits: { bodyBytesMax: 100 } });
    const peer = new Peer(port);
    peer.send(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(500)}`);
    await peer.sees('too large');
    await peer.seesEnd();
    peer.send('x'.repeat(100_000));
    expect(served[0]?.destroyed).toBe(false);
    clock.advance(DEFAULT_HTTP_LIMITS.lingerTimeoutMs + 1_000);
    expect(served[0]?.destroyed).toBe(true);
  });

  it('costs one timer, however many peers wait', async () => {
    const clock = new ManualClock();
    const { server, port } = await serve(() => undefined, { clock });
    const peers = Array.from({ length: 200 }, () => new Peer(port));
    for (const peer of peers) peer.send(get('/'));
    await expect.poll(() => server.requests).toBe(200);
    expect(clock.pending).toBe(1);
  });
});

describe('HTTP/1.1 server and node:http', () => {
  it('understand the same of well-formed requests', async () => {
    const told = (method: string, url: string, headers: unknown, body: string): string =>
      JSON.stringify({ method, url, headers, body });
    const ours = await serve((exchange) => {
      const { method, url, headers, body } = exchange;
      exchange.reply(200, [], told(method, url, { ...headers }, body.toString('latin1')));
    });
    const node = createHttpServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const text = told(method, url, headers, Buffer.concat(chunks).toString('latin1'));
        response.writeHead(200, ['Content-Length', String(Buffer.byteLength(text))]);
        response.end(text);
      });
    });
    const ports = [ours.port, await bind(node)];
    const requests = [
      get('/'),
      get('/a%20b?c=d&e=%ff#f'),
      post('/', 'x'.repeat(70_000)),
      post('/', 'a\0b\r\n\r\n', 'X-Empty:\r\nX-Blank: \t \r\nX-Inner: a \t b \r\nX-Latin: \u00e9\r\n'),
      post('/', '', 'X-Two: a\r\nX-Two: b\r\nCookie: a=1\r\nCookie: b=2\r\n'),
      'OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n',
      "\r\nDELETE /x HTTP/1.1\r\nhOsT:h\r\n!#$%&'*+-.^_`|~0: token\r\n\r\n",
      'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: CHUNKED\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n',
      'PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n000\r\n\r\n',
    ];
    for (const request of requests) {
      const answers = [];
      for (const port of ports) {
        const peer = new Peer(port);
        peer.send(request);
        await expect.poll(() => peer.got, { interval: 2 }).toMatch(/\r\n\r\n\{.*\}$/);
        answers.push(peer.got.slice(peer.got.indexOf('\r\n\r\n') + 4));
        peer.socket.destroy();
      }
      expect(answers[0]).toBe(answers[1]);
    }
  });
});

describe('upgrade', () => {
  it('gives the socket away with what came behind the request, and is no affair of the server any more', async () => {
    const taken: { readonly socket: Socket; readonly rest: string }[] = [];
    const { server, port } = await serve((exchange) => {
      const detached = exchange.upgrade();
      if (detached === undefined) return;
      expect(exchange.upgrade()).toBeUndefined();
      taken.push({ socket: detached.socket, rest: detached.rest.toString() });
      detached.socket.on('data', (chunk: Buffer) => detached.socket.write(`echo ${chunk.toString()}`));
      detached.socket.write('taken ');
    });
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let got = '';
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()));
    socket.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nbehind');
    while (got === '') await new Promise((resolve) => setTimeout(resolve, 1));
    expect(taken[0]?.rest).toBe('behind');
    socket.write('hello');
    while (!got.includes('hello')) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(got).toBe('taken echo hello');
    expect(server.requests).toBe(1);
  });

  it('is not given while others wait for their answers', async () => {
    const exchanges: HttpExchange[] = [];
    const { port } = await serve((exchange) => void exchanges.push(exchange));
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n');
    while (exchanges.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(exchanges.map((exchange) => exchange.upgrade())).toEqual([undefined, undefined]);
  });
});
