import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import { contentFrames, frame, methodFrame, RawAmqp, table } from '../../../support/raw-amqp.js';
import { each, reopened } from './probe.js';
import type { Probe } from './probe.js';

/** What happens to messages in queues: confirms, prefetch, order, properties, frames. Server-made names must not show. */
export const MESSAGES_PROBES: Readonly<Record<string, Probe>> = {
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
    return [answer];
  },
  'a bad frame end': async (one) => {
    const bad = methodFrame(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    bad[bad.length - 1] = 0xcd;
    one.write(bad);
    // A long text is broken into lines there.
    return [(await one.answer()).replaceAll(/\n */g, '')];
  },
  'unknown virtual host': async (_one, { port }) => {
    const raw = await RawAmqp.open(port, { vhost: '', channel: false });
    const answer = await raw.answer();
    await raw.close();
    return [answer];
  },
};
