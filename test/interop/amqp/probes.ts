import { EMPTY_TABLE } from '../../../src/connectors/amqp/wire/field-table.js';
import { contentFrames, frame, methodFrame, RawAmqp, table } from '../../support/raw-amqp.js';

/** What a probe does and reports; it begins with an open connection and channel 1. */
export type Probe = (one: RawAmqp, more: ProbeTools) => Promise<readonly string[]>;

export interface ProbeTools {
  /** Another connection with channel 1. */
  readonly another: () => Promise<RawAmqp>;
  readonly port: number;
}

const bindTo = { ticket: 0, nowait: false, arguments: EMPTY_TABLE };

async function reopened(one: RawAmqp): Promise<void> {
  await one.call(1, 'channel.open', { reserved1: '' });
}

/** Answers to calls on channel 1, which is opened again when one of them closes it. */
async function each(one: RawAmqp, calls: readonly (() => Promise<string>)[]): Promise<string[]> {
  const answers: string[] = [];
  for (const call of calls) {
    const answer = await call();
    answers.push(answer);
    if (answer.startsWith('CH ')) await reopened(one);
  }
  return answers;
}

/** What a queue gives once there is something. */
async function until(one: RawAmqp, queue: string, noAck = true): Promise<string> {
  for (let i = 0; i < 200; i++) {
    const got = await one.get(queue, noAck);
    if (got.startsWith('get-ok')) return got;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return 'nothing came';
}

/** Cases of the AMQP dialect, told as answers on the wire. Server-made names and times must not show. */
export const PROBES: Readonly<Record<string, Probe>> = {
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
    return (await one.rest()).map((text) => text.slice(0, 25));
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
  'returns and confirms': async (one) => {
    await one.declare('p.conf', { durable: true });
    const answers = [await one.call(1, 'confirm.select', { nowait: false })];
    one.publish('nowhere', 'lost', { mandatory: true });
    answers.push(...(await one.rest()));
    one.publish('nowhere', 'lost');
    answers.push(...(await one.rest()));
    one.publish('p.conf', 'kept', { mandatory: true, properties: { deliveryMode: 2 } });
    answers.push(...(await one.rest()));
    return answers;
  },
  'the last declared queue': async (one) => {
    await one.declare('p.last');
    const answers = [await one.bind('', 'amq.direct', '')];
    one.publish('p.last', 'via binding', { exchange: 'amq.direct' });
    answers.push(await one.get(''));
    answers.push(await one.call(1, 'queue.purge', { ticket: 0, queue: '', nowait: false }));
    answers.push(
      await one.call(1, 'queue.delete', {
        ticket: 0,
        queue: '',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
    );
    return answers;
  },
  'nowait declare that fails': async (one) => {
    await one.declare('p.now', { durable: true });
    one.send(1, 'queue.declare', {
      ticket: 0,
      queue: 'p.now',
      passive: false,
      durable: false,
      exclusive: false,
      autoDelete: false,
      nowait: true,
      arguments: EMPTY_TABLE,
    });
    return one.rest();
  },
  'acknowledge and cancel at once': async (one) => {
    await one.declare('p.cancelled');
    one.publish('p.cancelled', 'a');
    const answers = [await one.consume('p.cancelled', 't'), await one.answer()];
    one.write(
      Buffer.concat([
        methodFrame(1, 'basic.ack', { deliveryTag: 1, multiple: false }),
        methodFrame(1, 'basic.cancel', { consumerTag: 't', nowait: false }),
      ]),
    );
    answers.push(await one.answer());
    one.publish('p.cancelled', 'b');
    return [...answers, ...(await one.rest()), await one.get('p.cancelled')];
  },
  'prefetch per consumer and changed later': async (one) => {
    await one.declare('p.qos');
    for (let i = 0; i < 6; i++) one.publish('p.qos', String(i));
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    const answers = [await one.consume('p.qos', 'a'), ...(await one.rest())];
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 3, global: false });
    answers.push(await one.consume('p.qos', 'b'), ...(await one.rest()));
    return answers;
  },
  'prefetch of the channel': async (one) => {
    await one.declare('p.glob');
    for (let i = 0; i < 5; i++) one.publish('p.glob', String(i));
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 2, global: true });
    const answers = [await one.consume('p.glob', 'a'), ...(await one.rest())];
    answers.push(await one.consume('p.glob', 'b'), ...(await one.rest()));
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    const next = await one.rest();
    answers.push(String(next.length));
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 3, global: true });
    answers.push(String((await one.rest()).length));
    return answers;
  },
  'requeue keeps the order': async (one) => {
    await one.declare('p.req');
    for (const body of ['a', 'b', 'c']) one.publish('p.req', body);
    await one.get('p.req', false);
    await one.get('p.req', false);
    one.send(1, 'basic.nack', { deliveryTag: 1, multiple: false, requeue: true });
    const answers = [await one.get('p.req', false), await one.get('p.req', false)];
    one.send(1, 'basic.nack', { deliveryTag: 0, multiple: true, requeue: true });
    for (let i = 0; i < 4; i++) answers.push(await one.get('p.req', true));
    return answers;
  },
  'channel close requeues': async (one) => {
    await one.declare('p.chc');
    for (const body of ['a', 'b']) one.publish('p.chc', body);
    await one.get('p.chc', false);
    const answers = [
      await one.call(1, 'channel.close', {
        replyCode: 200,
        replyText: '',
        failedClassId: 0,
        failedMethodId: 0,
      }),
    ];
    await reopened(one);
    return [...answers, await one.get('p.chc'), await one.get('p.chc')];
  },
  'purge and delete count what is ready': async (one) => {
    await one.declare('p.cnt');
    for (const body of ['a', 'b', 'c']) one.publish('p.cnt', body);
    const answers = [await one.get('p.cnt', false), await one.declare('p.cnt')];
    answers.push(await one.call(1, 'queue.purge', { ticket: 0, queue: 'p.cnt', nowait: false }));
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 0, global: false });
    answers.push(
      await one.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.cnt',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
    );
    return answers;
  },
  recover: async (one) => {
    await one.declare('p.rec');
    for (const body of ['a', 'b']) one.publish('p.rec', body);
    await one.get('p.rec', false);
    await one.get('p.rec', false);
    return [
      await one.call(1, 'basic.recover', { requeue: true }),
      await one.get('p.rec'),
      await one.get('p.rec'),
    ];
  },
  'exchanges: direct, fanout, topic, bound to each other': async (one) => {
    await one.declare('p.r1');
    await one.declare('p.r2');
    await one.exchange('p.dir', 'direct');
    await one.exchange('p.fan', 'fanout');
    await one.exchange('p.top', 'topic');
    await one.bind('p.r1', 'p.dir', 'k');
    await one.bind('p.r1', 'p.dir', 'k');
    await one.bind('p.r1', 'p.dir', 'k2');
    await one.bind('p.r2', 'p.fan', 'ignored');
    await one.bind('p.r2', 'p.top', 'a.*.c.#');
    await one.call(1, 'exchange.bind', { ...bindTo, destination: 'p.fan', source: 'p.dir', routingKey: 'k' });
    await one.call(1, 'exchange.bind', { ...bindTo, destination: 'p.dir', source: 'p.fan', routingKey: '' });
    one.publish('k', 'direct and on', { exchange: 'p.dir' });
    one.publish('other', 'fanout', { exchange: 'p.fan' });
    one.publish('a.b.c', 'topic 1', { exchange: 'p.top' });
    one.publish('a.b.c.d.e', 'topic 2', { exchange: 'p.top' });
    one.publish('a.c', 'topic no', { exchange: 'p.top' });
    const answers: string[] = [];
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.r1'));
    for (let i = 0; i < 5; i++) answers.push(await one.get('p.r2'));
    return answers;
  },
  'topic patterns': async (one) => {
    const keys = ['', 'a', 'a.b', 'a.b.c', '.', 'a.', '.a', 'b', 'a..b', 'c.a.b'];
    const patterns = ['*', 'a.*', 'a.#', '#.b', '*.*', '#.#', '#', '', 'a.#.c', '#.a.#'];
    const answers: string[] = [];
    await one.exchange('p.pat', 'topic');
    for (const pattern of patterns) {
      await one.declare('p.pat.q', { autoDelete: false });
      await one.bind('p.pat.q', 'p.pat', pattern);
      for (const key of keys) one.publish(key, key, { exchange: 'p.pat' });
      const matched: string[] = [];
      for (let got = await one.get('p.pat.q'); got.startsWith('get-ok'); got = await one.get('p.pat.q')) {
        matched.push(/"(.*)"/.exec(got)?.[1] ?? '?');
      }
      answers.push(`${pattern}: ${matched.join(' | ')}`);
      await one.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.pat.q',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      });
    }
    return answers;
  },
  'headers exchange': async (one) => {
    await one.exchange('p.hdr', 'headers');
    const bindings: readonly (readonly [string, Parameters<typeof table>[0]])[] = [
      ['p.h.all', { 'x-match': 'all', a: 1, b: 'z' }],
      ['p.h.any', { 'x-match': 'any', a: 1, b: 'z' }],
      ['p.h.none', {}],
      ['p.h.withx', { 'x-match': 'all-with-x', 'x-a': 1 }],
      ['p.h.anynone', { 'x-match': 'any' }],
    ];
    for (const [queue, args] of bindings) {
      await one.declare(queue);
      await one.bind(queue, 'p.hdr', '', table(args));
    }
    const messages: readonly Parameters<typeof table>[0][] = [
      { a: 1, b: 'z' },
      { a: 1 },
      {},
      { a: '1' },
      { a: true },
      { 'x-a': 1 },
    ];
    for (const [i, headers] of messages.entries()) {
      one.publish('', String(i), { exchange: 'p.hdr', properties: { headers: table(headers) } });
    }
    const answers: string[] = [];
    for (const [queue] of bindings) {
      const bodies: string[] = [];
      for (let got = await one.get(queue); got.startsWith('get-ok'); got = await one.get(queue)) {
        bodies.push(/"(.*?)"/.exec(got)?.[1] ?? '?');
      }
      answers.push(`${queue}: ${bodies.join(' ')}`);
    }
    return [...answers, await one.bind('p.h.all', 'p.hdr', '', table({ 'x-match': 'some' }))];
  },
  'CC and BCC': async (one) => {
    for (const queue of ['p.cc.a', 'p.cc.b', 'p.cc.c']) await one.declare(queue);
    one.publish('p.cc.a', 'x', { properties: { headers: table({ CC: ['p.cc.b'], BCC: ['p.cc.c'] }) } });
    return [await one.get('p.cc.a'), await one.get('p.cc.b'), await one.get('p.cc.c')];
  },
  'alternate exchange': async (one) => {
    await one.exchange('p.ae.fan', 'fanout');
    await one.declare('p.ae.q');
    await one.bind('p.ae.q', 'p.ae.fan', '');
    await one.exchange('p.ae', 'direct', { arguments: table({ 'alternate-exchange': 'p.ae.fan' }) });
    await one.exchange('p.ae.none', 'direct', { arguments: table({ 'alternate-exchange': 'p.ae.missing' }) });
    one.publish('k', 'to the alternate', { exchange: 'p.ae', mandatory: true });
    one.publish('k', 'returned', { exchange: 'p.ae.none', mandatory: true });
    return [...(await one.rest()), await one.get('p.ae.q')];
  },
  'reject-publish': async (one) => {
    await one.declare('p.full', { arguments: table({ 'x-max-length': 2, 'x-overflow': 'reject-publish' }) });
    await one.call(1, 'confirm.select', { nowait: false });
    const answers: string[] = [];
    for (let i = 0; i < 4; i++) {
      one.publish('p.full', String(i));
      answers.push(await one.answer());
    }
    return [...answers, await one.declare('p.full', { passive: true })];
  },
  'drop-head': async (one) => {
    await one.declare('p.drop', { arguments: table({ 'x-max-length': 2 }) });
    for (let i = 0; i < 4; i++) one.publish('p.drop', String(i));
    return [await one.get('p.drop'), await one.get('p.drop'), await one.get('p.drop')];
  },
  priorities: async (one) => {
    await one.declare('p.pri', { arguments: table({ 'x-max-priority': 5 }) });
    const sent: readonly (readonly [string, number | undefined])[] = [
      ['p0', 0],
      ['none', undefined],
      ['p3', 3],
      ['p5', 5],
      ['p9', 9],
      ['p3b', 3],
    ];
    for (const [body, priority] of sent) one.publish('p.pri', body, { properties: { priority } });
    const answers: string[] = [];
    for (const _ of sent) answers.push(await one.get('p.pri'));
    return answers;
  },
  'consumer priorities': async (one) => {
    await one.declare('p.cp');
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 2, global: false });
    await one.consume('p.cp', 'lo');
    await one.consume('p.cp', 'hi', { arguments: table({ 'x-priority': 10 }) });
    for (let i = 0; i < 5; i++) one.publish('p.cp', String(i));
    return (await one.rest()).map((text) => text.replace(/ #\d+/, '')).sort();
  },
  'auto-delete': async (one) => {
    await one.declare('p.auto', { autoDelete: true });
    await one.exchange('p.autox', 'direct', { autoDelete: true });
    await one.declare('p.keep');
    await one.bind('p.keep', 'p.autox', 'k');
    await one.consume('p.auto', 'c');
    await one.call(1, 'basic.cancel', { consumerTag: 'c', nowait: false });
    await one.call(1, 'queue.unbind', {
      ticket: 0,
      queue: 'p.keep',
      exchange: 'p.autox',
      routingKey: 'k',
      arguments: EMPTY_TABLE,
    });
    return each(one, [
      () => one.declare('p.auto', { passive: true }),
      () => one.exchange('p.autox', 'direct', { passive: true }),
    ]);
  },
  'a socket that breaks': async (one, { another }) => {
    const other = await another();
    await other.declare('p.brk');
    other.publish('p.brk', 'a');
    await other.get('p.brk', false);
    await other.close();
    let got = await one.get('p.brk');
    for (let i = 0; i < 50 && !got.startsWith('get-ok'); i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      got = await one.get('p.brk');
    }
    return [got];
  },
  'all properties and header types': async (one) => {
    await one.declare('p.types');
    one.publish('p.types', 'x', {
      properties: {
        contentType: 'text/plain',
        contentEncoding: 'identity',
        headers: new Map([
          ['t', { tag: 't', value: true }],
          ['b', { tag: 'b', value: -1 }],
          ['s', { tag: 's', value: -2 }],
          ['I', { tag: 'I', value: -3 }],
          ['l', { tag: 'l', value: 1n << 60n }],
          ['f', { tag: 'f', value: 0.5 }],
          ['d', { tag: 'd', value: 1 }],
          ['D', { tag: 'D', value: { scale: 2, unscaled: 314 } }],
          ['S', { tag: 'S', value: Buffer.from('é') }],
          ['x', { tag: 'x', value: Buffer.from('bytes') }],
          ['T', { tag: 'T', value: 1_700_000_000n }],
          ['F', { tag: 'F', value: table({ n: 1 }) }],
          [
            'A',
            {
              tag: 'A',
              value: [
                { tag: 'V', value: null },
                { tag: 'd', value: 2 },
              ],
            },
          ],
          ['V', { tag: 'V', value: null }],
        ]),
        deliveryMode: 2,
        priority: 7,
        correlationId: 'c',
        replyTo: 'r',
        messageId: 'm',
        timestamp: 1n << 62n,
        type: 'ty',
        userId: 'guest',
        appId: 'ap',
        clusterId: 'cl',
      },
    });
    one.publish('p.types', 'empty headers', { properties: { headers: EMPTY_TABLE } });
    return [await one.get('p.types'), await one.get('p.types')];
  },
  'large bodies in frames': async (_one, { port }) => {
    const small = await RawAmqp.open(port, { frameMax: 4096 });
    await small.declare('p.large');
    small.write(
      methodFrame(1, 'basic.publish', {
        ticket: 0,
        exchange: '',
        routingKey: 'p.large',
        mandatory: false,
        immediate: false,
      }),
    );
    small.write(contentFrames(1, Buffer.alloc(100_000, 1), {}, 4088));
    const answer = await small.get('p.large');
    await small.close();
    return [answer];
  },
  'an oversize frame': async (one) => {
    one.write(frame(3, 1, Buffer.alloc(140_000)));
    const answer = await one.answer();
    return [answer.slice(0, 25)];
  },
  'a bad frame end': async (one) => {
    const bad = methodFrame(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    bad[bad.length - 1] = 0xcd;
    one.write(bad);
    return [(await one.answer()).slice(0, 22)];
  },
  'unknown virtual host': async (_one, { port }) => {
    const raw = await RawAmqp.open(port, { vhost: '', channel: false });
    const answer = await raw.answer();
    await raw.close();
    return [answer];
  },
  'dead letters: rejected, expired, overflowed': async (one) => {
    await one.exchange('p.dlx', 'direct');
    await one.declare('p.dl');
    await one.bind('p.dl', 'p.dlx', 'dead');
    await one.bind('p.dl', 'p.dlx', 'p.src3');
    const dead = { 'x-dead-letter-exchange': 'p.dlx', 'x-dead-letter-routing-key': 'dead' };
    await one.declare('p.src1', { arguments: table(dead) });
    await one.declare('p.src2', { arguments: table({ ...dead, 'x-max-length': 1 }) });
    await one.declare('p.src3', { arguments: table({ 'x-dead-letter-exchange': 'p.dlx' }) });
    const answers: string[] = [];
    one.publish('p.src1', 'rejected', { properties: { headers: table({ h: 1, CC: ['p.nowhere'] }) } });
    await one.get('p.src1', false);
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    answers.push(await until(one, 'p.dl'));
    one.publish('p.src1', 'expired', { properties: { expiration: '30', messageId: 'm' } });
    answers.push(await until(one, 'p.dl'));
    one.publish('p.src2', 'head');
    one.publish('p.src2', 'tail');
    answers.push(await until(one, 'p.dl'));
    one.publish('p.src3', 'own key');
    await one.get('p.src3', false);
    one.send(1, 'basic.nack', { deliveryTag: 5, multiple: false, requeue: false });
    answers.push(await until(one, 'p.dl'));
    return answers;
  },
  'dead letters that go round': async (one) => {
    const around = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'p.cyc' };
    await one.declare('p.cyc', { arguments: table({ ...around, 'x-message-ttl': 30 }) });
    one.publish('p.cyc', 'dropped');
    await new Promise((resolve) => setTimeout(resolve, 150));
    const answers = [await one.get('p.cyc')];
    await one.declare('p.cyr', {
      arguments: table({ 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'p.cyr' }),
    });
    one.publish('p.cyr', 'comes again');
    await one.get('p.cyr', false);
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    answers.push(await until(one, 'p.cyr', false));
    one.send(1, 'basic.reject', { deliveryTag: 2, requeue: false });
    answers.push(await until(one, 'p.cyr', false));
    return answers;
  },
  'time to live': async (one) => {
    await one.declare('p.ttl0', { arguments: table({ 'x-message-ttl': 0 }) });
    await one.declare('p.ttl30', { arguments: table({ 'x-message-ttl': 30 }) });
    await one.declare('p.ttlm');
    one.publish('p.ttl0', 'x');
    one.publish('p.ttl30', 'x');
    one.publish('p.ttlm', 'x', { properties: { expiration: '30' } });
    one.publish('p.ttlm', 'stays');
    await new Promise((resolve) => setTimeout(resolve, 200));
    return [
      await one.get('p.ttl0'),
      await one.get('p.ttl30'),
      await one.get('p.ttlm'),
      await one.get('p.ttlm'),
    ];
  },
};
