import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import { contentFrames, frame, methodFrame, RawAmqp, table } from '../../../support/raw-amqp.js';
import { bindTo, reopened, each } from './probe.js';
import type { Probe } from './probe.js';

/** What is refused, and how: declarations, names, tags, frames out of order. Server-made names and times must not show. */
export const REFUSALS_PROBES: Readonly<Record<string, Probe>> = {
  'redeclare a queue differently': async (one, { another }) => {
    const answers = [await one.declare('p.dur', { durable: true })];
    const other = await another();
    answers.push(
      ...(await each(one, [
        () => one.declare('p.dur', { durable: false }),
        () => one.declare('p.dur', { durable: true, autoDelete: true }),
        () => one.declare('p.dur', { durable: true, exclusive: true }),
        () => one.declare('p.dur', { durable: true, arguments: table({ 'x-foo': 1 }) }),
        () => one.declare('p.dur', { durable: true, arguments: table({ 'x-max-length': 5 }) }),
        () => one.declare('p.dur', { passive: true }),
      ])),
    );
    await one.declare('p.ttl', { arguments: table({ 'x-message-ttl': 60_000 }) });
    answers.push(
      ...(await each(one, [
        () => one.declare('p.ttl', { arguments: table({ 'x-message-ttl': 60_001 }) }),
        () => one.declare('p.ttl'),
        () => one.declare('p.ttl', { arguments: new Map([['x-message-ttl', { tag: 'l', value: 60_000n }]]) }),
        () => one.declare('p.ttl', { arguments: new Map([['x-message-ttl', { tag: 'd', value: 60_000 }]]) }),
      ])),
    );
    await other.close();
    return answers;
  },
  'bad queue arguments': (one) => {
    const bad = (args: Parameters<typeof table>[0]) => () => one.declare('p.neg', { arguments: table(args) });
    return each(one, [
      bad({ 'x-message-ttl': -1 }),
      bad({ 'x-message-ttl': 'abc' }),
      bad({ 'x-expires': 0 }),
      bad({ 'x-max-length': -1 }),
      bad({ 'x-max-priority': 256 }),
      bad({ 'x-overflow': 'weird' }),
      bad({ 'x-dead-letter-routing-key': 'k' }),
    ]);
  },
  'names and things that are missing': (one) =>
    each(one, [
      () => one.declare('p.none', { passive: true }),
      () => one.consume('p.none', 't'),
      () => one.get('p.none'),
      () => one.call(1, 'queue.purge', { ticket: 0, queue: 'p.none', nowait: false }),
      () => one.bind('p.none', 'amq.direct', 'k'),
      () => one.exchange('p.nox', 'direct', { passive: true }),
      () =>
        one.call(1, 'exchange.bind', {
          ...bindTo,
          destination: 'p.nox',
          source: 'amq.direct',
          routingKey: '',
        }),
      () =>
        one.call(1, 'queue.delete', {
          ticket: 0,
          queue: 'p.none',
          ifUnused: false,
          ifEmpty: false,
          nowait: false,
        }),
      () => one.call(1, 'exchange.delete', { ticket: 0, exchange: 'p.nox', ifUnused: false, nowait: false }),
      () =>
        one.call(1, 'queue.unbind', {
          ticket: 0,
          queue: 'p.none',
          exchange: 'p.nox',
          routingKey: 'k',
          arguments: EMPTY_TABLE,
        }),
      () => one.declare('amq.foo'),
      () => one.exchange('amq.foo', 'direct'),
      () => one.get(''),
      () => one.bind('', 'amq.direct', 'k'),
    ]),
  'the default exchange': async (one) => {
    await one.declare('p.def');
    return each(one, [
      () => one.bind('p.def', '', 'k'),
      () => one.exchange('', 'direct'),
      () => one.exchange('', 'direct', { passive: true }),
      () => one.call(1, 'exchange.delete', { ticket: 0, exchange: '', ifUnused: false, nowait: false }),
      () =>
        one.call(1, 'exchange.delete', { ticket: 0, exchange: 'amq.direct', ifUnused: false, nowait: false }),
      () => one.exchange('amq.topic', 'topic', { durable: true }),
    ]);
  },
  'redeclare an exchange differently': async (one) => {
    await one.exchange('p.ex', 'direct');
    return each(one, [
      () => one.exchange('p.ex', 'fanout'),
      () => one.exchange('p.ex', 'direct', { durable: true }),
      () => one.exchange('p.ex', 'direct', { autoDelete: true }),
      () => one.exchange('p.ex', 'direct', { internal: true }),
      () => one.exchange('p.ex', 'direct', { arguments: table({ 'alternate-exchange': 'a' }) }),
      () => one.exchange('p.ex', 'direct', { arguments: table({ 'x-foo': 'a' }) }),
    ]);
  },
  'an unknown exchange type': (one) => each(one, [() => one.exchange('p.banana', 'banana')]),
  'an empty exchange type': (one) => each(one, [() => one.exchange('p.banana', '')]),
  'publish to a missing exchange': async (one) => {
    await one.call(1, 'confirm.select', { nowait: false });
    one.publish('k', 'x', { exchange: 'p.nox' });
    return one.rest();
  },
  'publish immediate': async (one) => {
    one.publish('k', 'x', { immediate: true });
    return one.rest();
  },
  'publish to an internal exchange': async (one) => {
    await one.exchange('p.int', 'direct', { internal: true });
    one.publish('k', 'x', { exchange: 'p.int' });
    return one.rest();
  },
  'bad expirations': async (one) => {
    const answers: string[] = [];
    for (const expiration of ['abc', '-5', '1.5', '315360000001', '']) {
      one.publish('p.exp', 'x', { properties: { expiration } });
      answers.push(await one.answer());
      await reopened(one);
    }
    return answers;
  },
  'CC that is no array, delivery mode 3': async (one) => {
    const answers: string[] = [];
    for (const properties of [{ headers: table({ CC: 'x' }) }, { deliveryMode: 3 }]) {
      one.publish('p.cc', 'x', { properties });
      answers.push(await one.answer());
      await reopened(one);
    }
    return answers;
  },
  'unknown delivery tags': (one) =>
    each(one, [
      async () => {
        one.send(1, 'basic.ack', { deliveryTag: 3, multiple: false });
        return one.answer();
      },
      async () => {
        one.send(1, 'basic.nack', { deliveryTag: 3, multiple: true, requeue: true });
        return one.answer();
      },
      async () => {
        one.send(1, 'basic.reject', { deliveryTag: 3, requeue: true });
        return one.answer();
      },
      async () => {
        one.send(1, 'basic.ack', { deliveryTag: 0, multiple: false });
        return one.answer();
      },
      async () => {
        one.send(1, 'basic.ack', { deliveryTag: 0, multiple: true });
        return one.answer(100);
      },
    ]),
  'ack twice and out of order': async (one) => {
    await one.declare('p.ack');
    for (const body of ['a', 'b', 'c']) one.publish('p.ack', body);
    const answers = [await one.get('p.ack', false), await one.get('p.ack', false)];
    one.send(1, 'basic.ack', { deliveryTag: 2, multiple: true });
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    answers.push(...(await one.rest()));
    return answers;
  },
  'ack a delivery without acknowledgement': async (one) => {
    await one.declare('p.noack');
    one.publish('p.noack', 'a');
    const answers = [await one.get('p.noack', true)];
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    return [...answers, ...(await one.rest())];
  },
  'the same consumer tag twice': async (one) => {
    await one.declare('p.tag');
    await one.call(2, 'channel.open', { reserved1: '' });
    return [
      await one.consume('p.tag', 't1'),
      await one.consume('p.tag', 't1', {}, 2),
      await one.consume('p.tag', 't1'),
    ];
  },
  'exclusive consumers': async (one, { another }) => {
    await one.declare('p.excl');
    const other = await another();
    const answers = [
      await one.consume('p.excl', 'a', { exclusive: true }),
      await other.consume('p.excl', 'b'),
    ];
    await reopened(other);
    answers.push(await other.get('p.excl'));
    await one.call(1, 'basic.cancel', { consumerTag: 'a', nowait: false });
    answers.push(await one.consume('p.excl', 'c'), await other.consume('p.excl', 'd', { exclusive: true }));
    await other.close();
    return answers;
  },
  'cancel an unknown tag, and a bad priority': async (one) => {
    await one.declare('p.prio');
    return each(one, [
      () => one.call(1, 'basic.cancel', { consumerTag: 'nope', nowait: false }),
      () => one.consume('p.prio', 't', { arguments: table({ 'x-priority': 'high' }) }),
    ]);
  },
  "another connection's exclusive queue": async (one, { another }) => {
    await one.declare('p.lock', { exclusive: true });
    const other = await another();
    const answers = await each(other, [
      () => other.declare('p.lock'),
      () => other.declare('p.lock', { passive: true }),
      () => other.consume('p.lock', 't'),
      () => other.get('p.lock'),
      () => other.bind('p.lock', 'amq.direct', 'k'),
      () => other.call(1, 'queue.purge', { ticket: 0, queue: 'p.lock', nowait: false }),
      () =>
        other.call(1, 'queue.delete', {
          ticket: 0,
          queue: 'p.lock',
          ifUnused: false,
          ifEmpty: false,
          nowait: false,
        }),
    ]);
    other.publish('p.lock', 'for its owner');
    await other.declare('p.lock.after');
    answers.push(await one.get('p.lock'));
    await one.call(0, 'connection.close', {
      replyCode: 200,
      replyText: '',
      failedClassId: 0,
      failedMethodId: 0,
    });
    answers.push(...(await each(other, [() => other.declare('p.lock', { passive: true })])));
    await other.close();
    return answers;
  },
  'conditional deletes': async (one) => {
    await one.declare('p.del');
    await one.exchange('p.delx', 'direct');
    await one.bind('p.del', 'p.delx', 'k');
    one.publish('p.del', 'a');
    const remove = (ifUnused: boolean, ifEmpty: boolean) => () =>
      one.call(1, 'queue.delete', { ticket: 0, queue: 'p.del', ifUnused, ifEmpty, nowait: false });
    const answers = await each(one, [
      remove(false, true),
      () => one.call(1, 'exchange.delete', { ticket: 0, exchange: 'p.delx', ifUnused: true, nowait: false }),
    ]);
    await one.consume('p.del', 'watch');
    answers.push(await one.answer());
    answers.push(...(await each(one, [remove(true, false)])));
    return [...answers, await remove(false, false)()];
  },
  'delete a queue under a consumer': async (one, { another }) => {
    await one.declare('p.gone');
    await one.consume('p.gone', 'watch');
    const other = await another();
    const answers = [
      await other.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.gone',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
      await one.answer(),
    ];
    await other.close();
    return answers;
  },
  'second channel.open': (one) => each(one, [() => one.call(1, 'channel.open', { reserved1: '' })]),
  'a channel that was never opened': (one) => each(one, [() => one.declare('p.q', {}, 7)]),
  'more channels than agreed': async (_one, { port }) => {
    const few = await RawAmqp.open(port, { channelMax: 2, channel: false });
    const answers: string[] = [];
    for (const channel of [9, 8, 7]) answers.push(await few.call(channel, 'channel.open', { reserved1: '' }));
    await few.close();
    return answers;
  },
  'a server method from a client': (one) =>
    each(one, [() => one.call(1, 'queue.declare-ok', { queue: '', messageCount: 0, consumerCount: 0 })]),
  'a connection method on a channel': (one) => each(one, [() => one.call(1, 'connection.unblocked', {})]),
  'a channel method on channel 0': (one) =>
    each(one, [() => one.call(0, 'basic.recover', { requeue: true })]),
  'a heartbeat on a channel': async (one) => {
    one.write(frame(8, 1, Buffer.alloc(0)));
    return one.rest();
  },
  'a body without header': async (one) => {
    one.write(
      methodFrame(1, 'basic.publish', {
        ticket: 0,
        exchange: '',
        routingKey: 'q',
        mandatory: false,
        immediate: false,
      }),
    );
    one.write(frame(3, 1, Buffer.from('x')));
    return one.rest();
  },
  'a method inside a content': async (one) => {
    one.write(
      methodFrame(1, 'basic.publish', {
        ticket: 0,
        exchange: '',
        routingKey: 'q',
        mandatory: false,
        immediate: false,
      }),
    );
    one.write(contentFrames(1, Buffer.from('ab')).subarray(0, 22));
    one.write(methodFrame(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false }));
    return one.rest();
  },
  'prefetch size, and recover without requeue': (one) =>
    each(one, [() => one.call(1, 'basic.qos', { prefetchSize: 10, prefetchCount: 0, global: false })]),
  'recover without requeue': (one) => each(one, [() => one.call(1, 'basic.recover', { requeue: false })]),
};
