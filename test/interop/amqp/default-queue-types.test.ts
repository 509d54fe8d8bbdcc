import { afterEach, expect, it } from 'vitest';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer, AmqpServerOptions } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call, get } from './management-call.js';

const running: AmqpServer[] = [];

async function start(
  config: AmqpServerOptions['config'] = {},
  journal = new MemoryJournal(),
): Promise<AmqpServer> {
  const server = await startAmqpServer({
    journal,
    config: { managementEnable: true, managementPort: 0, ...config },
  });
  running.push(server);
  return server;
}

afterEach(async () => {
  for (const server of running.splice(0)) {
    await server.stop();
    expect(server.logged).toEqual([]);
  }
});

async function declared(server: AmqpServer, vhost: string, queue: string): Promise<unknown> {
  const raw = await RawAmqp.open(server.port, { vhost });
  expect(await raw.declare(queue, { durable: true })).toBe(`queue.declare-ok ${queue} 0 0`);
  await raw.close();
  return get(server, `queues/${encodeURIComponent(vhost)}/${queue}`);
}

const shown = async (server: AmqpServer, vhost: string): Promise<unknown> => {
  const about = (await get(server, `vhosts/${vhost}`)) as Record<string, unknown>;
  return { own: (about['metadata'] as Record<string, unknown>)['default_queue_type'], ...about };
};

it.each(['default_queue_type', 'defaultqueuetype'])('is set as %s', async (key) => {
  const server = await start();
  expect((await call(server, 'PUT', 'vhosts/v', { [key]: 'quorum' })).status).toBe(201);
  expect(await shown(server, 'v')).toMatchObject({ own: 'quorum', default_queue_type: 'quorum' });
  expect(await declared(server, 'v', 'q')).toMatchObject({
    type: 'quorum',
    arguments: { 'x-queue-type': 'quorum' },
  });
  expect(await declared(server, '/', 'q')).toMatchObject({ type: 'classic', arguments: {} });
});

it('can change, for queues declared from then on', async () => {
  const server = await start();
  await call(server, 'PUT', 'vhosts/v', { description: 'mine', default_queue_type: 'stream' });
  expect(await declared(server, 'v', 'before')).toMatchObject({ type: 'stream' });
  expect((await call(server, 'PUT', 'vhosts/v', { default_queue_type: 'quorum' })).status).toBe(204);
  expect(await shown(server, 'v')).toMatchObject({ own: 'quorum', description: 'mine' });
  expect(await declared(server, 'v', 'after')).toMatchObject({ type: 'quorum' });
  expect(await get(server, 'queues/v/before')).toMatchObject({ type: 'stream' });
  // A description says nothing of the type, nor does a client that comes by.
  await call(server, 'PUT', 'vhosts/v', { description: 'other', tags: 'a' });
  await call(server, 'PUT', 'vhosts/v', { default_queue_type: 'undefined' });
  await call(server, 'PUT', 'vhosts/v');
  expect(await shown(server, 'v')).toMatchObject({ own: 'quorum', description: 'other', tags: ['a'] });
  const raw = await RawAmqp.open(server.port, { vhost: 'v' });
  expect(await raw.declare('before', { durable: true })).toContain(
    "inequivalent arg 'x-queue-type' for queue 'before' in vhost 'v': received 'quorum' but current is 'stream'",
  );
  await raw.close();
});

it('outlives a restart, and ends with its virtual host', async () => {
  const first = await start();
  await call(first, 'PUT', 'vhosts/v', { default_queue_type: 'quorum' });
  const second = await start({}, new MemoryJournal({ image: first.journal.image() }));
  expect(await declared(second, 'v', 'q')).toMatchObject({ type: 'quorum' });
  await call(second, 'DELETE', 'vhosts/v');
  expect(await declared(second, 'v', 'q')).toMatchObject({ type: 'classic' });
});

it('is the one of the setting where a virtual host has none', async () => {
  const server = await start({ defaultQueueType: 'quorum' });
  await call(server, 'PUT', 'vhosts/v', { default_queue_type: 'classic' });
  expect(await shown(server, '%2F')).toMatchObject({ own: undefined, default_queue_type: 'quorum' });
  expect(await declared(server, '/', 'q')).toMatchObject({ type: 'quorum' });
  expect(await declared(server, 'just-connected', 'q')).toMatchObject({ type: 'quorum' });
  expect(await declared(server, 'v', 'q')).toMatchObject({
    type: 'classic',
    arguments: { 'x-queue-type': 'classic' },
  });
  expect((await call(server, 'PUT', 'queues/%2F/over-http', { durable: true })).status).toBe(201);
  expect(await get(server, 'queues/%2F/over-http')).toMatchObject({ type: 'quorum' });
});

it('travels in definitions, in the form of each version', async () => {
  const server = await start();
  const definitions = {
    vhosts: [
      { name: 'as-310', metadata: { description: 'd', tags: ['t'], default_queue_type: 'quorum' } },
      { name: 'as-313', default_queue_type: 'stream' },
    ],
    queues: ['as-310', 'as-313'].map((vhost) => ({
      name: 'q',
      vhost,
      durable: true,
      auto_delete: false,
      arguments: {},
    })),
  };
  expect((await call(server, 'POST', 'definitions', definitions)).status).toBe(204);
  const other = await start();
  expect((await call(other, 'POST', 'definitions', await get(server, 'definitions'))).status).toBe(204);
  for (const one of [server, other]) {
    expect(await get(one, 'vhosts/as-310')).toMatchObject({ description: 'd', tags: ['t'] });
    expect(await declared(one, 'as-310', 'new')).toMatchObject({ type: 'quorum' });
    expect(await declared(one, 'as-313', 'new')).toMatchObject({ type: 'stream' });
    expect(await get(one, 'queues/as-310/q')).toMatchObject({ type: 'quorum' });
    expect(await get(one, 'queues/as-313/q')).toMatchObject({ type: 'stream' });
  }
  const bad = { vhosts: [{ name: 'w', default_queue_type: 'weird' }] };
  expect((await call(server, 'POST', 'definitions', bad)).status).toBe(400);
});

it('is not for what the queue cannot be', async () => {
  const server = await start();
  await call(server, 'PUT', 'vhosts/v', { default_queue_type: 'stream' });
  const raw = await RawAmqp.open(server.port, { vhost: 'v' });
  await raw.declare('exclusive', { durable: true, exclusive: true });
  await raw.declare('typed', { durable: true, arguments: table({ 'x-queue-type': 'classic' }) });
  expect(await get(server, 'queues/v?columns=name,type&sort=name')).toEqual([
    { name: 'exclusive', type: 'classic' },
    { name: 'typed', type: 'classic' },
  ]);
  await raw.close();
});
