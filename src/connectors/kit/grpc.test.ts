import { connect } from 'node:net';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { FlowWriter, type BidiCall, type UnaryCall } from './grpc-call.js';
import { createGrpcListener, type GrpcListener } from './grpc.js';
import type { MessageCodec, MethodDefinition } from './grpc-service.js';
import { HTTP2_LIMITS } from './http2/limits.js';

/** What a client's stream may be sent before it gives more (RFC 9113, section 6.9.2). */
const INITIAL_WINDOW_BYTES = 65_535;

const text: MessageCodec<string> = {
  encode: (value) => Buffer.from(value),
  decode: (bytes) => Buffer.from(bytes).toString(),
};
const echo: MethodDefinition = { path: '/t.T/Echo', kind: 'unary', request: text, response: text };
const talk: MethodDefinition = { path: '/t.T/Talk', kind: 'bidi', request: text, response: text };
const serialize = (value: string): Buffer => Buffer.from(text.encode(value));
const deserialize = (bytes: Buffer): string => text.decode(bytes);

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const opened: { close(): void }[] = [];
let listener: GrpcListener;

async function open(handlers: {
  echo?: (call: UnaryCall<string, string>) => void;
  talk?: (call: BidiCall<string, string>) => void;
}): Promise<{ client: Client; port: number }> {
  listener = createGrpcListener({
    host: '127.0.0.1',
    port: 0,
    maxReceiveBytes: 1_000_000,
    clock: new SystemClock(),
    log: silentLog,
  });
  listener.server.addService(
    { echo, talk },
    {
      echo: handlers.echo ?? ((call: UnaryCall<string, string>) => call.reply(call.request)),
      talk: handlers.talk ?? ((call: BidiCall<string, string>) => call.end()),
    },
  );
  const port = await listener.listen();
  const client = new Client(`127.0.0.1:${String(port)}`, credentials.createInsecure());
  opened.push(client);
  return { client, port };
}

function call(client: Client, message: string): Promise<string> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(echo.path, serialize, deserialize, message, (error, reply) => {
      if (error !== null) reject(error);
      else resolve(reply ?? '');
    });
  });
}

afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  await listener.stop();
});

describe('gRPC listener', () => {
  it('serves calls on a free port and counts connections', async () => {
    const { client, port } = await open({});
    expect(port).toBeGreaterThan(0);
    expect(await call(client, 'hello')).toBe('hello');
    expect(listener.connections()).toBe(1);
  });

  it('refuses messages above its limit and goes on', async () => {
    const { client } = await open({});
    await expect(call(client, 'x'.repeat(1_000_001))).rejects.toMatchObject({ code: 8 });
    expect(await call(client, 'x'.repeat(999_000))).toHaveLength(999_000);
  });

  it('lets a call run whose deadline is further away than a timer reaches', async () => {
    const { client } = await open({});
    const reply = await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        echo.path,
        serialize,
        deserialize,
        'far',
        { deadline: Date.now() + 2 ** 42 },
        (error, answer) => {
          if (error !== null) reject(error);
          else resolve(answer);
        },
      );
    });
    expect(reply).toBe('far');
  });

  it('ends only the connection that sends garbage', async () => {
    const { client, port } = await open({});
    await call(client, 'before');
    for (const bytes of [Buffer.alloc(100, 0xff), Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(1)]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.end(bytes);
      socket.resume();
      await once(socket, 'close');
    }
    expect(await call(client, 'after')).toBe('after');
  });

  it('drain lets a running call end and refuses new ones', async () => {
    let finish: (() => void) | undefined;
    const started = new Promise<void>((running) => {
      void open({
        echo: (request) => {
          finish = () => request.reply(request.request);
          running();
        },
      }).then(({ client }) => {
        pending = call(client, 'slow');
      });
    });
    let pending: Promise<string> | undefined;
    await started;
    const drained = listener.drain(5_000);
    await new Promise((resolve) => setImmediate(resolve));
    finish?.();
    expect(await pending).toBe('slow');
    await drained;
    expect(listener.connections()).toBe(0);
  });

  it('drain cuts what outlives the grace; stop is idempotent', async () => {
    const { client } = await open({ talk: () => undefined });
    const stream = client.makeBidiStreamRequest(talk.path, serialize, deserialize);
    const failed = once(stream, 'error');
    stream.on('data', () => undefined);
    stream.write('hello');
    await new Promise<void>((resolve) => {
      client.waitForReady(Date.now() + 5_000, () => resolve());
    });
    await listener.drain(20);
    await failed;
    await listener.stop();
    await listener.stop();
    expect(listener.connections()).toBe(0);
  });

  it('rejects an address that is taken', async () => {
    const { port } = await open({});
    const other = createGrpcListener({
      host: '127.0.0.1',
      port,
      maxReceiveBytes: 1,
      clock: new SystemClock(),
      log: silentLog,
    });
    await expect(other.listen()).rejects.toThrow('EADDRINUSE');
    await other.stop();
  });
});

describe('FlowWriter', () => {
  it('waits for a reader that takes nothing, goes on when it reads, and learns of its end', async () => {
    // More than the windows hold, and an end to it all when nothing holds it back.
    const most = 2000;
    const messageBytes = 64 * 1024;
    let written = 0;
    let writer: FlowWriter<string> | undefined;
    const { port } = await open({
      talk: (stream) => {
        const mine = (writer = new FlowWriter<string>(stream));
        const pump = async (): Promise<void> => {
          while (written < most && (await mine.ready())) {
            mine.write('y'.repeat(messageBytes));
            written++;
          }
        };
        void pump();
      },
    });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    opened.push({ close: () => session.destroy() });
    const request = session.request({
      ':method': 'POST',
      ':path': talk.path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    request.on('error', () => undefined);
    request.write(Buffer.from([0, 0, 0, 0, 1, 0x78]));
    await once(request, 'response');
    const answered = (): Promise<void> =>
      new Promise((resolve, reject) => session.ping((error) => (error === null ? resolve() : reject(error))));
    while (writer?.open !== false && written < most) await turn();
    for (let i = 0; i < 20; i++) await answered();
    // The peer's window, what may wait in the stream, and the message that went over it.
    const boundBytes = INITIAL_WINDOW_BYTES + HTTP2_LIMITS.streamPendingBytesMax + messageBytes;
    expect(writer?.open).toBe(false);
    expect(written).toBeLessThanOrEqual(Math.ceil(boundBytes / messageBytes));
    const before = written;
    request.resume();
    while (written === before) await turn();
    request.close(constants.NGHTTP2_CANCEL);
    while (writer?.ended !== true) await turn();
  });
});
