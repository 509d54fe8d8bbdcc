import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
];

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
