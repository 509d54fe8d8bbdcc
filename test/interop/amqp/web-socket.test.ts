import { AMQPWebSocketClient } from '@cloudamqp/amqp-client';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

let server: AmqpServer;
let url: string;
const browserSocket = globalThis.WebSocket as unknown;
beforeAll(async () => {
  server = await startAmqpServer({ config: { webSocketEnable: true, webSocketPort: 0 } });
  url = `ws://127.0.0.1:${String(server.ports.get('amqp-websocket'))}`;
  // The client takes the browser's, which Node has only since 22.
  Object.assign(globalThis, { WebSocket });
});
afterAll(async () => {
  Object.assign(globalThis, { WebSocket: browserSocket });
  await server.stop();
});

/** The first line of the answer to a request that is written as it stands. */
function answerTo(...lines: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => {
      resolve(chunk.toString().split('\r\n')[0] ?? '');
      socket.destroy();
    });
  });
}

describe('AMQP over WebSocket', () => {
  it('serves the client for browsers: publish, confirm, consume, large messages', async () => {
    const client = new AMQPWebSocketClient(`${url}/any/path`, '/', 'guest', 'guest', 'a browser');
    const connection = await client.connect();
    const channel = await connection.channel();
    await channel.confirmSelect();
    await channel.queueDeclare('ws.q', { durable: false, autoDelete: false });
    const large = 'x'.repeat(1_000_000);
    for (const body of ['hello', large]) await channel.basicPublish('', 'ws.q', body, { deliveryMode: 2 });
    const bodies: string[] = [];
    const consumer = await channel.basicConsume('ws.q', { noAck: false }, (message) => {
      bodies.push(message.bodyString() ?? '');
      void message.ack();
    });
    await expect.poll(() => bodies.length).toBe(2);
    expect(bodies).toEqual(['hello', large]);
    await channel.basicCancel(consumer.tag);
    await channel.queueDelete('ws.q');
    await connection.close();
    expect(server.logged).toEqual([]);
  });

  it('refuses logins, texts and what is no handshake', async () => {
    const plain = await fetch(url.replace('ws:', 'http:'));
    expect([plain.status, plain.headers.get('upgrade')]).toEqual([426, 'websocket']);
    const upgrade = ['GET / HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
    expect(await answerTo(...upgrade)).toBe('HTTP/1.1 400 Bad Request');
    const socket = new WebSocket(url, ['mqtt', 'amqp']);
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('open', resolve));
    expect(socket.protocol).toBe('amqp');
    socket.send('AMQP');
    expect(await closed).toBe(1003);
    expect(server.logged).toEqual([]);
  });

  it('ends what is open when the broker drains', async () => {
    const draining = await startAmqpServer({ config: { webSocketEnable: true, webSocketPort: 0 } });
    const address = `ws://127.0.0.1:${String(draining.ports.get('amqp-websocket'))}`;
    const client = new AMQPWebSocketClient(address, '/', 'guest', 'guest');
    client.logger = undefined;
    const reasons: string[] = [];
    client.onerror = (error) => reasons.push(error.message);
    await client.connect();
    await draining.connector.drain(2_000);
    expect(client.closed).toBe(true);
    expect(reasons.join()).toContain('CONNECTION_FORCED');
    await draining.stop();
  });
});
