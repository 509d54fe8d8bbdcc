import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import type { FieldValue } from '../../../../src/connectors/amqp/wire/field-table.js';
import { contentFrames, frame, methodFrame, RawAmqp, table } from '../../../support/raw-amqp.js';
import { bindTo, each, until } from './probe.js';
import type { Probe } from './probe.js';

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const text = (value: string): FieldValue => ({ tag: 'S', value: Buffer.from(value) });
const list = (...values: string[]): FieldValue => ({ tag: 'A', value: values.map(text) });
const headers = (values: Readonly<Record<string, FieldValue>>) => ({
  properties: { headers: new Map(Object.entries(values)) },
});

/** An answer on a connection of its own, which the call may end. */
async function alone(port: number, act: (two: RawAmqp) => Promise<string> | string): Promise<string> {
  const two = await RawAmqp.open(port);
  const answer = await act(two);
  await two.close();
  return answer;
}

/** Further cases: what clients do seldom, or wrong. */
export const FURTHER_PROBES: Readonly<Record<string, Probe>> = {
  'user-id of another user': async (one) => {
    await one.declare('p.uid2');
    one.publish('p.uid2', 'x', { properties: { userId: 'bob' } });
    return [await one.answer()];
  },
  'consistent properties of deliveries: delivery tags over get and consume': async (one) => {
    await one.declare('p.tags');
    for (const body of ['1', '2', '3', '4']) one.publish('p.tags', body);
    const answers = [await one.get('p.tags'), await one.get('p.tags', false)];
    answers.push(await one.consume('p.tags', 't'), ...(await one.rest()));
    return answers;
  },
  'reject-publish-dlx': async (one) => {
    await one.declare('p.rpd.dead');
    await one.declare('p.rpd', {
      arguments: table({
        'x-max-length': 1,
        'x-overflow': 'reject-publish-dlx',
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': 'p.rpd.dead',
      }),
    });
    const answers = [await one.call(1, 'confirm.select', { nowait: false })];
    for (const body of ['a', 'b', 'c']) {
      one.publish('p.rpd', body);
      answers.push((await one.answer()).replace(/ true true$| false false$/, ''));
    }
    answers.push(await until(one, 'p.rpd.dead'), await until(one, 'p.rpd.dead'), await one.get('p.rpd'));
    return answers;
  },
  'max-length 0': async (one) => {
    await one.declare('p.ml0', { arguments: table({ 'x-max-length': 0 }) });
    const answers = [await one.call(1, 'confirm.select', { nowait: false })];
    one.publish('p.ml0', 'x');
    answers.push(await one.answer());
    await wait(50);
    answers.push(await one.get('p.ml0'), await one.declare('p.ml0', { passive: true }));
    return answers;
  },
  'max-length-bytes': async (one) => {
    await one.declare('p.mlb', { arguments: table({ 'x-max-length-bytes': 10 }) });
    for (const body of ['aaaa', 'bbbb', 'cccc']) one.publish('p.mlb', body);
    return [await one.get('p.mlb'), await one.get('p.mlb'), await one.get('p.mlb')];
  },
  'one full queue and one with room': async (one) => {
    await one.declare('p.fan.full', {
      arguments: table({ 'x-max-length': 1, 'x-overflow': 'reject-publish' }),
    });
    await one.declare('p.fan.free');
    for (const queue of ['p.fan.full', 'p.fan.free']) await one.bind(queue, 'amq.fanout', '');
    await one.call(1, 'confirm.select', { nowait: false });
    const answers: string[] = [];
    for (const body of ['1', '2']) {
      one.publish('', body, { exchange: 'amq.fanout' });
      answers.push((await one.answer()).replace(/ true true$| false false$/, ''));
    }
    return [
      ...answers,
      await one.declare('p.fan.full', { passive: true }),
      await one.declare('p.fan.free', { passive: true }),
    ];
  },
  'priorities of messages': async (one) => {
    await one.declare('p.pri', { arguments: table({ 'x-max-priority': 5 }) });
    for (const [body, priority] of [
      ['p0', 0],
      ['none', undefined],
      ['p3', 3],
      ['p5', 5],
      ['p9', 9],
      ['p3b', 3],
    ] as const) {
      one.publish('p.pri', body, { properties: { priority } });
    }
    await one.declare('p.pri', { passive: true });
    const answers: string[] = [];
    for (let i = 0; i < 6; i++) answers.push(await one.get('p.pri'));
    return answers;
  },
  'priorities and a bound': async (one) => {
    await one.declare('p.prb', { arguments: table({ 'x-max-priority': 5, 'x-max-length': 2 }) });
    for (const priority of [1, 5, 3, 0]) {
      one.publish('p.prb', `p${String(priority)}`, { properties: { priority } });
    }
    await one.declare('p.prb', { passive: true });
    return [await one.get('p.prb'), await one.get('p.prb'), await one.get('p.prb')];
  },
  'priority 0 levels': async (one) => {
    const answers = [await one.declare('p.pr0', { arguments: table({ 'x-max-priority': 0 }) })];
    one.publish('p.pr0', 'a', { properties: { priority: 1 } });
    one.publish('p.pr0', 'b', { properties: { priority: 9 } });
    return [...answers, await one.get('p.pr0'), await one.get('p.pr0')];
  },
  'expired while it waited for its acknowledgement': async (one) => {
    await one.declare('p.ew');
    one.publish('p.ew', 'x', { properties: { expiration: '100' } });
    const answers = [await one.get('p.ew', false)];
    await wait(250);
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    return [...answers, await one.get('p.ew')];
  },
  'expiration 0 without and with a consumer': async (one) => {
    await one.declare('p.e0');
    one.publish('p.e0', 'nobody', { properties: { expiration: '0' } });
    await wait(50);
    const answers = [await one.get('p.e0'), await one.consume('p.e0', 't', { noAck: true })];
    one.publish('p.e0', 'somebody', { properties: { expiration: '0' } });
    return [...answers, await one.answer(2000)];
  },
  'cycles of exchanges': async (one) => {
    for (const name of ['p.cy.a', 'p.cy.b']) await one.exchange(name, 'fanout');
    const link = (source: string, destination: string) =>
      one.call(1, 'exchange.bind', { ...bindTo, destination, source, routingKey: '' });
    const answers = [await link('p.cy.a', 'p.cy.b'), await link('p.cy.b', 'p.cy.a')];
    await one.declare('p.cy.q');
    await one.bind('p.cy.q', 'p.cy.a', '');
    await one.bind('p.cy.q', 'p.cy.b', '');
    one.publish('k', 'once', { exchange: 'p.cy.b' });
    answers.push(await one.get('p.cy.q'), await one.get('p.cy.q'));
    for (const name of ['p.cy.a', 'p.cy.b', 'p.cy.none'])
      answers.push(
        await one.call(1, 'exchange.delete', { ticket: 0, exchange: name, ifUnused: false, nowait: false }),
      );
    return answers;
  },
  'auto-delete exchanges in a row': async (one) => {
    for (const name of ['p.ad.outer', 'p.ad.inner']) await one.exchange(name, 'fanout', { autoDelete: true });
    await one.declare('p.ad.q', { autoDelete: true });
    await one.call(1, 'exchange.bind', {
      ...bindTo,
      destination: 'p.ad.inner',
      source: 'p.ad.outer',
      routingKey: '',
    });
    await one.bind('p.ad.q', 'p.ad.inner', '');
    const answers = [await one.consume('p.ad.q', 't')];
    answers.push(await one.call(1, 'basic.cancel', { consumerTag: 't', nowait: false }));
    await wait(100);
    return [
      ...answers,
      ...(await each(one, [
        () => one.exchange('p.ad.inner', 'fanout', { passive: true }),
        () => one.exchange('p.ad.outer', 'fanout', { passive: true }),
      ])),
    ];
  },
  'exchange.unbind, and deleting exchanges in use': async (one) => {
    await one.exchange('p.ub.a', 'direct');
    await one.exchange('p.ub.b', 'fanout');
    const ends = { destination: 'p.ub.b', source: 'p.ub.a', routingKey: 'k' };
    const drop = (exchange: string, ifUnused: boolean) => () =>
      one.call(1, 'exchange.delete', { ticket: 0, exchange, ifUnused, nowait: false });
    return each(one, [
      () => one.call(1, 'exchange.bind', { ...bindTo, ...ends }),
      drop('p.ub.b', true),
      () => one.exchange('p.ub.b', 'fanout'),
      () => one.call(1, 'exchange.bind', { ...bindTo, ...ends }),
      drop('p.ub.a', true),
      () => one.call(1, 'exchange.unbind', { ...bindTo, ...ends, routingKey: 'other' }),
      () => one.call(1, 'exchange.unbind', { ...bindTo, ...ends }),
      () => one.call(1, 'exchange.unbind', { ...bindTo, ...ends }),
      drop('p.ub.a', true),
      drop('p.ub.b', true),
    ]);
  },
  'names: carriage returns, long ones, and other alphabets': async (one) => {
    const long = 'я'.repeat(100);
    return each(one, [
      () => one.declare('p.\r\ncrlf'),
      () => one.declare('p.crlf', { passive: true }),
      () => one.declare(long),
      () => one.exchange(long, 'direct'),
      () => one.bind(long, long, long),
    ]);
  },
  'exchange types and arguments that are wrong': async (one, { port }) => [
    await alone(port, (two) => two.exchange('p.weird', 'banana')),
    await alone(port, (two) => two.exchange('p.weird', '')),
    ...(await each(one, [
      () => one.exchange('p.ae1', 'direct', { arguments: table({ 'alternate-exchange': 7 }) }),
      () => one.exchange('p.aex', 'direct', { arguments: table({ 'alternate-exchange': 'p.aex.to' }) }),
      () => one.exchange('p.aex', 'direct', { arguments: table({ 'alternate-exchange': 'p.other' }) }),
      () => one.exchange('p.aex', 'direct'),
      () =>
        one.exchange('p.aex', 'direct', {
          arguments: table({ 'alternate-exchange': 'p.aex.to', 'x-foo': 1 }),
        }),
      () =>
        one.exchange('p.aex', 'direct', {
          durable: true,
          arguments: table({ 'alternate-exchange': 'p.aex.to' }),
        }),
      () =>
        one.exchange('p.aex', 'direct', {
          internal: true,
          arguments: table({ 'alternate-exchange': 'p.aex.to' }),
        }),
      () =>
        one.exchange('p.aex', 'direct', {
          autoDelete: true,
          arguments: table({ 'alternate-exchange': 'p.aex.to' }),
        }),
      () => one.exchange('amq.topic', 'topic', { durable: true }),
      () => one.exchange('amq.topic', 'topic'),
      () => one.exchange('amq.new', 'topic'),
      () => one.exchange('p.xm', 'headers'),
      () => one.declare('p.xmq'),
      () => one.bind('p.xmq', 'p.xm', '', table({ 'x-match': 'some' })),
      () => one.bind('p.xmq', 'p.xm', '', table({ 'x-match': 7 })),
    ])),
  ],
  'alternate exchanges in a row, and one that is missing': async (one) => {
    await one.exchange('p.aa3', 'fanout');
    await one.exchange('p.aa2', 'direct', { arguments: table({ 'alternate-exchange': 'p.aa3' }) });
    await one.exchange('p.aa1', 'direct', { arguments: table({ 'alternate-exchange': 'p.aa2' }) });
    await one.exchange('p.aam', 'direct', { arguments: table({ 'alternate-exchange': 'p.nowhere' }) });
    await one.declare('p.aaq');
    await one.bind('p.aaq', 'p.aa3', '');
    one.publish('lost', 'found', { exchange: 'p.aa1', mandatory: true });
    one.publish('lost', 'returned', { exchange: 'p.aam', mandatory: true });
    return [...(await one.rest()), await one.get('p.aaq')];
  },
  'mandatory, and only CC has a way': async (one) => {
    await one.declare('p.mcc');
    one.publish('p.mcc.nowhere', 'x', { mandatory: true, ...headers({ CC: list('p.mcc') }) });
    return [...(await one.rest()), await one.get('p.mcc')];
  },
  'BCC of a wrong type': async (one) => {
    one.publish('p.b', 'x', headers({ BCC: text('k') }));
    return [await one.answer()];
  },
  'recover, and recover without requeue': async (one, { port }) => {
    await one.declare('p.rec');
    for (const body of ['a', 'b']) one.publish('p.rec', body);
    const answers = [await one.get('p.rec', false), await one.get('p.rec', false)];
    answers.push(await one.call(1, 'basic.recover', { requeue: true }));
    answers.push(await one.get('p.rec'), await one.get('p.rec'));
    answers.push(await alone(port, (two) => two.call(1, 'basic.recover', { requeue: false })));
    answers.push(
      await alone(port, async (two) => {
        two.send(1, 'basic.recover-async', { requeue: false });
        return two.answer();
      }),
    );
    return answers;
  },
  'qos that is not served': async (_one, { port }) => [
    await alone(port, (two) =>
      two.call(1, 'basic.qos', { prefetchSize: 10, prefetchCount: 0, global: false }),
    ),
  ],
  'channels: opened twice, never opened, used again': async (one, { port }) => [
    await alone(port, (two) => two.call(1, 'channel.open', { reserved1: '' })),
    await alone(port, (two) => two.declare('p.ch', {}, 7)),
    await alone(port, async (two) => {
      await two.call(1, 'channel.close', {
        replyCode: 200,
        replyText: '',
        failedClassId: 0,
        failedMethodId: 0,
      });
      return two.declare('p.ch');
    }),
    await alone(port, async (two) => {
      await two.call(1, 'channel.close', {
        replyCode: 200,
        replyText: '',
        failedClassId: 0,
        failedMethodId: 0,
      });
      return two.call(1, 'channel.open', { reserved1: '' });
    }),
    await one.call(2, 'channel.open', { reserved1: '' }),
    await one.call(1, 'channel.flow', { active: true }),
  ],
  'methods where they do not belong': async (_one, { port }) => [
    await alone(port, (two) => two.call(0, 'channel.open', { reserved1: '' })),
    await alone(port, (two) =>
      two.call(1, 'connection.open', { virtualHost: '/', reserved1: '', reserved2: false }),
    ),
    await alone(port, (two) =>
      two.call(1, 'queue.declare-ok', { queue: 'q', messageCount: 0, consumerCount: 0 }),
    ),
  ],
  'frames that say too little or too much': async (_one, { port }) => [
    (
      await alone(port, (two) => {
        // queue.declare that ends behind its name.
        two.write(frame(1, 1, Buffer.from('0032000a00000170', 'hex')));
        return two.answer();
      })
    ).slice(0, 26),
    await alone(port, async (two) => {
      await two.declare('p.empty');
      const publish = methodFrame(1, 'basic.publish', {
        ticket: 0,
        exchange: '',
        routingKey: 'p.empty',
        mandatory: false,
        immediate: false,
      });
      const [header, body] = [
        contentFrames(1, Buffer.from('ab')).subarray(0, 22),
        frame(3, 1, Buffer.from('ab')),
      ];
      two.write(Buffer.concat([publish, header, frame(3, 1, Buffer.alloc(0)), body]));
      return two.get('p.empty');
    }),
  ],
  'a frame for a payload as large as the whole frame': async (one) => {
    await one.declare('p.fm');
    const body = Buffer.alloc(131_072, 0x61);
    const publish = methodFrame(1, 'basic.publish', {
      ticket: 0,
      exchange: '',
      routingKey: 'p.fm',
      mandatory: false,
      immediate: false,
    });
    one.write(Buffer.concat([publish, contentFrames(1, body, {}, 131_072)]));
    return [await one.get('p.fm')];
  },
  'bindings: the same twice, with arguments, and both ends again': async (one) => {
    await one.declare('p.bi');
    const unbind = (args = EMPTY_TABLE) =>
      one.call(1, 'queue.unbind', {
        ticket: 0,
        queue: 'p.bi',
        exchange: 'amq.direct',
        routingKey: 'k',
        arguments: args,
      });
    const answers = [
      await one.bind('p.bi', 'amq.direct', 'k'),
      await one.bind('p.bi', 'amq.direct', 'k', table({ a: 1 })),
      await one.bind('p.bi', 'amq.direct', 'k', table({ a: 1 })),
    ];
    one.publish('k', '1', { exchange: 'amq.direct' });
    answers.push(await one.get('p.bi'), await one.get('p.bi'), await unbind());
    one.publish('k', '2', { exchange: 'amq.direct' });
    answers.push(await one.get('p.bi'), await unbind(table({ a: 2 })), await unbind(table({ a: 1 })));
    one.publish('k', '3', { exchange: 'amq.direct' });
    return [...answers, await one.get('p.bi')];
  },
  'consumers share fairly': async (one) => {
    await one.declare('p.fair');
    for (const tag of ['a', 'b', 'c']) await one.consume('p.fair', tag, { noAck: true });
    const answers: string[] = [];
    for (let i = 0; i < 9; i++) {
      one.publish('p.fair', String(i));
      answers.push(await one.answer());
    }
    return answers;
  },
  'a consumer is told when its queue goes, whoever deletes it': async (one, { another }) => {
    await one.declare('p.gone');
    const two = await another();
    const answers = [await two.consume('p.gone', 't')];
    answers.push(
      await one.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.gone',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
      await two.answer(),
      await two.call(1, 'basic.cancel', { consumerTag: 't', nowait: false }),
    );
    await two.close();
    return answers;
  },
  'deleting the queue one consumes from': async (one) => {
    await one.declare('p.own');
    const answers = [await one.consume('p.own', 't')];
    answers.push(
      await one.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.own',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
      await one.answer(),
    );
    return answers;
  },
  'acknowledging what a deleted queue delivered': async (one) => {
    await one.declare('p.ackgone');
    one.publish('p.ackgone', 'x');
    const answers = [await one.get('p.ackgone', false)];
    answers.push(
      await one.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.ackgone',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
    );
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    return [...answers, ...(await one.rest())];
  },
  'access.request, and locales': async (one) => [
    await one.call(1, 'access.request', {
      realm: '/data',
      exclusive: false,
      passive: true,
      active: true,
      write: true,
      read: true,
    }),
  ],
  'confirms of what cannot be routed, with and without mandatory': async (one) => {
    await one.call(1, 'confirm.select', { nowait: false });
    one.publish('p.nowhere.1', 'a');
    const answers = [await one.answer()];
    one.publish('p.nowhere.1', 'b', { mandatory: true });
    return [...answers, await one.answer(), await one.answer()];
  },
};
