import amqplib from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { FieldValue } from '../../../src/connectors/amqp/wire/field-table.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { text, until } from './probes/probe.js';

/** What went wrong elsewhere over time, restarts and many deaths; which reports these are says reports.test.ts. */
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

/** The broker stops without a word and starts again from what is stored. */
async function restarted(): Promise<void> {
  const image = server.journal.image();
  await raw.close();
  await server.stop();
  server = await startAmqpServer({ clock, journal: new MemoryJournal({ image }) });
  raw = await RawAmqp.open(server.port);
}

const toQueue = (queue: string) => ({ 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue });
const withHeaders = (headers: ReadonlyMap<string, FieldValue>) => ({ properties: { headers } });

/** Gets the next message of a queue and rejects it. */
async function rejectNext(queue: string): Promise<string> {
  const got = await until(raw, queue, false);
  const tag = Number(/#(\d+)/.exec(got)?.[1]);
  raw.send(1, 'basic.reject', { deliveryTag: tag, requeue: false });
  return got;
}

/** `queue reason count` of each death that is told, and which was the first. */
function deathsOf(answer: string): readonly string[] {
  const deaths = [...answer.matchAll(/F\[(.*?)\]/g)].map(([, entry = '']) => {
    const field = (name: string): string => new RegExp(`\\b${name}:[lS]"?([\\w.-]+)`).exec(entry)?.[1] ?? '?';
    return `${field('queue')} ${field('reason')} ${field('count')}`;
  });
  return [...deaths, `first ${/x-first-death-queue:S"([^"]*)"/.exec(answer)?.[1] ?? '?'}`];
}

describe('an exclusive consumer', () => {
  it('holds its queue no longer than its socket lives', async () => {
    await raw.declare('e.q', { durable: true });
    const owner = await RawAmqp.open(server.port);
    await owner.consume('e.q', 'owner', { exclusive: true });
    expect(await raw.consume('e.q', 'next')).toMatch(
      /^CH 403 ACCESS_REFUSED - queue 'e.q' .* in exclusive use/,
    );
    await raw.call(1, 'channel.open', { reserved1: '' });
    await owner.close();
    await expect.poll(() => raw.declare('e.q', { passive: true })).toBe('queue.declare-ok e.q 0 0');
    expect(await raw.consume('e.q', 'next', { exclusive: true })).toBe('basic.consume-ok next');
  });

  it('holds it over no restart', async () => {
    await raw.declare('e.q', { durable: true });
    await raw.consume('e.q', 'owner', { exclusive: true });
    await restarted();
    expect(await raw.consume('e.q', 'next')).toBe('basic.consume-ok next');
  });
});

describe('a queue that expires', () => {
  it('begins its time when its last consumer leaves, however long that was there', async () => {
    await raw.declare('x.q', { arguments: table({ 'x-expires': 60_000 }) });
    await raw.consume('x.q', 't');
    clock.advance(600_000);
    await raw.call(1, 'basic.cancel', { consumerTag: 't', nowait: false });
    clock.advance(59_000);
    // Not asked on the wire: a look begins the time anew.
    expect(server.broker.queues('amqp.')).toEqual(['amqp.default.x.q']);
    clock.advance(2_000);
    await expect.poll(() => server.broker.queues('amqp.')).toEqual([]);
  });
});

describe('deaths', () => {
  it('are told apart from delays: a delayed exchange leaves what it delays as it is', async () => {
    await raw.exchange('d.later', 'x-delayed-message', { arguments: table({ 'x-delayed-type': 'direct' }) });
    const dlx = { 'x-dead-letter-exchange': 'd.later', 'x-dead-letter-routing-key': 'd.end' };
    await raw.declare('d.src', { arguments: table(dlx) });
    await raw.declare('d.end');
    await raw.bind('d.end', 'd.later', 'd.end');
    const headers = new Map<string, FieldValue>([['x-delay', { tag: 'I', value: 5_000 }]]);
    raw.publish('d.src', 'dies', withHeaders(headers));
    // What is asked behind it has seen it.
    await raw.declare('d.src', { passive: true });
    clock.advance(6_000);
    await rejectNext('d.src');
    await raw.declare('d.end', { passive: true });
    clock.advance(6_000);
    const got = await until(raw, 'd.end', false);
    expect(deathsOf(got)).toEqual(['d.src rejected 1', 'first d.src']);
    expect(got).toMatch(/^get-ok #2 d\.later\/d\.end /);
  });

  it('keep the first one, and count on when a client publishes what it got', async () => {
    await raw.declare('d.end');
    await raw.declare('d.two', { arguments: table(toQueue('d.end')) });
    await raw.declare('d.one', { arguments: table(toQueue('d.two')) });
    raw.publish('d.one', 'dies');
    await rejectNext('d.one');
    await rejectNext('d.two');
    expect(deathsOf(await until(raw, 'd.end'))).toEqual([
      'd.two rejected 1',
      'd.one rejected 1',
      'first d.one',
    ]);
    const trail = (queue: string, count: bigint): FieldValue => ({
      tag: 'F',
      value: new Map<string, FieldValue>([
        ['count', { tag: 'l', value: count }],
        ['reason', text('rejected')],
        ['queue', text(queue)],
      ]),
    });
    const headers = new Map<string, FieldValue>([
      ['x-death', { tag: 'A', value: [trail('d.two', 1n), trail('d.one', 4n)] }],
      ['x-first-death-queue', text('d.one')],
    ]);
    raw.publish('d.two', 'again', withHeaders(headers));
    await rejectNext('d.two');
    expect(deathsOf(await until(raw, 'd.end'))).toEqual([
      'd.two rejected 2',
      'd.one rejected 4',
      'first d.one',
    ]);
  });

  it('go on being counted when a client put nonsense into them', async () => {
    await raw.declare('d.end');
    await raw.declare('d.odd', { arguments: table(toQueue('d.end')) });
    const entry: FieldValue = {
      tag: 'F',
      value: new Map<string, FieldValue>([
        ['count', text('three')],
        ['reason', { tag: 'I', value: 7 }],
        ['queue', { tag: 't', value: true }],
        ['routing-keys', text('k')],
        ['time', text('noon')],
        ['exchange', { tag: 'V', value: null }],
      ]),
    };
    let headers = new Map<string, FieldValue>([['x-death', { tag: 'A', value: [entry, text('x')] }]]);
    // Three times, as a client that publishes what it got: the third was what ended queues.
    for (let death = 1; death <= 3; death++) {
      raw.publish('d.odd', `dies ${String(death)}`, withHeaders(headers));
      await rejectNext('d.odd');
      const got = await until(raw, 'd.end');
      expect(got).toContain(`"dies ${String(death)}"`);
      expect(deathsOf(got)).toContain(`d.odd rejected ${String(death)}`);
      const own: FieldValue = {
        tag: 'F',
        value: new Map<string, FieldValue>([
          ['count', { tag: 'l', value: BigInt(death) }],
          ['reason', text('rejected')],
          ['queue', text('d.odd')],
        ]),
      };
      headers = new Map([['x-death', { tag: 'A', value: [own, entry] }]]);
    }
  });
});

describe('delayed messages', () => {
  it('come each at its time, however many there are', async () => {
    await raw.exchange('l.x', 'x-delayed-message', { arguments: table({ 'x-delayed-type': 'fanout' }) });
    await raw.declare('l.q');
    await raw.bind('l.q', 'l.x', '');
    const count = 500;
    // In no order of time: 7 and 500 have no divisor in common.
    const delayOf = (i: number): number => 1_000 + ((i * 7) % count) * 10;
    for (let i = 0; i < count; i++) {
      const headers = new Map<string, FieldValue>([['x-delay', { tag: 'I', value: delayOf(i) }]]);
      raw.publish('', String(delayOf(i)), { exchange: 'l.x', properties: { headers } });
    }
    expect(await raw.declare('l.q', { passive: true })).toBe('queue.declare-ok l.q 0 0');
    const began = clock.now();
    await raw.consume('l.q', 't', { noAck: true });
    const got: number[] = [];
    for (const until of [999, 1_000, 2_495, 4_000, 5_990]) {
      clock.advance(began + until - clock.now());
      const due = Array.from({ length: count }, (_, i) => delayOf(i)).filter(
        (delay) => delay <= until,
      ).length;
      for (const answer of await raw.rest()) got.push(Number(/"(\d+)"/.exec(answer)?.[1]));
      expect([until, got.length]).toEqual([until, due]);
    }
    expect(got).toEqual(got.toSorted((a, b) => a - b));
  });
});

describe('heartbeats', () => {
  it('are whatever octets come: a peer that only publishes is not dead', async () => {
    const busy = await RawAmqp.open(server.port, { heartbeat: 10 });
    await busy.declare('h.q');
    for (let second = 0; second < 120; second += 5) {
      busy.publish('h.q', 'x');
      // Behind the publish on the same socket, so it was read.
      let answer = '';
      busy.send(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 0, global: false });
      do answer = await busy.answer();
      while (answer === 'heartbeat');
      expect(answer).toBe('basic.qos-ok');
      clock.advance(5_000);
    }
    await busy.close();
  });

  it('are off for ever where both sides say 0', async () => {
    const silent = await RawAmqp.open(server.port, { heartbeat: 0 });
    clock.advance(86_400_000);
    expect(await silent.rest()).toEqual([]);
    await silent.close();
  });
});

it('says what it is and in which version, in numbers with dots, and advertises what it does', async () => {
  const connection = await amqplib.connect(server.url);
  const { serverProperties } = connection.connection;
  expect(serverProperties).toMatchObject({
    product: 'RabbitMQ',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
  });
  expect(serverProperties['capabilities']).toMatchObject({
    publisher_confirms: true,
    exchange_exchange_bindings: true,
    'basic.nack': true,
    consumer_cancel_notify: true,
    'connection.blocked': true,
    authentication_failure_close: true,
  });
  await connection.close();
});
