import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import type { FieldValue } from '../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { until } from './probes/probe.js';

interface Case {
  /** What users of other brokers and clients reported. */
  readonly name: string;
  readonly run: (raw: RawAmqp) => Promise<readonly string[]>;
  readonly expected: readonly string[];
}

const text = (value: string): FieldValue => ({ tag: 'S', value: Buffer.from(value) });

const CASES: readonly Case[] = [
  {
    name: 'a message that expires behind one that does not, once that one is gone',
    run: async (raw) => {
      await raw.declare('b.exp');
      raw.publish('b.exp', 'stays');
      raw.publish('b.exp', 'expires', { properties: { expiration: '30' } });
      const got = await raw.get('b.exp');
      await new Promise((resolve) => setTimeout(resolve, 120));
      return [got, await raw.declare('b.exp')];
    },
    expected: ['get-ok #1 /b.exp +1 "stays"', 'queue.declare-ok b.exp 0 0'],
  },
  {
    name: 'a priority queue after requeue and purge',
    run: async (raw) => {
      const args = { arguments: table({ 'x-max-priority': 9 }) };
      await raw.declare('b.prio', args);
      for (const priority of [1, 9, 5])
        raw.publish('b.prio', `p${String(priority)}`, { properties: { priority } });
      const answers = [await raw.get('b.prio', false)];
      raw.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
      answers.push(
        await raw.get('b.prio', false),
        await raw.call(1, 'queue.purge', { ticket: 0, queue: 'b.prio', nowait: false }),
      );
      raw.send(1, 'basic.reject', { deliveryTag: 2, requeue: true });
      raw.publish('b.prio', 'new', { properties: { priority: 1 } });
      return [
        ...answers,
        await raw.get('b.prio'),
        await raw.get('b.prio'),
        await raw.declare('b.prio', args),
      ];
    },
    expected: [
      'get-ok #1 /b.prio +2 "p9" {priority=9}',
      'get-ok #2 redelivered /b.prio +2 "p9" {priority=9}',
      'queue.purge-ok 2',
      'get-ok #3 redelivered /b.prio +1 "p9" {priority=9}',
      'get-ok #4 /b.prio +0 "new" {priority=1}',
      'queue.declare-ok b.prio 0 0',
    ],
  },
  {
    name: 'dotted queue names bound as topic keys',
    run: async (raw) => {
      for (const name of ['b.one.x', 'b.one.y', 'b.one']) {
        await raw.declare(name);
        await raw.bind(name, 'amq.topic', name);
      }
      raw.publish('b.one.x', 'for x', { exchange: 'amq.topic' });
      return [await raw.get('b.one.y'), await raw.get('b.one'), await raw.get('b.one.x')];
    },
    expected: ['basic.get-empty', 'basic.get-empty', 'get-ok #1 amq.topic/b.one.x +0 "for x"'],
  },
  {
    name: 'a transient queue bound to a durable exchange, twice',
    run: async (raw) => {
      await raw.exchange('b.dur', 'direct', { durable: true });
      await raw.declare('b.tra');
      const answers = [await raw.bind('b.tra', 'b.dur', 'k'), await raw.bind('b.tra', 'b.dur', 'k')];
      raw.publish('k', 'once', { exchange: 'b.dur' });
      return [...answers, await raw.get('b.tra'), await raw.get('b.tra')];
    },
    expected: ['queue.bind-ok', 'queue.bind-ok', 'get-ok #1 b.dur/k +0 "once"', 'basic.get-empty'],
  },
  {
    name: 'a rejected message, and what is behind it',
    run: async (raw) => {
      await raw.declare('b.rej');
      raw.publish('b.rej', 'bad');
      raw.publish('b.rej', 'good');
      const answers = [await raw.get('b.rej', false)];
      raw.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
      return [...answers, await raw.get('b.rej'), await raw.get('b.rej')];
    },
    expected: ['get-ok #1 /b.rej +1 "bad"', 'get-ok #2 /b.rej +0 "good"', 'basic.get-empty'],
  },
  {
    name: 'recover without any consumer',
    run: async (raw) => [await raw.call(1, 'basic.recover', { requeue: true })],
    expected: ['basic.recover-ok'],
  },
  {
    name: 'empty headers and no headers, and timestamps of any size',
    run: async (raw) => {
      await raw.declare('b.hdr');
      raw.publish('b.hdr', 'empty', { properties: { headers: new Map() } });
      raw.publish('b.hdr', 'absent');
      raw.publish('b.hdr', 'late', { properties: { timestamp: 2n ** 64n - 1n } });
      return [await raw.get('b.hdr'), await raw.get('b.hdr'), await raw.get('b.hdr')];
    },
    expected: [
      'get-ok #1 /b.hdr +2 "empty" {headers=[]}',
      'get-ok #2 /b.hdr +1 "absent"',
      'get-ok #3 /b.hdr +0 "late" {timestamp=18446744073709551615}',
    ],
  },
  {
    name: 'x-death that a client made up',
    run: async (raw) => {
      await raw.declare('b.dlq');
      const dlx = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'b.dlq' };
      await raw.declare('b.src', { arguments: table(dlx) });
      for (const death of [text('none'), { tag: 'A', value: [{ tag: 'I', value: 7 }] } as const]) {
        raw.publish('b.src', 'dies', { properties: { headers: new Map([['x-death', death]]) } });
      }
      const answers: string[] = [];
      for (const tag of [1, 3]) {
        await raw.get('b.src', false);
        raw.send(1, 'basic.reject', { deliveryTag: tag, requeue: false });
        const dead = await until(raw, 'b.dlq');
        answers.push(/x-death:A\(F\[count:l1/.test(dead) && !dead.includes('I7') ? 'one death' : dead);
      }
      return answers;
    },
    expected: ['one death', 'one death'],
  },
  {
    name: 'x-death of a broker that had one entry for each death, without counts',
    run: async (raw) => {
      await raw.declare('b.oldq');
      const dlx = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'b.oldq' };
      await raw.declare('b.olds', { arguments: table(dlx) });
      const old = (queue: string): FieldValue => ({
        tag: 'F',
        value: new Map([
          ['queue', text(queue)],
          ['reason', text('rejected')],
        ]),
      });
      const death: FieldValue = {
        tag: 'A',
        value: [old('one'), old('two'), old('one'), old('b.olds'), old('one')],
      };
      raw.publish('b.olds', 'dies', { properties: { headers: new Map([['x-death', death]]) } });
      await raw.get('b.olds', false);
      raw.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
      const dead = await until(raw, 'b.oldq');
      const deaths = dead.slice(dead.indexOf('x-death'));
      return [...deaths.matchAll(/F\[(.*?)\]/g)].map(([, entry = '']) =>
        entry
          .split(', ')
          .filter((field) => /^(queue|count):/.test(field))
          .sort()
          .join(' '),
      );
    },
    expected: ['count:l2 queue:S"b.olds"', 'count:l3 queue:S"one"', 'queue:S"two"'],
  },
];

/** Answers of one kind that came; the others are looked at elsewhere. */
const only = (answers: readonly string[], start: string): readonly string[] =>
  answers.filter((text) => text.startsWith(start));

let server: AmqpServer;
let raw: RawAmqp;
beforeAll(async () => {
  server = await startAmqpServer();
});
beforeEach(async () => {
  raw = await RawAmqp.open(server.port);
});
afterEach(() => raw.close());
afterAll(() => server.stop());

describe('what went wrong elsewhere is right here', () => {
  it.each(CASES)('$name', async ({ run, expected }) => {
    expect(await run(raw)).toEqual(expected);
    expect(server.logged).toEqual([]);
  });
});

it('a consumer that holds much and acknowledges nothing keeps none of its connection waiting', async () => {
  const qos = (channel: number, prefetchCount: number): void =>
    raw.send(channel, 'basic.qos', { prefetchSize: 0, prefetchCount, global: false });
  await raw.declare('b.slow');
  await raw.declare('b.quick');
  await raw.call(2, 'channel.open', { reserved1: '' });
  for (let i = 0; i < 1000; i++) raw.publish('b.slow', 'x');
  // What a call gives back is the next answer, whichever it is.
  const answers: string[] = [];
  qos(1, 1000);
  answers.push(await raw.consume('b.slow', 'slow'));
  qos(1, 1);
  answers.push(await raw.consume('b.quick', 'sibling'));
  qos(2, 1);
  answers.push(await raw.consume('b.quick', 'other', {}, 2));
  for (let i = 0; i < 2; i++) raw.publish('b.quick', 'quick');
  answers.push(...(await raw.rest(500)));
  expect(answers.filter((text) => text.includes('/b.quick'))).toHaveLength(2);
  expect(answers.filter((text) => text.includes('/b.slow'))).toHaveLength(1000);
});

it('a global prefetch that is raised holds for consumers that run', async () => {
  const qos = (prefetchCount: number): Promise<string> =>
    raw.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount, global: true });
  await raw.declare('b.eta');
  for (let i = 0; i < 6; i++) raw.publish('b.eta', `m${String(i)}`);
  await qos(2);
  await raw.consume('b.eta', 'worker');
  expect(only(await raw.rest(), 'deliver')).toHaveLength(2);
  // Celery does this for each task with a time of its own: it keeps the task, and wants another one.
  for (const [count, more] of [
    [3, 1],
    [5, 2],
    [2, 0],
    [0, 1],
  ] as const) {
    const answers = [await qos(count), ...(await raw.rest())];
    expect([count, only(answers, 'deliver').length]).toEqual([count, more]);
  }
});

it('figures are exact after a rejected requeue, a purge and everything else', async () => {
  const figures = (): unknown => {
    const stats = server.broker.queueStats('amqp.default.b.exact' as ChannelName);
    return { ready: stats?.ready, inFlight: stats?.inFlight, bytes: stats?.bytes === 0 ? 0 : 'some' };
  };
  await raw.declare('b.exact', { arguments: table({ 'x-max-length': 3, 'x-overflow': 'reject-publish' }) });
  for (let i = 0; i < 3; i++) raw.publish('b.exact', 'x'.repeat(1000));
  // Twice: what was read and given back is neither counted nor lost twice.
  for (let tag = 1; tag <= 2; tag++) {
    expect(await raw.get('b.exact', false)).toMatch(/\+2 /);
    raw.send(1, 'basic.reject', { deliveryTag: tag, requeue: true });
  }
  expect(await raw.declare('b.exact', { passive: true })).toBe('queue.declare-ok b.exact 3 0');
  expect(figures()).toEqual({ ready: 3, inFlight: 0, bytes: 'some' });
  await raw.get('b.exact', false);
  expect(await raw.call(1, 'queue.purge', { ticket: 0, queue: 'b.exact', nowait: false })).toBe(
    'queue.purge-ok 2',
  );
  expect(figures()).toEqual({ ready: 0, inFlight: 1, bytes: 'some' });
  raw.send(1, 'basic.reject', { deliveryTag: 3, requeue: false });
  expect(await raw.get('b.exact')).toBe('basic.get-empty');
  expect(figures()).toEqual({ ready: 0, inFlight: 0, bytes: 0 });
});

it('the trail of a message that died often, in many queues, fits in the frames of who gets it', async () => {
  const small = await RawAmqp.open(server.port, { frameMax: 4096 });
  const name = (i: number): string => `b.hop.${String(i)}.${'n'.repeat(200)}`;
  const hops = 30;
  for (let i = 0; i < hops; i++) {
    const next = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': name((i + 1) % hops) };
    await small.declare(name(i), { arguments: table(next) });
  }
  small.publish(name(0), 'often');
  let got = '';
  for (let death = 0; death < hops * 2; death++) {
    got = await until(small, name(death % hops), false);
    const [, tag = ''] = /#(\d+)/.exec(got) ?? [];
    small.send(1, 'basic.reject', { deliveryTag: Number(tag), requeue: false });
  }
  expect(got).toContain('"often"');
  expect(small.largestFrame).toBeLessThanOrEqual(4096);
  // The newest deaths are told, and what was the first.
  expect(got).toContain(`queue:S"${name(hops - 2)}"`);
  expect(got).toContain(`x-first-death-queue:S"${name(0)}"`);
  // Who has larger frames is told all of it.
  const all = await until(raw, name(0), false);
  expect(all.match(/count:l2/g)).toHaveLength(hops);
  expect(all).not.toContain('count:l1');
  await small.close();
});
