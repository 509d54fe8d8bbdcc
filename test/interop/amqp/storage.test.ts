import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import { startAmqpServer } from './amqp-server.js';

const persistent = { deliveryMode: 2 };
const channel = (name: string): ChannelName => name as ChannelName;

describe('after a restart', () => {
  it('durable queues, exchanges, bindings and persistent messages are there, others are not', async () => {
    const first = await startAmqpServer();
    const raw = await RawAmqp.open(first.port);
    await raw.exchange('kept.x', 'topic', { durable: true });
    await raw.exchange('lost.x', 'fanout');
    await raw.declare('kept', { durable: true, arguments: table({ 'x-max-priority': 5 }) });
    await raw.declare('lost');
    await raw.bind('kept', 'kept.x', 'a.#', table({ note: 'with arguments' }));
    await raw.bind('kept', 'lost.x', '');
    await raw.bind('lost', 'kept.x', 'a.#');
    raw.publish('a.b', 'first', { exchange: 'kept.x', properties: persistent });
    raw.publish('a.b', 'high', {
      exchange: 'kept.x',
      properties: { ...persistent, priority: 5, headers: table({ n: 1 }) },
    });
    // Seen, and not acknowledged: it comes back marked.
    expect(await raw.get('kept', false)).toContain('"high"');
    await raw.close();
    await first.stop();

    const second = await startAmqpServer({ journal: new MemoryJournal({ image: first.journal.image() }) });
    const again = await RawAmqp.open(second.port);
    expect(await again.get('kept')).toBe(
      'get-ok #1 redelivered kept.x/a.b +1 "high" {headers=[n:I1], deliveryMode=2, priority=5}',
    );
    expect(await again.get('kept')).toBe('get-ok #2 kept.x/a.b +0 "first" {deliveryMode=2}');
    again.publish('a.c', 'routed', { exchange: 'kept.x' });
    expect(await again.get('kept')).toContain('"routed"');
    expect(await again.exchange('kept.x', 'topic', { durable: true })).toBe('exchange.declare-ok');
    expect(await again.declare('kept', { durable: true })).toContain("inequivalent arg 'x-max-priority'");
    await again.call(1, 'channel.open', { reserved1: '' });
    expect(await again.declare('lost', { passive: true })).toMatch(/^CH 404/);
    await again.call(1, 'channel.open', { reserved1: '' });
    expect(await again.exchange('lost.x', 'fanout', { passive: true })).toMatch(/^CH 404/);
    await again.close();
    await second.stop();
  });
});

describe('bounds of nothing', () => {
  it('hold after a restart', async () => {
    const first = await startAmqpServer();
    const raw = await RawAmqp.open(first.port);
    const dead = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'dead' };
    await raw.declare('dead', { durable: true });
    const bounds = { brief: { 'x-message-ttl': 0 }, none: { 'x-max-length': 0 } };
    for (const [queue, bound] of Object.entries(bounds)) {
      await raw.declare(queue, { durable: true, arguments: table({ ...bound, ...dead }) });
    }
    await raw.close();
    await first.stop();

    const second = await startAmqpServer({ journal: new MemoryJournal({ image: first.journal.image() }) });
    const again = await RawAmqp.open(second.port);
    for (const queue of Object.keys(bounds)) {
      again.publish(queue, queue, { properties: persistent });
      expect(await again.declare(queue, { passive: true })).toBe(`queue.declare-ok ${queue} 0 0`);
      expect(await again.get('dead')).toContain(`"${queue}"`);
    }
    await again.close();
    await second.stop();
  });
});

describe('seen from other protocols', () => {
  it('a message has tags, metadata and an id', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    await raw.declare('seen', { durable: true });
    raw.publish('seen', '{"a":1}', {
      properties: {
        ...persistent,
        contentType: 'application/json',
        messageId: 'm-1',
        timestamp: 1_700_000_000n,
        headers: table({ trace: 'abc-123', n: 7, list: ['x'] }),
      },
    });
    raw.publish('seen', 'bare');
    await raw.declare('after');
    const [rich, bare] = await server.broker.peek(channel('amqp.default.seen'), 2);
    expect(rich?.message.id).toBe('m-1');
    expect(rich?.message.metadata).toBe('{"amqp_headers":{"trace":"abc-123","n":7,"list":["x"]}}');
    expect([...(rich?.message.tags ?? [])].sort()).toEqual([
      ['amqp.content-type', 'application/json'],
      ['amqp.delivery-mode', '2'],
      ['amqp.exchange', ''],
      ['amqp.message-id', 'm-1'],
      ['amqp.routing-key', 'seen'],
      ['amqp.timestamp', '1700000000'],
    ]);
    expect(rich?.message.clientId).toBe('guest');
    expect(bare?.message.metadata).toBe('{"amqp_headers":{}}');
    expect(bare?.message.id).toMatch(/^[0-9a-f-]{36}$/);
    await raw.close();
    await server.stop();
  });

  it("another protocol's message has properties and headers", async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    await raw.declare('foreign', { durable: true });
    const to = channel('amqp.default.foreign');
    const body = Buffer.from('hi');
    await server.broker.send([
      {
        channel: to,
        body,
        id: 'n-1',
        metadata: 'native-metadata',
        tags: new Map([
          ['amqp.content-type', 'text/plain'],
          ['color', 'red'],
          ['amqp.priority', 'nine'],
        ]),
      },
      { channel: to, body, id: 'n-2', metadata: '{"amqp_headers":{"n":7,"deep":{"t":true}}}' },
      {
        channel: to,
        body,
        id: 'n-3',
        tags: new Map([
          ['large', 'x'.repeat(200_000)],
          ['small', 'y'],
        ]),
      },
    ]);
    expect(await raw.get('foreign')).toBe(
      'get-ok #1 /foreign +2 "hi" {contentType=text/plain, headers=[amqp.priority:S"nine", color:S"red", x-kubemq-metadata:S"native-metadata"], messageId=n-1}',
    );
    expect(await raw.get('foreign')).toBe(
      'get-ok #2 /foreign +1 "hi" {headers=[deep:F[t:ttrue], n:I7], messageId=n-2}',
    );
    expect(await raw.get('foreign')).toBe('get-ok #3 /foreign +0 "hi" {headers=[small:S"y"], messageId=n-3}');
    await raw.close();
    await server.stop();
  });

  it('an alias is a queue like any other, and deleting it leaves the channel', async () => {
    const server = await startAmqpServer();
    const sqs = channel('sqs.orders');
    const alias = channel('amqp.default.orders');
    await server.broker.change([
      { do: 'create-queue', channel: sqs },
      { do: 'set-alias', alias, channel: sqs },
    ]);
    const raw = await RawAmqp.open(server.port);
    expect(await raw.declare('orders', { durable: true })).toBe('queue.declare-ok orders 0 0');
    await server.broker.send([{ channel: sqs, body: Buffer.from('from sqs') }]);
    expect(await raw.get('orders')).toContain('"from sqs"');
    raw.publish('orders', 'from amqp');
    await raw.call(1, 'queue.delete', {
      ticket: 0,
      queue: 'orders',
      ifUnused: false,
      ifEmpty: false,
      nowait: false,
    });
    expect(server.broker.queueStats(sqs)?.ready).toBe(1);
    expect(await raw.declare('orders', { passive: true })).toMatch(/^CH 404/);
    await raw.close();
    await server.stop();
  });
});

describe('names', () => {
  it('that a channel cannot have are refused, or encoded when that is asked for', async () => {
    const strict = await startAmqpServer();
    const raw = await RawAmqp.open(strict.port);
    for (const name of ['a:b', 'a b', 'a;b', 'a*', 'a>', 'a.', 'x'.repeat(250)]) {
      expect(await raw.declare(name)).toMatch(/^CH 406 PRECONDITION_FAILED/);
      await raw.call(1, 'channel.open', { reserved1: '' });
    }
    await raw.close();
    await strict.stop();

    const lenient = await startAmqpServer({ config: { strictNames: false } });
    const other = await RawAmqp.open(lenient.port, { vhost: 'my.team' });
    for (const name of ['a:b', 'a b', 'a.', 'a%3Ab'])
      expect(await other.declare(name)).toContain('queue.declare-ok');
    other.publish('a:b', 'x');
    expect(await other.get('a:b')).toContain('/a:b');
    expect(lenient.broker.queues('amqp.')).toEqual([
      'amqp.my%2Eteam.a%20b',
      'amqp.my%2Eteam.a%253Ab',
      'amqp.my%2Eteam.a%2E',
      'amqp.my%2Eteam.a%3Ab',
    ]);
    await other.close();
    await lenient.stop();
  });
});
