import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call, get } from './management-call.js';

/** What programs ask of the management API that cannot be had for a test: their requests, as their sources make them. */
let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer({ config: { managementEnable: true, managementPort: 0 } });
});
afterAll(() => server.stop());

interface Scaled {
  readonly messages: number;
  readonly messages_ready: number;
  readonly messages_unacknowledged: number;
  readonly message_stats: { readonly publish_details: { readonly rate: number } };
}

describe("KEDA's RabbitMQ scaler", () => {
  const whole = (value: unknown): boolean => Number.isSafeInteger(value);
  /** Its decoder takes whole numbers only, and fails on any field that is missing or another type. */
  const readable = (queue: Scaled): boolean =>
    [queue.messages, queue.messages_ready, queue.messages_unacknowledged].every(whole) &&
    typeof queue.message_stats.publish_details.rate === 'number';

  it('reads one queue of a virtual host', async () => {
    await call(server, 'PUT', 'vhosts/scaled', {});
    await call(server, 'PUT', 'queues/scaled/jobs.high', { durable: true });
    const raw = await RawAmqp.open(server.port, { vhost: 'scaled' });
    for (let i = 0; i < 3; i++) raw.publish('jobs.high', 'x');
    await raw.get('jobs.high', false);
    const queue = (await get(server, 'queues/scaled/jobs.high')) as Scaled;
    expect(queue).toMatchObject({ messages: 3, messages_ready: 2, messages_unacknowledged: 1 });
    expect(readable(queue)).toBe(true);
    expect(await call(server, 'GET', 'queues/scaled/gone')).toMatchObject({ status: 404 });
    await raw.close();
  });

  it('reads all whose names match, and whether that was all', async () => {
    for (const name of ['r.jobs.a', 'r.jobs.b', 'r.other'])
      await call(server, 'PUT', `queues/%2F/${name}`, {});
    const ask = (name: string, size: number): Promise<unknown> =>
      get(
        server,
        `queues/%2F?page=1&use_regex=true&pagination=false&name=${encodeURIComponent(name)}&page_size=${String(size)}`,
      );
    const found = (await ask('^r\\.jobs\\..*$', 100)) as { items: Scaled[]; page_count: number };
    expect(found).toMatchObject({ page_count: 1, items: [{ name: 'r.jobs.a' }, { name: 'r.jobs.b' }] });
    expect(found.items.every(readable)).toBe(true);
    expect(await ask('^r\\.', 2)).toMatchObject({ page_count: 2 });
    expect(await ask('^nothing$', 100)).toMatchObject({ items: [] });
  });
});

it('has a name for the cluster that can be set, and is the global parameter of that name', async () => {
  expect(await get(server, 'cluster-name')).toEqual({ name: 'polymq' });
  expect(await call(server, 'PUT', 'cluster-name', { name: 'east' })).toMatchObject({ status: 204 });
  expect(await get(server, 'cluster-name')).toEqual({ name: 'east' });
  expect(await get(server, 'overview')).toMatchObject({ cluster_name: 'east' });
  expect(await get(server, 'global-parameters/cluster_name')).toEqual({
    name: 'cluster_name',
    value: 'east',
  });
  expect(await call(server, 'PUT', 'cluster-name', { name: 7 })).toMatchObject({ status: 400 });
  expect(await call(server, 'PUT', 'cluster-name', {})).toMatchObject({ status: 400 });
});
