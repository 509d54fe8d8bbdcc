import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { call, get } from './management-call.js';
import { until } from './probes/probe.js';

const config = { managementEnable: true, managementPort: 0 };

let server: AmqpServer;
let raw: RawAmqp;
beforeEach(async () => {
  server = await startAmqpServer({ config });
  raw = await RawAmqp.open(server.port);
});
afterEach(async () => {
  await raw.close();
  expect(server.logged).toEqual([]);
  await server.stop();
});

async function policy(
  name: string,
  definition: unknown,
  more: Readonly<Record<string, unknown>> = {},
  path = 'policies',
): Promise<void> {
  const { status } = await call(server, 'PUT', `${path}/%2F/${name}`, {
    pattern: '^p\\.',
    definition,
    ...more,
  });
  expect([201, 204]).toContain(status);
}

/** The bodies of what waits in a queue, taken. */
async function drained(queue: string): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (;;) {
    const got = await raw.get(queue);
    const body = /"(.*?)"/.exec(got)?.[1];
    if (body === undefined) return bodies;
    bodies.push(body);
  }
}

const fill = (queue: string, ...bodies: readonly string[]): void => {
  for (const body of bodies) raw.publish(queue, body);
};

describe('a policy acts on queues', () => {
  it('max-length and overflow: on what is there, on what comes, and not any more when it is gone', async () => {
    await raw.declare('p.q');
    fill('p.q', 'a', 'b', 'c');
    await raw.declare('other');
    fill('other', 'a', 'b', 'c');
    await raw.declare('p.q', { passive: true });
    await policy('p', { 'max-length': 2 }, { 'apply-to': 'queues' });
    expect(await raw.declare('p.q', { passive: true })).toBe('queue.declare-ok p.q 2 0');
    fill('p.q', 'd');
    expect(await drained('p.q')).toEqual(['c', 'd']);
    expect(await drained('other')).toEqual(['a', 'b', 'c']);
    await policy('p', { 'max-length': 2, overflow: 'reject-publish' });
    fill('p.q', 'e', 'f', 'g');
    expect(await drained('p.q')).toEqual(['e', 'f']);
    expect(await call(server, 'DELETE', 'policies/%2F/p')).toMatchObject({ status: 204 });
    fill('p.q', 'h', 'i', 'j');
    expect(await drained('p.q')).toEqual(['h', 'i', 'j']);
  });

  it('dead-letter-exchange and -routing-key; an argument of the queue wins', async () => {
    await raw.declare('dead');
    await raw.declare('own');
    await raw.declare('p.q');
    const own = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'own' };
    await raw.declare('p.own', { arguments: table(own) });
    await policy('p', { 'dead-letter-exchange': '', 'dead-letter-routing-key': 'dead', 'max-length': 1 });
    fill('p.q', '1', '2');
    expect(await until(raw, 'dead')).toContain('"1"');
    fill('p.own', '3', '4');
    expect(await until(raw, 'own')).toContain('"3"');
  });

  it('a dead-letter key alone says nothing', async () => {
    await policy('p', { 'dead-letter-routing-key': 'dead', 'max-length': 1 });
    expect(await raw.declare('p.q')).toBe('queue.declare-ok p.q 0 0');
    fill('p.q', '1', '2');
    expect(await drained('p.q')).toEqual(['2']);
  });

  it('delivery-limit: on quorum queues, and a policy that says it passes others by', async () => {
    await policy('p', { 'delivery-limit': 1, 'max-length': 1 });
    await raw.declare('p.classic');
    fill('p.classic', 'a', 'b');
    expect(await drained('p.classic')).toEqual(['a', 'b']);
    await raw.declare('p.quorum', { durable: true, arguments: table({ 'x-queue-type': 'quorum' }) });
    fill('p.quorum', 'a');
    for (let i = 0; i < 2; i++) {
      const [, tag = ''] = /#(\d+)/.exec(await raw.get('p.quorum', false)) ?? [];
      raw.send(1, 'basic.nack', { deliveryTag: Number(tag), multiple: false, requeue: true });
    }
    expect(await raw.get('p.quorum')).toBe('basic.get-empty');
    expect(await get(server, 'queues/%2F/p.classic')).toMatchObject({ policy: null });
  });

  it('alternate-exchange: for exchanges without one of their own', async () => {
    await raw.declare('strays');
    await raw.bind('strays', 'amq.fanout', '');
    await raw.exchange('p.x', 'direct');
    await raw.exchange('p.own', 'direct', { arguments: table({ 'alternate-exchange': 'amq.topic' }) });
    await policy('p', { 'alternate-exchange': 'amq.fanout' }, { 'apply-to': 'exchanges' });
    raw.publish('nowhere', 'stray', { exchange: 'p.x', mandatory: true });
    raw.publish('nowhere', 'lost', { exchange: 'p.own' });
    expect(await raw.get('strays')).toContain('"stray"');
    expect(await raw.get('strays')).toBe('basic.get-empty');
    expect(await get(server, 'exchanges/%2F/p.x')).toMatchObject({ policy: 'p' });
    await call(server, 'DELETE', 'policies/%2F/p');
    raw.publish('nowhere', 'stray', { exchange: 'p.x' });
    expect(await raw.get('strays')).toBe('basic.get-empty');
  });

  it('max-age and max-length-bytes: on the log of a stream', async () => {
    await raw.declare('p.s', { durable: true, arguments: table({ 'x-queue-type': 'stream' }) });
    await policy('p', { 'max-age': '1h', 'max-length-bytes': 4096 }, { 'apply-to': 'streams' });
    const settings = (): unknown => server.broker.logStats('amqp.default.p.s' as never)?.settings;
    expect(settings()).toMatchObject({ retentionMs: 3_600_000, retentionBytes: 4096 });
    await call(server, 'DELETE', 'policies/%2F/p');
    expect(settings()).toMatchObject({ retentionMs: 0, retentionBytes: 0 });
  });
});

describe('of several policies', () => {
  it('the strongest holds, bounds are the smaller of policy, operator and argument', async () => {
    await raw.declare('p.q', { arguments: table({ 'x-max-length': 7, 'x-overflow': 'reject-publish' }) });
    await policy('weak', { 'max-length': 1 });
    await policy('strong', { 'max-length': 9, overflow: 'drop-head' }, { priority: 3 });
    await policy('op', { 'message-ttl': 60_000, 'max-length': 8 }, { priority: -1 }, 'operator-policies');
    expect(await get(server, 'queues/%2F/p.q')).toMatchObject({
      policy: 'strong',
      operator_policy: 'op',
      effective_policy_definition: { 'max-length': 8, overflow: 'drop-head', 'message-ttl': 60_000 },
      arguments: { 'x-max-length': 7 },
    });
    const settings = (): unknown => server.broker.queueStats('amqp.default.p.q' as never)?.settings;
    expect(settings()).toMatchObject({ maxLength: 7, overflow: 'reject', messageTtlMs: 60_000 });
    await policy('strong', { 'max-length': 2 }, { priority: 3 });
    expect(settings()).toMatchObject({ maxLength: 2 });
    await call(server, 'DELETE', 'policies/%2F/strong');
    expect(settings()).toMatchObject({ maxLength: 1 });
    // What was declared is what is compared, whatever policies say.
    expect(
      await raw.declare('p.q', { arguments: table({ 'x-max-length': 7, 'x-overflow': 'reject-publish' }) }),
    ).toBe('queue.declare-ok p.q 0 0');
  });
});

it('message-ttl and expires, by the clock', async () => {
  const clock = new ManualClock();
  const timed = await startAmqpServer({ config, clock });
  const client = await RawAmqp.open(timed.port);
  await client.declare('p.q');
  client.publish('p.q', 'before');
  await client.declare('p.q', { passive: true });
  const put = (definition: unknown): Promise<unknown> =>
    call(timed, 'PUT', 'policies/%2F/p', { pattern: '^p', definition });
  await put({ 'message-ttl': 1000 });
  client.publish('p.q', 'after');
  expect(await client.declare('p.q', { passive: true })).toBe('queue.declare-ok p.q 2 0');
  clock.advance(1001);
  // As in RabbitMQ: a time to live is a message's from when it comes.
  expect(await client.get('p.q')).toContain('"before"');
  expect(await client.get('p.q')).toBe('basic.get-empty');
  await put({ expires: 5000 });
  clock.advance(4999);
  expect(timed.broker.queues('amqp.')).toHaveLength(1);
  clock.advance(2);
  await expect.poll(() => timed.broker.queues('amqp.')).toEqual([]);
  await client.close();
  await timed.stop();
});

describe('the API of policies', () => {
  it('lists, sets, shows and takes away', async () => {
    const body = { pattern: '^p', definition: { 'max-length': 1 }, priority: 2, 'apply-to': 'queues' };
    const shown = { ...body, vhost: '/', name: 'one' };
    for (const path of ['policies', 'operator-policies']) {
      expect(await call(server, 'PUT', `${path}/%2F/one`, body)).toEqual({ status: 201, body: undefined });
      expect(await call(server, 'PUT', `${path}/%2F/one`, body)).toEqual({ status: 204, body: undefined });
      expect(await get(server, path)).toEqual([shown]);
      expect(await get(server, `${path}/%2F`)).toEqual([shown]);
      expect(await get(server, `${path}/%2F/one`)).toEqual(shown);
      if (path === 'operator-policies') {
        const value = { pattern: '^p', definition: { 'max-length': 1 }, priority: 2, 'apply-to': 'queues' };
        expect(await get(server, 'parameters')).toEqual([
          { component: 'operator_policy', vhost: '/', name: 'one', value },
        ]);
      }
      expect(await call(server, 'DELETE', `${path}/%2F/one`)).toMatchObject({ status: 204 });
      expect(await call(server, 'DELETE', `${path}/%2F/one`)).toMatchObject({ status: 404 });
      expect(await call(server, 'GET', `${path}/%2F/one`)).toMatchObject({ status: 404 });
      expect(await call(server, 'GET', `${path}/none`)).toMatchObject({ status: 404 });
    }
  });

  // Texts as RabbitMQ 3.10.8 sends them.
  it.each([
    [{}, '[{key_missing,pattern},{key_missing,definition}]'],
    [{ pattern: '^q' }, '[{key_missing,definition}]'],
    [{ pattern: '^q', definition: {} }, 'no policy provided'],
    [{ pattern: 1, definition: { 'max-length': 1 } }, 'pattern should be a binary but was 1'],
    [
      { pattern: '(', definition: { 'max-length': 1 } },
      'pattern should be regular expression but is invalid: ',
    ],
    [{ pattern: '^q', definition: { foo: 1 } }, '[{<<"foo">>,1}] are not recognised policy settings'],
    [{ pattern: '^q', definition: { 'max-length': -1 } }, '-1 is not a valid maximum length\n'],
    [{ pattern: '^q', definition: { 'max-length': 'x' } }, '<<"x">> is not a valid maximum length\n'],
    [
      { pattern: '^q', definition: { 'max-length-bytes': -1 } },
      '-1 is not a valid maximum length in bytes\n',
    ],
    [{ pattern: '^q', definition: { 'message-ttl': -1 } }, '-1 is not a valid message TTL\n'],
    [{ pattern: '^q', definition: { expires: 0 } }, '0 is not a valid queue expiry\n'],
    [{ pattern: '^q', definition: { overflow: 'x' } }, '<<"x">> is not a valid overflow value\n'],
    [{ pattern: '^q', definition: { 'delivery-limit': -1 } }, '-1 is not a valid delivery limit\n'],
    [
      { pattern: '^q', definition: { 'dead-letter-exchange': 1 } },
      '1 is not a valid dead letter exchange name\n',
    ],
    [
      { pattern: '^q', definition: { 'alternate-exchange': 1 } },
      '1 is not a valid alternate exchange name\n',
    ],
    [{ pattern: '^q', definition: { 'queue-mode': 'x' } }, '<<"x">> is not a valid queue-mode value\n'],
    [{ pattern: '^q', definition: { 'ha-mode': 'x' } }, '<<"x">> is not a valid ha-mode value\n'],
    [
      { pattern: '^q', definition: { 'max-length': 1 }, priority: 'x' },
      'priority should be a number, actually was <<"x">>',
    ],
    [
      { pattern: '^q', definition: { 'max-length': 1 }, 'apply-to': 'x' },
      "apply-to 'x' unrecognised; should be",
    ],
  ])('refuses %j', async (body, reason) => {
    expect(await call(server, 'PUT', 'policies/%2F/bad', body)).toEqual({
      status: 400,
      body: { error: 'bad_request', reason: expect.stringContaining(reason) as unknown },
    });
    expect(await get(server, 'policies')).toEqual([]);
  });

  it('an operator sets bounds only', async () => {
    for (const definition of [{ 'dead-letter-exchange': 'x' }, { overflow: 'reject-publish' }, { foo: 1 }]) {
      expect(
        await call(server, 'PUT', 'operator-policies/%2F/bad', { pattern: '^q', definition }),
      ).toMatchObject({
        status: 400,
        body: { reason: expect.stringContaining('are not recognised policy settings') as unknown },
      });
    }
  });

  it('parameters: none of plug-ins, global ones of any kind', async () => {
    expect(await get(server, 'parameters/shovel')).toEqual([]);
    expect(await get(server, 'parameters/shovel/%2F')).toEqual([]);
    expect(await call(server, 'GET', 'parameters/shovel/%2F/x')).toMatchObject({ status: 404 });
    expect(await call(server, 'PUT', 'parameters/shovel/%2F/x', { value: {} })).toMatchObject({
      status: 400,
      body: { reason: 'Validation failed\n\ncomponent shovel not found\n' },
    });
    expect(await call(server, 'DELETE', 'parameters/shovel/%2F/x')).toMatchObject({ status: 404 });
    const value = { a: [1] };
    expect(await call(server, 'PUT', 'global-parameters/x', { value })).toMatchObject({ status: 201 });
    expect(await call(server, 'PUT', 'global-parameters/x', { value })).toMatchObject({ status: 204 });
    expect(await call(server, 'PUT', 'global-parameters/x', {})).toMatchObject({ status: 400 });
    expect(await get(server, 'global-parameters/x')).toEqual({ name: 'x', value });
    expect(await get(server, 'global-parameters')).toEqual([{ name: 'x', value }]);
    expect(await call(server, 'DELETE', 'global-parameters/x')).toMatchObject({ status: 204 });
    expect(await call(server, 'DELETE', 'global-parameters/x')).toMatchObject({ status: 404 });
    expect(await call(server, 'GET', 'global-parameters/x')).toMatchObject({ status: 404 });
  });
});

it('a definitions file brings policies, they survive a restart, and are exported', async () => {
  const policies = [
    {
      vhost: '/',
      name: 'p',
      pattern: '^p',
      'apply-to': 'queues',
      definition: { 'max-length': 1 },
      priority: 0,
    },
  ];
  const value = { pattern: '^p', definition: { 'message-ttl': 60_000 }, priority: 0, 'apply-to': 'all' };
  const parameters = [{ vhost: '/', component: 'operator_policy', name: 'o', value }];
  const global_parameters = [{ name: 'cluster_name', value: 'rabbit@x' }];
  const queues = [{ name: 'p.q', vhost: '/', durable: true, auto_delete: false, arguments: {} }];
  const vhosts = [{ name: '/' }];
  const file = { vhosts, policies, parameters, global_parameters, queues };
  const first = await startAmqpServer({ config });
  const shovel = { vhost: '/', component: 'shovel', name: 's', value: {} };
  expect(
    await call(first, 'POST', 'definitions', { ...file, parameters: [...parameters, shovel] }),
  ).toMatchObject({ status: 204 });
  expect(first.logged).toEqual([expect.stringContaining('parameters of a definitions file are not kept')]);
  await first.stop();
  const second = await startAmqpServer({
    config,
    journal: new MemoryJournal({ image: first.journal.image() }),
  });
  expect(await get(second, 'definitions')).toMatchObject({ policies, parameters, global_parameters });
  expect(await get(second, 'queues/%2F/p.q')).toMatchObject({ policy: 'p', operator_policy: 'o' });
  const settings = (): unknown => second.broker.queueStats('amqp.default.p.q' as never)?.settings;
  expect(settings()).toMatchObject({ maxLength: 1, messageTtlMs: 60_000 });
  await call(second, 'DELETE', 'policies/%2F/p');
  expect(settings()).toMatchObject({ maxLength: 0, messageTtlMs: 60_000 });
  await second.stop();
});
