import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../../base/clock.js';
import { silentLog } from '../../../base/log.js';
import { createGrpcListener, type GrpcListener, type GrpcListenerOptions } from '../grpc.js';
import type { MethodDefinition } from '../grpc-service.js';
import { status } from '../grpc-status.js';
import { encodeFrame, encodeSettings } from '../http2/frames.js';
import { encodeHeaders } from '../http2/hpack-encoder.js';
import { PREFACE } from '../http2/protocol.js';
import type { BidiCall, ServerStreamCall, UnaryCall } from './handlers.js';

const bytes = { encode: (value: Uint8Array) => value, decode: (value: Uint8Array) => value };
const number = {
  encode: (value: Uint8Array) => value,
  decode: (value: Uint8Array): number => {
    if (value.length !== 1) throw new RangeError('not one byte');
    return value[0] ?? 0;
  },
};
const room = Buffer.alloc(100_000);
/** Encodes everything into the same memory. */
const lending = {
  ...bytes,
  lend: (value: Uint8Array) => {
    room.set(value);
    return room.subarray(0, value.length);
  },
};
const define = (
  name: string,
  kind: MethodDefinition['kind'],
  { request = bytes, response = bytes }: Partial<Pick<MethodDefinition, 'request' | 'response'>> = {},
) => ({
  [name]: { path: `/t.T/${name}`, kind, request, response },
});

type Bytes = Uint8Array;
interface Handlers {
  echo?: (call: UnaryCall<Bytes, Bytes>) => void;
  strict?: (call: UnaryCall<number, Bytes>) => void;
  list?: (call: ServerStreamCall<Bytes, Bytes>) => void;
  lend?: (call: ServerStreamCall<Bytes, Bytes>) => void;
  talk?: (call: BidiCall<Bytes, Bytes>) => void;
}

let listener: GrpcListener;
let port: number;
const opened: { close(): void }[] = [];

async function serve(handlers: Handlers, more: Partial<GrpcListenerOptions> = {}): Promise<void> {
  listener = createGrpcListener({
    host: '127.0.0.1',
    port: 0,
    maxReceiveBytes: 1_000_000,
    clock: new SystemClock(),
    log: silentLog,
    ...more,
  });
  const service = {
    ...define('echo', 'unary'),
    ...define('strict', 'unary', { request: number }),
    ...define('lend', 'server-stream', { response: lending }),
    ...define('list', 'server-stream'),
    ...define('talk', 'bidi'),
    ...define('nobody', 'unary'),
  };
  listener.server.addService(service, {
    echo: (call: UnaryCall<Bytes, Bytes>) => call.reply(call.request),
    ...handlers,
  });
  port = await listener.listen();
}

afterEach(async () => {
  for (const one of opened.splice(0)) one.close();
  await listener.stop();
});

function client(): Client {
  const one = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  opened.push(one);
  return one;
}

function session(): ClientHttp2Session {
  const one = connectHttp2(`http://127.0.0.1:${port}`);
  one.on('error', () => undefined);
  opened.push(one);
  return one;
}

const same = (value: Buffer): Buffer => value;

function unary(method: string, request: Buffer, options: object = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client().makeUnaryRequest(`/t.T/${method}`, same, same, request, options, (error, reply) => {
      if (error === null) resolve(reply ?? Buffer.alloc(0));
      else reject(error);
    });
  });
}

/** A message as it lies in a body. */
function message(body: Buffer, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

interface Answer {
  readonly http: number;
  readonly grpc: string | undefined;
  readonly text: string | undefined;
  readonly body: Buffer;
}

async function answer(stream: ClientHttp2Stream): Promise<Answer> {
  const chunks: Buffer[] = [];
  let headers: Record<string, unknown> = {};
  stream.on('response', (fields) => (headers = { ...headers, ...fields }));
  stream.on('trailers', (fields) => (headers = { ...headers, ...fields }));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => undefined);
  await once(stream, 'close');
  return {
    http: Number(headers[':status']),
    grpc: headers['grpc-status'] as string | undefined,
    text: headers['grpc-message'] as string | undefined,
    body: Buffer.concat(chunks),
  };
}

const post = (over: ClientHttp2Session, method: string, more: object = {}): ClientHttp2Stream =>
  over.request({
    ':method': 'POST',
    ':path': `/t.T/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  });

describe('unary calls', () => {
  it('carry messages of every size, cut anywhere', async () => {
    await serve({});
    for (const size of [0, 1, 16_379, 16_380, 65_536, 300_000, 1_000_000]) {
      expect((await unary('echo', Buffer.alloc(size, 'x'))).equals(Buffer.alloc(size, 'x')), `${size}`).toBe(
        true,
      );
    }
    const body = message(Buffer.from('hello'));
    const stream = post(session(), 'echo');
    for (const byte of body) stream.write(Buffer.from([byte]));
    stream.end();
    expect(await answer(stream)).toMatchObject({ http: 200, grpc: '0', body });
  });

  it('end with status and trailers', async () => {
    const details = Buffer.from([0, 1, 255]);
    await serve({
      echo: (call) =>
        call.fail({
          code: status.NOT_FOUND,
          details: 'nö: 100 %\n',
          trailers: [['grpc-status-details-bin', details]],
        }),
    });
    const error = await unary('echo', Buffer.alloc(1)).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 5, details: 'nö: 100 %\n' });
    expect((error as { metadata: Metadata }).metadata.get('grpc-status-details-bin')).toEqual([details]);
  });

  it('tell their metadata', async () => {
    await serve({ echo: (call) => call.reply(Buffer.from(call.metadata.get('x-key') ?? 'none')) });
    const metadata = new Metadata();
    metadata.set('x-key', 'value');
    const reply = await new Promise((resolve) => {
      client().makeUnaryRequest('/t.T/echo', same, same, Buffer.alloc(0), metadata, (_, got) => resolve(got));
    });
    expect(String(reply)).toBe('value');
  });

  it('are refused with the status that says why', async () => {
    await serve({ strict: (call) => call.reply(Buffer.alloc(1)) });
    await expect(unary('strict', Buffer.alloc(2))).rejects.toMatchObject({ code: status.INTERNAL });
    await expect(unary('nobody', Buffer.alloc(2))).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    await expect(unary('unknown', Buffer.alloc(2))).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    await expect(unary('echo', Buffer.alloc(1_000_001))).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
    const over = session();
    const send = (more: object, body: Buffer): Promise<Answer> => {
      const stream = post(over, 'echo', more);
      const got = answer(stream);
      stream.end(body);
      return got;
    };
    const two = Buffer.concat([message(Buffer.alloc(1)), message(Buffer.alloc(1))]);
    expect(await send({}, two)).toMatchObject({ grpc: '12' });
    expect(await send({}, message(Buffer.alloc(9)).subarray(0, 7))).toMatchObject({ grpc: '13' });
    expect(await send({}, Buffer.alloc(0))).toMatchObject({ grpc: '13' });
    expect(await send({}, message(Buffer.alloc(1), 7))).toMatchObject({ grpc: '13' });
    expect(await send({}, message(Buffer.alloc(1), 1))).toMatchObject({ grpc: '13' });
    expect(await send({ 'grpc-encoding': 'snappy' }, message(Buffer.alloc(1)))).toMatchObject({ grpc: '12' });
    expect(await send({ 'grpc-timeout': 'soon' }, message(Buffer.alloc(1)))).toMatchObject({ grpc: '13' });
    expect(await send({ 'content-type': 'text/html' }, Buffer.from('hello'))).toMatchObject({ http: 415 });
    expect(await send({ 'x-large': 'x'.repeat(40_000) }, message(Buffer.alloc(1)))).toMatchObject({
      grpc: '8',
    });
    expect(await send({}, message(Buffer.from('fine')))).toMatchObject({ grpc: '0' });
  });

  it('take gzip, but nothing that grows above the limit', async () => {
    await serve({});
    const over = session();
    const send = (body: Buffer): Promise<Answer> => {
      const stream = post(over, 'echo', { 'grpc-encoding': 'gzip' });
      const got = answer(stream);
      stream.end(message(body, 1));
      return got;
    };
    const body = Buffer.alloc(100_000, 'gzip');
    expect(await send(gzipSync(body))).toMatchObject({ grpc: '0', body: message(body) });
    expect(await send(gzipSync(Buffer.alloc(5_000_000)))).toMatchObject({ grpc: '8' });
    expect(await send(Buffer.from('no gzip'))).toMatchObject({ grpc: '13' });
  });

  it('end at their deadline and tell the handler; an answer that comes later is dropped', async () => {
    let late: (() => void) | undefined;
    const cancelled = new Promise<void>((resolve) => {
      void serve({
        echo: (call) => {
          late = () => call.reply(call.request);
          call.on('cancelled', resolve);
        },
      }).then(() => {
        const stream = post(session(), 'echo', { 'grpc-timeout': '20m' });
        ended = answer(stream);
        stream.end(message(Buffer.alloc(1)));
      });
    });
    let ended: Promise<Answer> | undefined;
    await cancelled;
    expect(await ended).toMatchObject({ http: 200, grpc: '4' });
    late?.();
  });

  it('survive handlers that throw', async () => {
    await serve({
      echo: () => {
        throw new Error('secret');
      },
    });
    await expect(unary('echo', Buffer.alloc(1))).rejects.toMatchObject({
      code: 13,
      details: 'Internal error',
    });
  });
});

describe('streams', () => {
  it('keep order and contents under flow control, both ways', async () => {
    await serve({
      talk: (call) => {
        call.on('data', (one) => {
          if (call.write(one)) return;
          call.pause();
          call.on('drain', () => call.resume());
        });
        call.on('end', () => call.end());
      },
    });
    const stream = client().makeBidiStreamRequest<Buffer, Buffer>('/t.T/talk', same, same);
    const got: number[] = [];
    stream.on('data', (one: Buffer) => {
      expect(one.every((byte) => byte === one[0])).toBe(true);
      got.push(one[0] ?? -1);
    });
    for (let turn = 0; turn < 200; turn++) stream.write(Buffer.alloc(1 + ((turn * 7919) % 90_000), turn));
    stream.end();
    const [end] = (await once(stream, 'status')) as [{ code: number }];
    expect(end.code).toBe(0);
    expect(got).toEqual(Array.from({ length: 200 }, (_, turn) => turn));
  });

  it('keep what was encoded into memory that the next message is encoded into, too', async () => {
    await serve({
      lend: (call) => {
        const first = call.request[0] ?? 0;
        for (let turn = 0; turn < 30; turn++) {
          call.write(Buffer.alloc(1 + ((turn * 7919) % 90_000), first + turn));
        }
        call.end();
      },
    });
    const one = client();
    const read = async (first: number): Promise<void> => {
      const stream = one.makeServerStreamRequest<Buffer, Buffer>('/t.T/lend', same, same, Buffer.of(first));
      let turn = 0;
      stream.on('data', (message: Buffer) => {
        expect(message.equals(Buffer.alloc(1 + ((turn * 7919) % 90_000), first + turn))).toBe(true);
        turn++;
      });
      const [end] = (await once(stream, 'status')) as [{ code: number }];
      expect([end.code, turn]).toEqual([0, 30]);
    };
    await Promise.all([read(0), read(50), read(100)]);
  });

  it('of a reader that does not read hold little, and accept what is taken only', async () => {
    let accepted = 0;
    let call: ServerStreamCall<Bytes, Bytes> | undefined;
    const over = new Promise<void>((resolve) => {
      void serve({
        list: (opened) => {
          call = opened;
          opened.on('close', resolve);
          for (let turn = 0; turn < 100; turn++) {
            if (!opened.write(Buffer.alloc(10_000), () => accepted++)) break;
          }
        },
      }).then(() => {
        const stream = client().makeServerStreamRequest<Buffer, Buffer>(
          '/t.T/list',
          same,
          same,
          Buffer.alloc(1),
        );
        stream.on('error', () => undefined);
        setTimeout(() => stream.cancel(), 150);
      });
    });
    await over;
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThan(40);
    expect(call?.write(Buffer.alloc(1))).toBe(false);
  });

  it('stop a sender that is not wanted', async () => {
    let received = 0;
    let call: BidiCall<Bytes, Bytes> | undefined;
    await serve({
      talk: (opened) => {
        call = opened;
        opened.pause();
        opened.on('data', () => received++);
        opened.on('end', () => opened.end());
      },
    });
    const stream = client().makeBidiStreamRequest<Buffer, Buffer>('/t.T/talk', same, same);
    stream.on('data', () => undefined);
    let written = 0;
    for (let turn = 0; turn < 80; turn++) stream.write(Buffer.alloc(100_000), () => written++);
    stream.end();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(received).toBe(0);
    expect(written).toBeLessThan(80);
    call?.resume();
    await once(stream, 'status');
    expect(received).toBe(80);
  });
});

describe('a connection', () => {
  const headers = encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/t.T/echo'],
    ['content-type', 'application/grpc'],
  ]);

  async function raw(): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    opened.push({ close: () => socket.destroy() });
    await once(socket, 'connect');
    socket.write(Buffer.concat([PREFACE, encodeSettings([])]));
    return socket;
  }

  /** Reads until the other side closes; the code of its last GOAWAY. */
  async function goaway(socket: Socket): Promise<number> {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'close');
    const all = Buffer.concat(chunks);
    for (let at = 0, code = -1; ; at += 9 + all.readUIntBE(at, 3)) {
      if (at + 9 > all.length) return code;
      if (all[at + 3] === 7) code = all.readUInt32BE(at + 13);
    }
  }

  it.each([
    [
      'resets',
      (id: number) => [
        encodeFrame({ type: 1, flags: 4, streamId: id }, headers),
        encodeFrame({ type: 3, flags: 0, streamId: id }, Buffer.alloc(4)),
      ],
    ],
    ['pings', () => [encodeFrame({ type: 6, flags: 0, streamId: 0 }, Buffer.alloc(8))]],
    ['settings', () => [encodeSettings([])]],
    [
      'empty data',
      (id: number) =>
        id === 1
          ? [encodeFrame({ type: 1, flags: 4, streamId: 1 }, headers)]
          : [encodeFrame({ type: 0, flags: 0, streamId: 1 }, Buffer.alloc(0))],
    ],
  ])('ends when flooded with %s', async (_, frames) => {
    await serve({});
    const socket = await raw();
    const code = goaway(socket);
    socket.write(Buffer.concat(Array.from({ length: 15_000 }, (__, turn) => frames(turn * 2 + 1)).flat()));
    expect(await code).toBe(11);
    expect((await unary('echo', Buffer.from('fine'))).toString()).toBe('fine');
  });

  it('ends when a header block has no end', async () => {
    await serve({});
    const socket = await raw();
    const code = goaway(socket);
    socket.write(encodeFrame({ type: 1, flags: 0, streamId: 1 }, headers));
    for (let turn = 0; turn < 100; turn++)
      socket.write(encodeFrame({ type: 9, flags: 0, streamId: 1 }, Buffer.alloc(100)));
    expect(await code).toBe(11);
  });

  it('serves what was sent before the peer knew of the drain', async () => {
    await serve({});
    const socket = await raw();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const drained = listener.drain(5_000);
    socket.write(encodeFrame({ type: 1, flags: 4, streamId: 1 }, headers));
    socket.write(encodeFrame({ type: 0, flags: 1, streamId: 1 }, message(Buffer.from('late but fine'))));
    await drained;
    expect(Buffer.concat(chunks).includes('late but fine')).toBe(true);
  });

  it('that begins as HTTP/1 is refused, or given to who serves it', async () => {
    await serve({});
    await expect(fetch(`http://127.0.0.1:${port}/`)).resolves.toMatchObject({ status: 505 });
    await listener.stop();
    const rest = createServer((_, response) => response.end('rest'));
    await serve({}, { http1: (socket) => void rest.emit('connection', socket) });
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x'.repeat(100_000) });
    expect(await response.text()).toBe('rest');
    expect((await unary('echo', Buffer.from('grpc'))).toString()).toBe('grpc');
  });
});
