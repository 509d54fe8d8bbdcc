import { table } from '../../../support/raw-amqp.js';
import { bindTo } from './probe.js';
import type { Probe } from './probe.js';

/** Where messages go: each type of exchange, copies for other keys, and what has no way. */
export const EXCHANGE_TYPES_PROBES: Readonly<Record<string, Probe>> = {
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
};
