import { spawn } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { temporaryFolder } from '../../support/folder.js';
import { pythonWith } from '../../support/foreign.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call, get } from './management-call.js';

const config = { managementEnable: true, managementPort: 0 };

describe('the management API', () => {
  let server: AmqpServer;
  beforeAll(async () => {
    server = await startAmqpServer({ config });
  });
  afterAll(() => server.stop());

  it('declares, binds, publishes, gets, purges and deletes', async () => {
    const queue = { durable: true, arguments: { 'x-max-priority': 3 } };
    expect(await call(server, 'PUT', 'queues/%2F/m.q', queue)).toEqual({ status: 201, body: undefined });
    expect(await call(server, 'PUT', 'queues/%2F/m.q', queue)).toEqual({ status: 204, body: undefined });
    expect(await call(server, 'PUT', 'queues/%2F/m.q', { durable: true })).toMatchObject({
      status: 400,
      body: { error: 'bad_request', reason: expect.stringContaining("inequivalent arg 'x-max-priority'") },
    });
    expect(await call(server, 'PUT', 'exchanges/%2F/m.x', { type: 'topic' })).toMatchObject({ status: 201 });
    const bound = await call(server, 'POST', 'bindings/%2F/e/m.x/q/m.q', {
      routing_key: 'a.#',
      arguments: {},
    });
    expect(bound.status).toBe(201);
    const message = {
      properties: { delivery_mode: 2, headers: { n: 1 } },
      payload: 'héllo',
      payload_encoding: 'string',
    };
    expect(
      await call(server, 'POST', 'exchanges/%2F/m.x/publish', { ...message, routing_key: 'a.b' }),
    ).toEqual({
      status: 200,
      body: { routed: true },
    });
    expect(await call(server, 'POST', 'exchanges/%2F/m.x/publish', { ...message, routing_key: 'b' })).toEqual(
      {
        status: 200,
        body: { routed: false },
      },
    );
    const binary = { properties: {}, payload: '/w==', payload_encoding: 'base64', routing_key: 'm.q' };
    await call(server, 'POST', 'exchanges/%2F/amq.default/publish', binary);
    const look = { count: 5, ackmode: 'ack_requeue_true', encoding: 'auto' };
    const peeked = {
      payload: 'héllo',
      payload_encoding: 'string',
      payload_bytes: 6,
      exchange: 'm.x',
      message_count: 1,
    };
    expect((await call(server, 'POST', 'queues/%2F/m.q/get', look)).body).toMatchObject([
      { ...peeked, redelivered: false, properties: message.properties, routing_key: 'a.b' },
      { payload: '/w==', payload_encoding: 'base64', exchange: '', routing_key: 'm.q', message_count: 0 },
    ]);
    expect(
      (await call(server, 'POST', 'queues/%2F/m.q/get', { ...look, count: 1, ackmode: 'ack_requeue_false' }))
        .body,
    ).toMatchObject([{ ...peeked, redelivered: true }]);
    expect(await get(server, 'queues/%2F/m.q')).toMatchObject({
      messages: 1,
      messages_ready: 1,
      consumers: 0,
    });
    expect(await get(server, 'bindings/%2F/e/m.x/q/m.q')).toMatchObject([
      { properties_key: 'a.%23', routing_key: 'a.#' },
    ]);
    expect(await call(server, 'DELETE', 'bindings/%2F/e/m.x/q/m.q/a.%23')).toMatchObject({ status: 204 });
    expect(await get(server, 'bindings/%2F/e/m.x/q/m.q')).toEqual([]);
    expect(await call(server, 'DELETE', 'queues/%2F/m.q/contents')).toMatchObject({ status: 204 });
    expect(await call(server, 'DELETE', 'queues/%2F/m.q?if-empty=true')).toMatchObject({ status: 204 });
    expect(await call(server, 'DELETE', 'queues/%2F/m.q')).toMatchObject({ status: 404 });
    expect(await call(server, 'DELETE', 'exchanges/%2F/amq.topic')).toMatchObject({ status: 401 });
    await call(server, 'DELETE', 'exchanges/%2F/m.x');
    expect(server.logged).toEqual([]);
  });

  it('says when a full queue refused', async () => {
    const args = { 'x-max-length': 1, 'x-overflow': 'reject-publish' };
    await call(server, 'PUT', 'queues/%2F/m.full', { arguments: args });
    const one = { properties: {}, routing_key: 'm.full', payload: 'x', payload_encoding: 'string' };
    expect(await call(server, 'POST', 'exchanges/%2F/amq.default/publish', one)).toMatchObject({
      status: 200,
    });
    expect(await call(server, 'POST', 'exchanges/%2F/amq.default/publish', one)).toMatchObject({
      status: 400,
    });
    await call(server, 'DELETE', 'queues/%2F/m.full');
  });

  it('shows connections, channels and consumers, and closes connections', async () => {
    const raw = await RawAmqp.open(server.port);
    await raw.declare('m.shown');
    await raw.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 7, global: false });
    await raw.consume('m.shown', 'tag');
    raw.publish('m.shown', 'x');
    await raw.answer();
    const [connection] = (await get(server, 'connections')) as { name: string }[];
    expect(connection).toMatchObject({ user: 'guest', vhost: '/', channels: 1, protocol: 'AMQP 0-9-1' });
    expect(await get(server, 'channels')).toMatchObject([
      { number: 1, prefetch_count: 7, consumer_count: 1, messages_unacknowledged: 1 },
    ]);
    expect(await get(server, 'consumers')).toMatchObject([
      { consumer_tag: 'tag', prefetch_count: 7, ack_required: true, queue: { name: 'm.shown', vhost: '/' } },
    ]);
    expect(await get(server, 'queues/%2F/m.shown?columns=name')).toMatchObject({
      consumer_details: [{ consumer_tag: 'tag' }],
      messages_unacknowledged: 1,
    });
    expect(await get(server, 'overview')).toMatchObject({ object_totals: { connections: 1, channels: 1 } });
    const path = `connections/${encodeURIComponent(connection?.name ?? '')}`;
    expect(await call(server, 'DELETE', path)).toMatchObject({ status: 204 });
    expect(await raw.answer()).toBe('CONN 320 CONNECTION_FORCED - Closed via management plugin [0.0]');
    await raw.close();
    await expect.poll(() => get(server, 'connections')).toEqual([]);
    await call(server, 'DELETE', 'queues/%2F/m.shown');
  });

  it('pages, filters, sorts and picks columns', async () => {
    for (const name of ['m.b', 'm.a', 'm.c']) await call(server, 'PUT', `queues/%2F/${name}`, {});
    expect(await get(server, 'queues?sort=name&columns=name,vhost')).toEqual(
      ['m.a', 'm.b', 'm.c'].map((name) => ({ name, vhost: '/' })),
    );
    expect(
      await get(
        server,
        'queues/%2F?page=1&page_size=1&name=m.%5Bbc%5D&use_regex=true&sort=name&sort_reverse=true&columns=name',
      ),
    ).toEqual({
      filtered_count: 2,
      item_count: 1,
      items: [{ name: 'm.c' }],
      page: 1,
      page_count: 2,
      page_size: 1,
      total_count: 3,
    });
    for (const name of ['m.b', 'm.a', 'm.c']) await call(server, 'DELETE', `queues/%2F/${name}`);
  });

  it('tells what autoscalers read of an idle queue', async () => {
    await call(server, 'PUT', 'queues/%2F/m.idle', {});
    expect(await get(server, 'queues/%2F/m.idle')).toMatchObject({
      messages: 0,
      messages_ready: 0,
      messages_unacknowledged: 0,
      disk_reads: 0,
      message_stats: { publish: 0, publish_details: { rate: 0 }, deliver_get: 0, ack: 0 },
    });
    await call(server, 'DELETE', 'queues/%2F/m.idle');
  });

  it('is healthy, and refuses what it does not understand', async () => {
    expect(await get(server, 'aliveness-test/%2F')).toEqual({ status: 'ok' });
    for (const check of [
      'alarms',
      'local-alarms',
      'virtual-hosts',
      'node-is-quorum-critical',
      'protocol-listener/amqp',
    ]) {
      expect(await get(server, `health/checks/${check}`)).toMatchObject({ status: 'ok' });
    }
    expect(await call(server, 'GET', 'health/checks/port-listener/1')).toMatchObject({ status: 503 });
    expect(await call(server, 'GET', 'nothing')).toMatchObject({ status: 404 });
    expect(await call(server, 'GET', 'queues/none')).toMatchObject({ status: 404 });
    expect(await call(server, 'POST', 'queues')).toMatchObject({ status: 405 });
    expect(await call(server, 'PUT', 'queues/%2F/m.bad', ['x'])).toMatchObject({ status: 400 });
    expect(await call(server, 'PUT', 'queues/%2F/m.bad', { durable: 7 })).toMatchObject({ status: 400 });
    expect(await call(server, 'GET', 'queues/%')).toMatchObject({ status: 400 });
    expect(await call(server, 'GET', 'whoami')).toMatchObject({
      body: { name: 'guest', tags: ['administrator'] },
    });
  });
});

/** In the form of RabbitMQ's own export; the passwords are `one` and `two`. */
const DEFINITIONS = {
  rabbit_version: '3.10.8',
  users: [
    {
      name: 'boss',
      password_hash: '', // set below
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: ['administrator'],
      limits: {},
    },
    {
      name: 'bob',
      password_hash: '',
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: [],
      limits: {},
    },
  ],
  vhosts: [{ name: '/' }, { name: 'shop' }],
  permissions: [
    { user: 'boss', vhost: '/', configure: '.*', write: '.*', read: '.*' },
    { user: 'bob', vhost: 'shop', configure: '^bob\\.', write: '^(bob\\..*|orders)$', read: '^bob\\.' },
  ],
  topic_permissions: [],
  parameters: [],
  global_parameters: [{ name: 'cluster_name', value: 'rabbit@x' }],
  policies: [],
  queues: [
    {
      name: 'invoices',
      vhost: 'shop',
      durable: true,
      auto_delete: false,
      type: 'quorum',
      arguments: { 'x-queue-type': 'quorum' },
    },
  ],
  exchanges: [
    {
      name: 'orders',
      vhost: 'shop',
      type: 'topic',
      durable: true,
      auto_delete: false,
      internal: false,
      arguments: {},
    },
  ],
  bindings: [
    {
      source: 'orders',
      vhost: 'shop',
      destination: 'invoices',
      destination_type: 'queue',
      routing_key: 'order.#',
      arguments: {},
    },
  ],
};

/** Hashes of `one` and `two` in RabbitMQ's form: four bytes of salt, then SHA-256 of salt and password. */
const HASHES = {
  boss: 'OPFlx+Bt6gFtJs9iEDPEOEQaBU9EE+Nq6qR8YNWlVsb0uyFQ',
  bob: '5JzIj4Jd3klde57hyBMbN1EtZtZ1dabouDPBHXo8DEvi1FWv',
};

describe('definitions', () => {
  it('of a RabbitMQ make a broker with its queues, users and permissions, for good', async () => {
    const first = await startAmqpServer({ config });
    const file = {
      ...DEFINITIONS,
      users: DEFINITIONS.users.map((user) => ({
        ...user,
        password_hash: HASHES[user.name as keyof typeof HASHES],
      })),
    };
    expect(await call(first, 'POST', 'definitions', file)).toEqual({ status: 204, body: undefined });
    await first.stop();
    const journal = new MemoryJournal({ image: first.journal.image() });
    const server = await startAmqpServer({ config, journal });
    expect(await call(server, 'GET', 'overview')).toMatchObject({ status: 401 });
    expect(await call(server, 'GET', 'overview', undefined, 'boss:two')).toMatchObject({ status: 401 });
    const exported = await call(server, 'GET', 'definitions', undefined, 'boss:one');
    expect(exported.body).toMatchObject({
      users: expect.arrayContaining(file.users) as unknown,
      vhosts: DEFINITIONS.vhosts,
      permissions: expect.arrayContaining(DEFINITIONS.permissions) as unknown,
      queues: DEFINITIONS.queues,
      exchanges: DEFINITIONS.exchanges,
      bindings: DEFINITIONS.bindings,
    });
    // Again, and nothing changes.
    expect(await call(server, 'POST', 'definitions', exported.body, 'boss:one')).toMatchObject({
      status: 204,
    });
    await server.stop();
  });

  it('are written once each, however many are of one virtual host', async () => {
    const server = await startAmqpServer({ config });
    const names = Array.from({ length: 20 }, (_, i) => `q${String(i)}`);
    const { entries } = server.journal.stats();
    const file = {
      vhosts: [{ name: 'many' }],
      queues: names.map((name) => ({
        name,
        vhost: 'many',
        durable: true,
        auto_delete: false,
        arguments: {},
      })),
      bindings: names.map((name) => ({
        source: 'amq.topic',
        vhost: 'many',
        destination: name,
        destination_type: 'queue',
        routing_key: name,
        arguments: {},
      })),
    };
    expect(await call(server, 'POST', 'definitions', file)).toMatchObject({ status: 204 });
    expect(server.journal.stats().entries - entries).toBe(1 + 2 * names.length);
    await server.stop();
  });

  it('name what cannot be taken over', async () => {
    const server = await startAmqpServer({ config });
    expect(
      await call(server, 'POST', 'definitions', { exchanges: [{ name: 'x', vhost: '/', type: 'banana' }] }),
    ).toMatchObject({
      status: 400,
      body: {
        reason: expect.stringContaining("exchanges 'x': COMMAND_INVALID - unknown exchange type 'banana'"),
      },
    });
    await server.stop();
  });

  it('bring users who may do what they may do in RabbitMQ', async () => {
    const server = await startAmqpServer({ config });
    const users = DEFINITIONS.users.map(({ name, tags }) => ({
      name,
      tags,
      password: name === 'boss' ? 'one' : 'two',
    }));
    await call(server, 'POST', 'definitions', { ...DEFINITIONS, users });
    const bob = ['bob', 'two'] as const;
    const wrong = await RawAmqp.open(server.port, { user: ['bob', 'one'] });
    expect(await wrong.answer()).toMatch(
      /^CONN 403 ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN/,
    );
    const outside = await RawAmqp.open(server.port, { user: bob, channel: false });
    expect(await outside.answer()).toBe(
      "CONN 530 NOT_ALLOWED - access to vhost '/' refused for user 'bob' [10.40]",
    );
    const raw = await RawAmqp.open(server.port, { user: bob, vhost: 'shop' });
    const refused = async (answer: Promise<string>): Promise<string> => {
      const text = await answer;
      await raw.call(1, 'channel.open', { reserved1: '' });
      return text.replace('ACCESS_REFUSED - ', '');
    };
    const publish = (exchange: string): Promise<string> => {
      raw.publish('k', 'x', { exchange });
      return raw.answer();
    };
    expect(await raw.declare('bob.q', { durable: true })).toBe('queue.declare-ok bob.q 0 0');
    raw.publish('order.1', 'x', { exchange: 'orders' });
    for (const [answer, text] of [
      [
        () => raw.declare('alice.q'),
        "CH 403 access to queue 'alice.q' in vhost 'shop' refused for user 'bob' [50.10]",
      ],
      [
        () => publish(''),
        "CH 403 access to exchange 'amq.default' in vhost 'shop' refused for user 'bob' [60.40]",
      ],
      [
        () => raw.consume('invoices', 't'),
        "CH 403 access to queue 'invoices' in vhost 'shop' refused for user 'bob' [60.20]",
      ],
      [
        () => raw.get('invoices'),
        "CH 403 access to queue 'invoices' in vhost 'shop' refused for user 'bob' [60.70]",
      ],
      [
        () => raw.bind('bob.q', 'orders', 'k'),
        "CH 403 access to exchange 'orders' in vhost 'shop' refused for user 'bob' [50.20]",
      ],
      [
        () => raw.bind('invoices', 'amq.topic', 'k'),
        "CH 403 access to queue 'invoices' in vhost 'shop' refused for user 'bob' [50.20]",
      ],
      [
        () => raw.declare('bob.dl', { arguments: table({ 'x-dead-letter-exchange': 'amq.fanout' }) }),
        "CH 403 access to exchange 'amq.fanout' in vhost 'shop' refused for user 'bob' [50.10]",
      ],
    ] as const) {
      expect(await refused(answer())).toBe(text);
    }
    // Taken away while the connection lives.
    await call(server, 'PUT', 'permissions/shop/bob', { configure: '', write: '', read: '' }, 'boss:one');
    expect(await refused(publish('orders'))).toContain("access to exchange 'orders' in vhost 'shop' refused");
    for (const one of [wrong, outside, raw]) await one.close();
    await server.stop();
  });
});

const ADMIN = (() => {
  const plugins = '/usr/lib/rabbitmq/lib';
  if (!existsSync(plugins)) return undefined;
  for (const version of readdirSync(plugins)) {
    for (const plugin of readdirSync(join(plugins, version, 'plugins'))) {
      const path = join(plugins, version, 'plugins', plugin, 'priv/www/cli/rabbitmqadmin');
      if (plugin.startsWith('rabbitmq_management-') && existsSync(path)) return path;
    }
  }
  return undefined;
})();

describe.skipIf(ADMIN === undefined)("RabbitMQ's own rabbitmqadmin", () => {
  it('works as with RabbitMQ', async () => {
    const server = await startAmqpServer({ config });
    const folder = temporaryFolder();
    const file = join(folder.path, 'definitions.json');
    const port = String(server.ports.get('amqp-management'));
    const admin = async (...args: readonly string[]): Promise<string> => {
      const child = spawn(pythonWith('json') ?? 'python3', [ADMIN ?? '', '-P', port, ...args]);
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await new Promise((resolve) => child.once('close', resolve));
      return output.trim();
    };
    expect(await admin('declare', 'queue', 'name=a', 'durable=true')).toBe('queue declared');
    expect(await admin('declare', 'exchange', 'name=x', 'type=fanout')).toBe('exchange declared');
    expect(await admin('declare', 'binding', 'source=x', 'destination=a')).toBe('binding declared');
    expect(await admin('publish', 'exchange=x', 'routing_key=', 'payload=hello')).toBe('Message published');
    expect(await admin('-f', 'tsv', 'list', 'queues', 'name', 'messages')).toBe('name\tmessages\na\t1');
    expect(await admin('-f', 'raw_json', 'get', 'queue=a', 'ackmode=ack_requeue_false')).toContain(
      '"payload":"hello"',
    );
    const policy = ['name=p', 'pattern=^a$', 'definition={"max-length":1}', 'priority=1', 'apply-to=queues'];
    expect(await admin('declare', 'policy', ...policy)).toBe('policy declared');
    expect(await admin('-f', 'tsv', 'list', 'queues', 'name', 'policy')).toBe('name\tpolicy\na\tp');
    expect(await admin('-f', 'tsv', 'list', 'policies', 'name', 'priority')).toBe('name\tpriority\np\t1');
    expect(await admin('export', file)).toContain('Exported definitions');
    expect(await admin('delete', 'policy', 'name=p')).toBe('policy deleted');
    expect(await admin('delete', 'queue', 'name=a')).toBe('queue deleted');
    writeFileSync(file, JSON.stringify({ ...DEFINITIONS, users: [], permissions: [] }));
    expect(await admin('import', file)).toContain('Uploaded definitions');
    expect(await admin('-f', 'tsv', '-V', 'shop', 'list', 'queues', 'vhost', 'name')).toBe(
      'vhost\tname\nshop\tinvoices',
    );
    folder.remove();
    await server.stop();
  });
});
