import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

/** POLYMQ_AMQP_LOAD=full: as many as a busy broker has; else few, because what is counted is the same. */
const full = process.env['POLYMQ_AMQP_LOAD'] === 'full';
const CONNECTIONS = full ? 5_000 : 100;
const CONSUMERS = full ? 1_000 : 100;
const SLOW_READERS = full ? 200 : 10;
const TIMEOUT_MS = full ? 300_000 : 60_000;
/** Connections that are opened at once: a listener's backlog is no queue for thousands. */
const AT_ONCE = 50;

let server: AmqpServer;
let clients: RawAmqp[];
beforeEach(async () => {
  server = await startAmqpServer({
    config: { maxConnections: 0, managementEnable: true, managementPort: 0 },
  });
  clients = [];
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await expect.poll(() => server.connector.status().connections, { timeout: TIMEOUT_MS }).toBe(0);
  expect(server.logged).toEqual([]);
  await server.stop();
}, TIMEOUT_MS);

async function connections(count: number): Promise<readonly RawAmqp[]> {
  for (let i = 0; i < count; i += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - i) }, () => RawAmqp.open(server.port));
    clients.push(...(await Promise.all(some)));
  }
  return clients;
}

const answerOf = (client: RawAmqp): Promise<string> => client.answer(TIMEOUT_MS);

describe('many', () => {
  it(
    `${CONNECTIONS} connections of two channels each are served, and leave nothing`,
    async () => {
      const all = await connections(CONNECTIONS);
      const served: boolean[] = [];
      const serve = async (client: RawAmqp, i: number): Promise<boolean> => {
        const queue = `load.${String(i)}`;
        await client.call(2, 'channel.open', { reserved1: '' });
        await client.declare(queue, { exclusive: true });
        await client.consume(queue, 't', { noAck: true });
        client.publish(queue, `for ${queue}`, { channel: 2 });
        return (await answerOf(client)).includes(`"for ${queue}"`);
      };
      for (let i = 0; i < CONNECTIONS; i += AT_ONCE) {
        const some = all.slice(i, i + AT_ONCE).map((client, j) => serve(client, i + j));
        served.push(...(await Promise.all(some)));
      }
      expect(served.filter((right) => right)).toHaveLength(CONNECTIONS);
      expect(server.connector.status().connections).toBe(CONNECTIONS);
      await Promise.all(all.map((client) => client.close()));
      await expect.poll(() => server.broker.queues('amqp.'), { timeout: TIMEOUT_MS }).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    `${CONSUMERS} consumers of one queue get one message each, round after round`,
    async () => {
      const channels = 10;
      const all = await connections(CONSUMERS / channels);
      const sender = await RawAmqp.open(server.port);
      clients.push(sender);
      await sender.declare('load.shared');
      for (const client of all.slice(0, CONSUMERS / channels)) {
        for (let channel = 1; channel <= channels; channel++) {
          if (channel > 1) await client.call(channel, 'channel.open', { reserved1: '' });
          await client.call(channel, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
          await client.consume('load.shared', `t${String(channel)}`, {}, channel);
        }
      }
      for (let round = 1; round <= 3; round++) {
        for (let i = 0; i < CONSUMERS; i++) sender.publish('load.shared', `round ${String(round)}`);
        for (const client of all.slice(0, CONSUMERS / channels)) {
          const tags = new Set<string>();
          for (let i = 0; i < channels; i++) {
            const answer = await answerOf(client);
            expect(answer).toContain(`"round ${String(round)}"`);
            tags.add(/\bt\d+\b/.exec(answer)?.[0] ?? answer);
          }
          expect(tags.size).toBe(channels);
        }
        for (const client of all.slice(0, CONSUMERS / channels)) {
          for (let channel = 1; channel <= channels; channel++) {
            client.send(channel, 'basic.ack', { deliveryTag: round, multiple: false });
          }
        }
      }
      await sender.call(1, 'queue.purge', { ticket: 0, queue: 'load.shared', nowait: false });
      expect(server.broker.queueStats('amqp.default.load.shared' as never)).toMatchObject({
        ready: 0,
        consumers: CONSUMERS,
      });
    },
    TIMEOUT_MS,
  );

  it(
    `${SLOW_READERS} consumers that read nothing hold no more than a window each`,
    async () => {
      const body = 'x'.repeat(100_000);
      const messages = 100;
      const sender = await RawAmqp.open(server.port);
      const all = [...(await connections(SLOW_READERS))];
      clients.push(sender);
      await sender.exchange('load.all', 'fanout');
      for (const [i, client] of all.entries()) {
        const queue = `load.slow.${String(i)}`;
        await client.declare(queue);
        await client.bind(queue, 'load.all', '');
        await client.consume(queue, 't', { noAck: true });
        client.socket.pause();
      }
      await sender.call(1, 'confirm.select', { nowait: false });
      for (let i = 0; i < messages; i++) sender.publish('', body, { exchange: 'load.all' });
      for (;;) {
        const [, tag = '0'] = /^basic\.ack (\d+)/.exec(await answerOf(sender)) ?? [];
        if (Number(tag) === messages) break;
      }
      // The kernel's buffers take some; the broker's own share is told by the management API.
      const url = `http://127.0.0.1:${String(server.ports.get('amqp-management'))}/api/connections`;
      const pending = async (): Promise<readonly number[]> =>
        ((await (await fetch(url)).json()) as { send_pend: number }[]).map((one) => one.send_pend);
      await expect
        .poll(async () => Math.max(...(await pending())), { timeout: TIMEOUT_MS })
        .toBeGreaterThan(0);
      expect(Math.max(...(await pending()))).toBeLessThanOrEqual(3 * 1024 * 1024);
      for (let i = 0; i < SLOW_READERS; i++) {
        const stats = server.broker.queueStats(`amqp.default.load.slow.${String(i)}` as never);
        expect(stats?.ready).toBeGreaterThan(0);
      }
      for (const client of all) client.socket.resume();
      for (const client of all) {
        for (let i = 0; i < messages; i++) expect(await answerOf(client)).toContain('100000 bytes');
      }
    },
    TIMEOUT_MS,
  );
});
