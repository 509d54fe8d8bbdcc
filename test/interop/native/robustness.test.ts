import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectHttp2 } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Downstream } from '../../support/native-shapes.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
beforeEach(async () => {
  server = await startNativeServer();
});
afterEach(() => server.stop());

const Body = Buffer.from('x');

/** Sends raw bytes on a connection of its own and waits until it is closed. */
async function raw(bytes: Buffer): Promise<void> {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.resume();
  socket.end(bytes);
  await once(socket, 'close');
}

/** A gRPC call with a body of these bytes; resolves with its status. */
async function callWith(path: string, payload: Buffer): Promise<string | undefined> {
  const session = connectHttp2(`http://127.0.0.1:${String(server.port)}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let status: string | undefined;
  stream.on('response', (headers) => (status ??= headers['grpc-status'] as string | undefined));
  stream.on('trailers', (headers) => (status ??= headers['grpc-status'] as string | undefined));
  stream.on('error', () => undefined);
  stream.resume();
  stream.end(payload);
  await once(stream, 'close');
  session.close();
  return status;
}

function framed(message: Buffer, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

describe('bad bytes', () => {
  it('end their own connection only', async () => {
    const client = server.client();
    await client.send({ Channel: 'r', Body });
    for (const bytes of [
      randomBytes(1000),
      Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), randomBytes(500)]),
      Buffer.alloc(0),
    ]) {
      await raw(bytes);
    }
    expect((await client.receive('r')).Messages).toHaveLength(1);
    await until(() => server.connector.status().connections === 1);
  });

  it('in a call are answered INTERNAL, too long ones RESOURCE_EXHAUSTED, unknown methods UNIMPLEMENTED', async () => {
    const path = '/kubemq.kubemq/SendQueueMessage';
    expect(await callWith(path, framed(Buffer.from([0x0a, 0x05, 0x01])))).toBe('13');
    expect(await callWith(path, framed(Buffer.from([0xff, 0xff, 0xff])))).toBe('13');
    expect(await callWith(path, framed(Buffer.alloc(10), 0x7fff_ffff))).toBe('8');
    expect(await callWith('/kubemq.kubemq/Nothing', framed(Buffer.alloc(0)))).toBe('12');
    // Half a frame is no message.
    expect(await callWith(path, framed(Buffer.alloc(3), 10))).not.toBe('0');
    expect(await server.client().send({ Channel: 'r', Body })).toMatchObject({ IsError: false });
  });

  it('in the middle of a stream end it and give back what it held', async () => {
    const client = server.client();
    await client.send({ Channel: 'r.mid', Body });
    const session = connectHttp2(`http://127.0.0.1:${String(server.port)}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/kubemq.kubemq/QueuesDownstream',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    stream.resume();
    // Get r.mid for client c.
    stream.write(
      framed(Buffer.from('120163180122' + '05' + Buffer.from('r.mid').toString('hex') + '2801', 'hex')),
    );
    await until(() => server.broker.queueStats('r.mid' as never)?.inFlight === 1);
    stream.write(framed(Buffer.from([0xff, 0xff])));
    await until(() => server.broker.queueStats('r.mid' as never)?.ready === 1);
    session.destroy();
  });
});

describe('drain', () => {
  it('tells downstream clients, lets them settle, and ends', async () => {
    const client = server.client();
    await client.sendBatch([
      { Channel: 'dr', Body },
      { Channel: 'dr', Body },
    ]);
    const stream = client.downstream();
    const held = await stream.get('dr', { MaxItems: 1 });
    const waiting = stream.get('dr.empty', { WaitTimeout: 60_000 });
    await until(() => server.broker.queueStats('dr.empty' as never)?.waiters === 1);
    const drained = server.connector.drain(20_000);
    expect(await stream.next()).toMatchObject({ RequestTypeData: Downstream.closeByServer });
    expect((await waiting).Messages).toEqual([]);
    expect(await stream.get('dr')).toMatchObject({
      IsError: true,
      Error: 'Error 409: server is in shutdown mode',
    });
    expect(await stream.settle(Downstream.ackAll, held.TransactionId)).toMatchObject({ IsError: false });
    expect(await stream.ended).toMatchObject({ code: 0 });
    await drained;
    expect(server.broker.queueStats('dr' as never)).toMatchObject({ ready: 1, inFlight: 0 });
  });

  it('ends subscriptions and idle streams with UNAVAILABLE, never silently', async () => {
    const client = server.client();
    const subscription = client.subscribe({ Channel: 'dr.log' });
    await until(() => server.broker.logStats('dr.log' as never)?.subscriptions === 1);
    const upstream = client.upstream();
    await upstream.request({ Messages: [{ ClientID: 'c', Channel: 'dr.up', Body }] });
    const receive = client.receive('dr.wait', { waitSeconds: 60 });
    await until(() => server.broker.queueStats('dr.wait' as never)?.waiters === 1);
    await server.connector.drain(20_000);
    expect(await subscription.ended).toMatchObject({
      code: 14,
      details: 'Error 409: server is in shutdown mode',
    });
    expect(await upstream.ended).toMatchObject({ code: 14 });
    expect(await receive).toMatchObject({ Messages: [] });
  });

  it('cuts what outlives the grace, and still gives everything back', async () => {
    const client = server.client();
    await client.send({ Channel: 'dr.cut', Body });
    const stream = client.downstream();
    await stream.get('dr.cut');
    await server.connector.drain(30);
    await server.connector.stop();
    expect(server.broker.queueStats('dr.cut' as never)).toMatchObject({ ready: 1, inFlight: 0 });
    expect((await stream.ended).code).not.toBe(0);
  });
});
