import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import type { FieldValue } from '../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

const LOG = 'amqp.default.s' as ChannelName;
const persistent = { deliveryMode: 2 };

const stream = (args: Parameters<typeof table>[0] = {}) => ({
  durable: true,
  arguments: table({ 'x-queue-type': 'stream', ...args }),
});
const offset = (value: FieldValue) => ({ arguments: new Map([['x-stream-offset', value]]) });
const text = (value: string): FieldValue => ({ tag: 'S', value: Buffer.from(value) });

let clock: ManualClock;
let server: AmqpServer;
let raw: RawAmqp;
beforeEach(async () => {
  clock = new ManualClock();
  server = await startAmqpServer({ clock });
  raw = await RawAmqp.open(server.port);
});
afterEach(async () => {
  await raw.close();
  await server.stop();
  expect(server.logged).toEqual([]);
});

/** Publishes and waits for each confirm. */
async function fill(bodies: readonly string[]): Promise<void> {
  await raw.call(1, 'confirm.select', { nowait: false });
  for (const body of bodies) {
    raw.publish('s', body, { properties: persistent });
    expect(await raw.answer()).toMatch(/^basic\.ack/);
  }
}

const bodiesOf = (answers: readonly string[]): readonly string[] =>
  answers.map((answer) => /"([^"]*)"/.exec(answer)?.[1] ?? answer);

async function read(port: number, where: ReturnType<typeof offset>): Promise<readonly string[]> {
  const reader = await RawAmqp.open(port);
  await reader.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 100, global: false });
  await reader.consume('s', 't', where);
  const answers = await reader.rest();
  await reader.close();
  return bodiesOf(answers);
}

describe('a stream', () => {
  it('keeps its messages and their offsets over a restart, and other protocols read it as a log', async () => {
    await raw.declare('s', stream());
    await fill(['a', 'b', 'c']);
    expect(server.broker.logStats(LOG)?.events).toBe(3);
    const second = await startAmqpServer({
      clock,
      journal: new MemoryJournal({ image: server.journal.image() }),
    });
    expect(await read(second.port, offset({ tag: 'l', value: 1n }))).toEqual(['b', 'c']);
    const events = await second.broker.readLog({ channel: LOG, fromSequence: 1, max: 10 });
    expect(events.map(({ message }) => Buffer.from(message.body).toString())).toEqual(['a', 'b', 'c']);
    const again = await RawAmqp.open(second.port);
    expect(await again.declare('s', stream())).toBe('queue.declare-ok s 3 0');
    expect(await again.declare('s', { durable: true })).toContain("inequivalent arg 'x-queue-type'");
    await again.close();
    await second.stop();
  });

  it('is read from a time on, and from so long ago', async () => {
    await raw.declare('s', stream());
    await fill(['old']);
    clock.advance(7_200_000);
    const seconds = BigInt(Math.floor(clock.now() / 1000));
    await fill(['new']);
    expect(await read(server.port, offset(text('1h')))).toEqual(['new']);
    expect(await read(server.port, offset(text('3h')))).toEqual(['old', 'new']);
    expect(await read(server.port, offset({ tag: 'T', value: seconds - 1n }))).toEqual(['new']);
  });

  it('drops what is older or more than it may keep', async () => {
    await raw.declare('s', stream({ 'x-max-age': '1h' }));
    await fill(['old']);
    clock.advance(3_700_000);
    await fill(['new']);
    expect(await read(server.port, offset(text('first')))).toEqual(['new']);
    await raw.call(1, 'queue.delete', {
      ticket: 0,
      queue: 's',
      ifUnused: false,
      ifEmpty: false,
      nowait: false,
    });
    expect(server.broker.logStats(LOG)).toBeUndefined();
    await raw.declare('s', stream({ 'x-max-length-bytes': 1_000 }));
    await fill(['x'.repeat(60).padEnd(990, '.'), 'kept']);
    expect(await read(server.port, offset(text('first')))).toEqual(['kept']);
  });

  it('refuses what makes no sense', async () => {
    for (const age of ['soon', '5', '1w']) {
      expect(await raw.declare('s', stream({ 'x-max-age': age }))).toBe(
        "CH 406 PRECONDITION_FAILED - invalid arg 'x-max-age' for queue 's' in vhost '/': invalid_max_age [50.10]",
      );
      await raw.call(1, 'channel.open', { reserved1: '' });
    }
    await raw.declare('s', stream());
    for (const bad of [text('sometime'), { tag: 't', value: true } as const]) {
      await raw.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: false });
      expect(await raw.consume('s', 't', offset(bad))).toMatch(/^CH 406 .*invalid arg 'x-stream-offset'/);
      await raw.call(1, 'channel.open', { reserved1: '' });
    }
  });

  it('gives on credit only, to a prefetch that is shared, too, and after a pause', async () => {
    await raw.declare('s', stream());
    await fill(['0', '1', '2', '3', '4', '5']);
    const reader = await RawAmqp.open(server.port);
    await reader.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: false });
    await reader.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 2, global: true });
    expect(await reader.consume('s', 't', offset(text('first')))).toBe('basic.consume-ok t');
    expect(bodiesOf(await reader.rest())).toEqual(['0', '1']);
    await reader.call(1, 'channel.flow', { active: false });
    reader.send(1, 'basic.ack', { deliveryTag: 2, multiple: true });
    expect(await reader.rest()).toEqual([]);
    expect(await reader.call(1, 'channel.flow', { active: true })).toBe('channel.flow-ok true');
    expect(bodiesOf(await reader.rest())).toEqual(['2', '3']);
    expect(await reader.call(1, 'basic.recover', { requeue: true })).toBe('basic.recover-ok');
    reader.send(1, 'basic.ack', { deliveryTag: 0, multiple: true });
    expect(bodiesOf(await reader.rest())).toEqual(['4', '5']);
    await reader.close();
  });

  it('tells its readers when it goes', async () => {
    await raw.declare('s', stream());
    const reader = await RawAmqp.open(server.port);
    await reader.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: false });
    await reader.consume('s', 't');
    await raw.call(1, 'queue.delete', {
      ticket: 0,
      queue: 's',
      ifUnused: false,
      ifEmpty: false,
      nowait: false,
    });
    expect(await reader.answer()).toBe('basic.cancel t true');
    raw.publish('s', 'nowhere', { mandatory: true });
    expect(await raw.answer()).toMatch(/^basic\.return 312 NO_ROUTE/);
    await reader.close();
  });

  it('takes dead letters', async () => {
    await raw.declare('s', stream());
    const args = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 's' };
    await raw.declare('q', { arguments: table(args) });
    raw.publish('q', 'dies');
    await raw.get('q', false);
    raw.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    await raw.declare('q', { arguments: table(args) });
    expect(await read(server.port, offset(text('first')))).toEqual(['dies']);
  });

  it('takes part in transactions: its messages come with the commit, its deliveries are not given back', async () => {
    await raw.declare('s', stream());
    await raw.declare('q', { durable: true });
    await raw.call(1, 'tx.select', {});
    raw.publish('s', 'first', { properties: persistent });
    raw.publish('q', 'queued', { properties: persistent });
    expect(await read(server.port, offset(text('first')))).toEqual([]);
    expect(await raw.call(1, 'tx.commit', {})).toBe('tx.commit-ok');
    expect(await read(server.port, offset(text('first')))).toEqual(['first']);
    expect(server.broker.queueStats('amqp.default.q' as ChannelName)?.ready).toBe(1);
    await raw.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: false });
    await raw.consume('s', 't', offset(text('first')));
    expect(bodiesOf([await raw.answer()])).toEqual(['first']);
    raw.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    expect(await raw.call(1, 'tx.commit', {})).toBe('tx.commit-ok');
  });

  it('holds publishes while the disk is nearly full, and stores each once', async () => {
    await raw.declare('s', stream());
    await raw.declare('q', { durable: true });
    for (const queue of ['s', 'q']) await raw.bind(queue, 'amq.fanout', '');
    await raw.call(1, 'confirm.select', { nowait: false });
    server.faults.lowSpace = true;
    raw.publish('', 'held', { exchange: 'amq.fanout', properties: persistent });
    expect(await raw.answer()).toMatch(/^connection\.blocked/);
    server.faults.lowSpace = false;
    clock.advance(200);
    expect(await raw.answer()).toBe('basic.ack 1 false');
    expect(await raw.answer()).toBe('connection.unblocked');
    expect(server.broker.logStats(LOG)?.events).toBe(1);
    expect(server.broker.queueStats('amqp.default.q' as ChannelName)?.ready).toBe(1);
  });
});
