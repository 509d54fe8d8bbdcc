import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/connectors/amqp/channel/dispatch.js';
import { METHODS } from '../../../src/connectors/amqp/wire/methods.js';
import { AmqpCalls, exchange, queue } from './amqp-calls.js';
import { testCases, testComplete, useRuledServer, type PolicyCase, type Right } from './policy-cases.js';

const server = useRuledServer();
const amqp = new AmqpCalls();
beforeAll(() => amqp.open(server().running));
afterAll(() => amqp.close());

/** An operation on what `prepare` made: the channel it opened, or a new one. */
function row(
  operation: string,
  needs: readonly Right[],
  run: () => Promise<unknown>,
  { what, prepare }: { readonly what?: string; readonly prepare?: () => Promise<unknown> } = {},
): PolicyCase {
  return {
    operation,
    ...(what === undefined ? {} : { what }),
    needs,
    prepare: async () => {
      await amqp.begin();
      await prepare?.();
    },
    run,
  };
}

const none: readonly Right[] = [];
const makeQ = () => amqp.makeQueue('q');
const makeX = () => amqp.makeExchange('x');
const makeBoth = async (): Promise<void> => {
  await makeQ();
  await makeX();
};
const unmade = (name: string) => () => amqp.deleteQueue(name);
const letters = { 'x-dead-letter-exchange': 'x-letters' };

const DECLARATIONS: readonly PolicyCase[] = [
  row('queue.declare', [queue('new', 'Write')], () => amqp.declare('new'), { prepare: unmade('new') }),
  row('queue.declare', [queue('q', 'Write')], () => amqp.declare('q'), {
    what: 'there already',
    prepare: makeQ,
  }),
  row('queue.declare', [queue('q', 'Sight')], () => amqp.declare('q', { passive: true }), {
    what: 'passive',
    prepare: makeQ,
  }),
  row(
    'queue.declare',
    [queue('dl', 'Write'), queue('dl', 'Read'), exchange('x-letters', 'Write')],
    () => amqp.declare('dl', {}, letters),
    { what: 'with a dead-letter exchange', prepare: unmade('dl') },
  ),
  row(
    'queue.declare',
    [queue('dl', 'Write'), queue('dl', 'Read'), queue('q', 'Write')],
    () => amqp.declare('dl', {}, { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'q' }),
    { what: 'with a queue for dead letters', prepare: unmade('dl') },
  ),
  row(
    'queue.declare',
    [queue('dl', 'Write'), queue('dl', 'Read'), exchange('amq.default', 'Write')],
    () => amqp.declare('dl', {}, { 'x-dead-letter-exchange': '' }),
    { what: 'with any queue for dead letters', prepare: unmade('dl') },
  ),
  row('queue.declare', none, () => amqp.declare('amq.rabbitmq.reply-to', { passive: true }), {
    what: 'of direct reply-to',
  }),
  row('exchange.declare', [exchange('x-new', 'Write')], () => amqp.declareExchange('x-new'), {
    prepare: () => amqp.deleteExchange('x-new'),
  }),
  row('exchange.declare', [exchange('x', 'Write')], () => amqp.declareExchange('x'), {
    what: 'there already',
    prepare: makeX,
  }),
  row('exchange.declare', [exchange('x', 'Sight')], () => amqp.declareExchange('x', { passive: true }), {
    what: 'passive',
    prepare: makeX,
  }),
  row(
    'exchange.declare',
    [exchange('x-ae', 'Write'), exchange('x-ae', 'Read'), exchange('x-letters', 'Write')],
    () => amqp.declareExchange('x-ae', {}, { 'alternate-exchange': 'x-letters' }),
    { what: 'with an alternate exchange', prepare: () => amqp.deleteExchange('x-ae') },
  ),
  row('queue.delete', [queue('q', 'Write')], () => amqp.deleteQueue('q'), { prepare: makeQ }),
  row('exchange.delete', [exchange('x', 'Write')], () => amqp.deleteExchange('x'), { prepare: makeX }),
  row('queue.purge', [queue('q', 'Read')], () => amqp.purge('q'), {
    prepare: async () => {
      await makeQ();
      await amqp.publish('q');
    },
  }),
];

const queueEnds = [queue('q', 'Write'), exchange('x', 'Read')];
const exchangeEnds = [exchange('x-to', 'Write'), exchange('x', 'Read')];
const makeExchanges = async (): Promise<void> => {
  await makeX();
  await amqp.makeExchange('x-to');
};
const BINDINGS: readonly PolicyCase[] = [
  row('queue.bind', queueEnds, () => amqp.bind('queue.bind', 'q', 'x'), { prepare: makeBoth }),
  row('queue.unbind', queueEnds, () => amqp.bind('queue.unbind', 'q', 'x'), {
    prepare: async () => {
      await makeBoth();
      await amqp.bind('queue.bind', 'q', 'x');
    },
  }),
  row('exchange.bind', exchangeEnds, () => amqp.bind('exchange.bind', 'x-to', 'x'), {
    prepare: makeExchanges,
  }),
  row('exchange.unbind', exchangeEnds, () => amqp.bind('exchange.unbind', 'x-to', 'x'), {
    prepare: async () => {
      await makeExchanges();
      await amqp.bind('exchange.bind', 'x-to', 'x');
    },
  }),
];

const withMessage = (hold: boolean) => async (): Promise<void> => {
  await amqp.deleteQueue('q');
  await makeQ();
  await amqp.publish('q');
  if (hold) await amqp.get('q', false);
};
const stream = { 'x-queue-type': 'stream' };
const inTransaction = (work: () => Promise<unknown>) => async (): Promise<void> => {
  await withMessage(true)();
  await amqp.call('tx.select', {});
  await work();
};
const ack = (operation: 'basic.ack' | 'basic.nack' | 'basic.reject', requeue = true) =>
  amqp.settle(operation, requeue);

const MESSAGES: readonly PolicyCase[] = [
  row('basic.publish', [queue('q', 'Write')], () => amqp.publish('q'), {
    what: 'to a queue',
    prepare: makeQ,
  }),
  row('basic.publish', [queue('nowhere', 'Write')], () => amqp.publish('nowhere'), {
    what: 'to a queue that is not there',
  }),
  row('basic.publish', [exchange('x', 'Write')], () => amqp.publish('any', { exchange: 'x' }), {
    what: 'to an exchange',
    prepare: makeX,
  }),
  row(
    'basic.publish',
    [queue('q', 'Write'), queue('copied', 'Write')],
    () => amqp.publish('q', { cc: ['copied'] }),
    {
      what: 'with CC',
      prepare: async () => {
        await makeQ();
        await amqp.makeQueue('copied');
      },
    },
  ),
  row('basic.publish', [queue('q', 'Write')], () => amqp.publish('q', { replyTo: 'amq.rabbitmq.reply-to' }), {
    what: 'a request with direct reply-to',
    prepare: async () => {
      await makeQ();
      await amqp.consume('amq.rabbitmq.reply-to', { noAck: true });
    },
  }),
  row('basic.publish', none, () => amqp.publish('amq.rabbitmq.reply-to.nobody'), { what: 'a direct reply' }),
  row('basic.publish', [queue('q', 'Write')], () => amqp.publish('q'), {
    what: 'in a transaction',
    prepare: inTransaction(() => Promise.resolve()),
  }),
  row('basic.get', [queue('q', 'Read')], () => amqp.get('q', true), { prepare: withMessage(false) }),
  row('basic.consume', [queue('q', 'Read')], () => amqp.consume('q'), { prepare: withMessage(false) }),
  row('basic.consume', [queue('streamed', 'Read')], () => amqp.consume('streamed'), {
    what: 'of a stream',
    prepare: async () => {
      await amqp.declare('streamed', { durable: true }, stream);
      await amqp.call('basic.qos', { prefetchSize: 0, prefetchCount: 5, global: false });
    },
  }),
  row('basic.consume', none, () => amqp.consume('amq.rabbitmq.reply-to', { noAck: true }), {
    what: 'of direct replies',
  }),
  row('basic.ack', [queue('q', 'Read')], () => ack('basic.ack'), { prepare: withMessage(true) }),
  row('basic.nack', [queue('q', 'Read')], () => ack('basic.nack', false), { prepare: withMessage(true) }),
  row('basic.reject', [queue('q', 'Read')], () => ack('basic.reject', false), { prepare: withMessage(true) }),
  row('tx.commit', [queue('q', 'Write')], () => amqp.call('tx.commit', {}), {
    what: 'of a publish',
    prepare: inTransaction(() => amqp.publish('q')),
  }),
  row('tx.commit', [exchange('x', 'Write')], () => amqp.call('tx.commit', {}), {
    what: 'of a publish to an exchange',
    prepare: inTransaction(async () => {
      await makeX();
      await amqp.bind('queue.bind', 'q', 'x');
      await amqp.publish('any', { exchange: 'x' });
    }),
  }),
  row('tx.commit', [queue('q', 'Read')], () => amqp.call('tx.commit', {}), {
    what: 'of an acknowledgement',
    prepare: inTransaction(() => ack('basic.ack')),
  }),
];

/** What names nothing, or gives back what a client has. */
const FREE: readonly PolicyCase[] = [
  row('access.request', none, () =>
    amqp.call('access.request', {
      realm: '/data',
      exclusive: false,
      passive: true,
      active: true,
      write: true,
      read: true,
    }),
  ),
  row('channel.flow', none, () => amqp.call('channel.flow', { active: true })),
  row('basic.qos', none, () => amqp.call('basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false })),
  row('basic.cancel', none, () => amqp.call('basic.cancel', { consumerTag: 'none', nowait: false })),
  row('basic.recover', none, () => amqp.call('basic.recover', { requeue: true }), {
    prepare: withMessage(true),
  }),
  row('basic.recover-async', none, () => amqp.synced('basic.recover-async', { requeue: true }), {
    prepare: withMessage(true),
  }),
  row('confirm.select', none, () => amqp.call('confirm.select', { nowait: false })),
  row('tx.select', none, () => amqp.call('tx.select', {})),
  row('tx.rollback', none, () => amqp.call('tx.rollback', {}), {
    prepare: inTransaction(() => amqp.publish('q')),
  }),
];

const ROWS = [...DECLARATIONS, ...BINDINGS, ...MESSAGES, ...FREE];

describe('AMQP', () => {
  testComplete(ROWS, [...Object.keys(OPERATIONS), 'basic.publish']);

  it('no other method names a resource', () => {
    const others = Object.keys(METHODS).filter((name) => !(name in OPERATIONS) && name !== 'basic.publish');
    // Opening and closing, what the broker sends, and answers.
    expect(others.filter((name) => !/^(connection|channel)\.|-ok$/.test(name))).toEqual([
      'basic.return',
      'basic.deliver',
      'basic.get-empty',
    ]);
  });

  testCases(server, ROWS, (_operation, { channel }) => {
    const name = channel.replace('amqp.default.', '');
    const kind = /^(x|x-.*|amq\..*)$/.test(name) ? 'exchange' : 'queue';
    return `ACCESS_REFUSED - access to ${kind} '${name}' in vhost '/' refused for user 'guest'`;
  });

  it('what is not there is refused in the same words as what is there', async () => {
    server().allowAll();
    await amqp.begin();
    await makeBoth();
    server().allow([]);
    const calls: readonly ((name: string) => Promise<unknown>)[] = [
      (name) => amqp.declare(name),
      (name) => amqp.declare(name, { passive: true }),
      (name) => amqp.declareExchange(name, { passive: true }),
      (name) => amqp.deleteQueue(name),
      (name) => amqp.deleteExchange(name),
      (name) => amqp.purge(name),
      (name) => amqp.get(name, true),
      (name) => amqp.consume(name),
      (name) => amqp.publish(name),
      (name) => amqp.publish('any', { exchange: name }),
      (name) => amqp.bind('queue.bind', name, 'amq.topic'),
      (name) => amqp.bind('queue.unbind', name, 'amq.topic'),
      (name) => amqp.bind('exchange.bind', 'amq.topic', name),
      (name) => amqp.bind('exchange.unbind', 'amq.topic', name),
    ];
    for (const [i, call] of calls.entries()) {
      const answers: string[] = [];
      for (const name of ['q', 'x', 'nothing']) {
        await amqp.begin();
        const error = (await call(name).catch((caught: unknown) => caught)) as { readonly answer?: unknown };
        answers.push(String(error.answer).replaceAll(`'${name}'`, "'?'"));
      }
      expect([i, ...new Set(answers)]).toEqual([i, expect.stringContaining('ACCESS_REFUSED')]);
    }
  });

  it('a server-named queue is allowed by its name, too', async () => {
    server().allow([]);
    await amqp.begin();
    await expect(amqp.declare('')).rejects.toThrow(/access to queue 'amq\.gen-/);
    server().allowMatching(String.raw`amqp\.default\.amq\.gen-.*`);
    await amqp.begin();
    expect(await amqp.declare('')).toMatch(/^queue\.declare-ok amq\.gen-/);
  });
});
