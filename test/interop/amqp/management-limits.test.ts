import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call, get } from './management-call.js';

const config = {
  users: [{ name: 'guest', password: 'guest' }],
  managementEnable: true,
  managementPort: 0,
};

let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer({ config });
  await call(server, 'PUT', 'users/bob', { password: 'b', tags: '' });
});
afterAll(() => server.stop());

const status = async (...[method, path, input]: readonly [string, string, unknown?]): Promise<number> =>
  (await call(server, method, path, input)).status;

describe('limits', () => {
  it('are set, listed and taken away', async () => {
    expect(await get(server, 'vhost-limits')).toEqual([]);
    expect(await status('PUT', 'vhost-limits/%2F/max-queues', { value: 7 })).toBe(204);
    expect(await status('PUT', 'vhost-limits/%2F/max-connections', { value: 9 })).toBe(204);
    expect(await status('PUT', 'user-limits/bob/max-channels', { value: 3 })).toBe(204);
    const ofVhost = { vhost: '/', value: { 'max-queues': 7, 'max-connections': 9 } };
    expect(await get(server, 'vhost-limits')).toEqual([ofVhost]);
    expect(await get(server, 'vhost-limits/%2F')).toEqual([ofVhost]);
    expect(await get(server, 'user-limits/bob')).toEqual([{ user: 'bob', value: { 'max-channels': 3 } }]);
    expect(await get(server, 'users/bob')).toMatchObject({ limits: { 'max-channels': 3 } });
    expect(await get(server, 'parameters/vhost-limits')).toEqual([
      { component: 'vhost-limits', name: 'limits', vhost: '/', value: ofVhost.value },
    ]);
    expect(await status('DELETE', 'vhost-limits/%2F/max-queues')).toBe(204);
    expect(await status('DELETE', 'vhost-limits/%2F/max-connections')).toBe(204);
    expect(await get(server, 'vhost-limits/%2F')).toEqual([]);
  });

  it('that are none are refused, as are those of nobody', async () => {
    expect(await status('PUT', 'vhost-limits/%2F/max-things', { value: 1 })).toBe(400);
    expect(await status('PUT', 'vhost-limits/%2F/max-queues', { value: 'x' })).toBe(400);
    expect(await status('PUT', 'vhost-limits/%2F/max-queues', {})).toBe(400);
    expect(await status('PUT', 'vhost-limits/nowhere/max-queues', { value: 1 })).toBe(404);
    expect(await status('PUT', 'user-limits/nobody/max-channels', { value: 1 })).toBe(404);
    expect((await call(server, 'GET', 'vhost-limits', undefined, 'bob:b')).status).toBe(401);
  });
});

describe('topic permissions', () => {
  it('are set, listed and taken away', async () => {
    const topic = { exchange: 'amq.topic', write: '^a', read: '^b' };
    expect(await status('PUT', 'topic-permissions/%2F/bob', topic)).toBe(201);
    const record = { user: 'bob', vhost: '/', ...topic };
    for (const path of ['topic-permissions', 'users/bob/topic-permissions', 'topic-permissions/%2F/bob']) {
      expect(await get(server, path)).toEqual([record]);
    }
    expect(await status('PUT', 'topic-permissions/%2F/bob', { ...topic, write: '(' })).toBe(400);
    expect(await status('PUT', 'topic-permissions/%2F/nobody', topic)).toBe(404);
    expect(await status('DELETE', 'topic-permissions/%2F/bob/other')).toBe(204);
    expect(await get(server, 'topic-permissions/%2F/bob')).toEqual([record]);
    expect(await status('DELETE', 'topic-permissions/%2F/bob/amq.topic')).toBe(204);
    await status('PUT', 'topic-permissions/%2F/bob', topic);
    expect(await status('DELETE', 'topic-permissions/%2F/bob')).toBe(204);
    expect(await status('GET', 'topic-permissions/%2F/bob')).toBe(404);
  });
});

it('both travel in definitions', async () => {
  const topic = { exchange: 'amq.topic', write: '^a', read: '^b' };
  await call(server, 'PUT', 'vhosts/moves', { description: 'on the move', tags: 'a,b' });
  await call(server, 'PUT', 'vhost-limits/moves/max-queues', { value: 2 });
  await call(server, 'PUT', 'user-limits/bob/max-channels', { value: 3 });
  await call(server, 'PUT', 'topic-permissions/moves/bob', topic);
  const definitions = await get(server, 'definitions');
  const other = await startAmqpServer({ config });
  expect((await call(other, 'POST', 'definitions', definitions)).status).toBe(204);
  expect(await get(other, 'vhost-limits/moves')).toEqual([{ vhost: 'moves', value: { 'max-queues': 2 } }]);
  expect(await get(other, 'user-limits/bob')).toEqual([{ user: 'bob', value: { 'max-channels': 3 } }]);
  expect(await get(other, 'topic-permissions')).toEqual([{ user: 'bob', vhost: 'moves', ...topic }]);
  const about = { description: 'on the move', tags: ['a', 'b'] };
  expect(await get(other, 'vhosts/moves')).toMatchObject({ ...about, metadata: about });
  // What they are of takes them along.
  await call(other, 'DELETE', 'vhosts/moves');
  await call(other, 'DELETE', 'users/bob');
  for (const path of ['vhost-limits', 'user-limits', 'topic-permissions'])
    expect(await get(other, path)).toEqual([]);
  expect(other.logged).toEqual([]);
  await other.stop();
});

it('what clients of the API in Go rely on', async () => {
  const raw = await RawAmqp.open(server.port);
  await raw.exchange('hole.x', 'topic');
  const made = await fetch(
    `http://127.0.0.1:${String(server.ports.get('amqp-management'))}/api/bindings/%2F/e/amq.topic/e/hole.x`,
    {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}` },
      body: JSON.stringify({ routing_key: '#', arguments: {} }),
    },
  );
  // The place of the new binding is relative: destination and key.
  expect(made.headers.get('location')).toBe('hole.x/%2523');
  expect(await status('DELETE', 'bindings/%2F/e/amq.topic/e/hole.x/%2523')).toBe(204);
  expect(await get(server, 'bindings/%2F/e/amq.topic/e/hole.x')).toEqual([]);
  expect(await status('PUT', 'users/ann', { password_hash: 'no base64', tags: '' })).toBe(400);
  expect(await status('DELETE', 'connections/username/guest')).toBe(204);
  expect(await raw.answer()).toBe('CONN 320 CONNECTION_FORCED - Closed via management plugin [0.0]');
  await raw.close();
});
