import { connect } from 'node:net';
import { once } from 'node:events';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { FlowWriter, type BidiCall, type UnaryCall } from './grpc-call.js';
import { createGrpcListener, type GrpcListener } from './grpc.js';
import type { MessageCodec, MethodDefinition } from './grpc-service.js';

const text: MessageCodec<string> = {
  encode: (value) => Buffer.from(value),
  decode: (bytes) => Buffer.from(bytes).toString(),
};
const echo: MethodDefinition = { path: '/t.T/Echo', kind: 'unary', request: text, response: text };
const talk: MethodDefinition = { path: '/t.T/Talk', kind: 'bidi', request: text, response: text };
const serialize = (value: string): Buffer => Buffer.from(text.encode(value));
const deserialize = (bytes: Buffer): string => text.decode(bytes);

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
  it('waits for a slow reader instead of filling memory, and learns of its end', async () => {
    let written = 0;
    let ended: (() => void) | undefined;
    const over = new Promise<void>((resolve) => (ended = resolve));
    const { client } = await open({
      talk: (stream) => {
        const writer = new FlowWriter<string>(stream);
        const pump = async (): Promise<void> => {
          while (await writer.ready()) {
            writer.write('y'.repeat(64 * 1024));
            written++;
          }
          ended?.();
        };
        void pump();
      },
    });
    const stream = client.makeBidiStreamRequest(talk.path, serialize, deserialize);
    stream.on('error', () => undefined);
    stream.write('go');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(500);
    stream.cancel();
    await over;
  });
});
