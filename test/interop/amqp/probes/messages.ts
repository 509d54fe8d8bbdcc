import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import { contentFrames, frame, methodFrame, RawAmqp, table } from '../../../support/raw-amqp.js';
import { bindTo, reopened, each, until } from './probe.js';
import type { Probe } from './probe.js';

/** What happens to messages: confirms, prefetch, order, routing, limits, dead letters. Server-made names and times must not show. */
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
