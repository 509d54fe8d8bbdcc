import { table } from '../../../support/raw-amqp.js';
import { until, wait } from './probe.js';
import type { Probe } from './probe.js';

/** Bounds, priorities and lives of queues. */
export const QUEUE_LIMITS_PROBES: Readonly<Record<string, Probe>> = {
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
  'given back over max-length': async (one) => {
    const dead = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'p.gb.dead' };
    await one.declare('p.gb.dead');
    await one.declare('p.gb', { arguments: table({ 'x-max-length': 2, ...dead }) });
    for (const body of ['a', 'b']) one.publish('p.gb', body);
    const answers = [await one.get('p.gb', false)];
    one.publish('p.gb', 'c');
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    answers.push(await until(one, 'p.gb.dead'));
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.gb'));
    return answers;
  },
  'given back over max-length to a queue that refuses': async (one) => {
    await one.declare('p.gbr', { arguments: table({ 'x-max-length': 1, 'x-overflow': 'reject-publish' }) });
    one.publish('p.gbr', 'a');
    const answers = [await one.get('p.gbr', false)];
    one.publish('p.gbr', 'b');
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.gbr'));
    return answers;
  },
  'given back over max-length beside a consumer with room': async (one) => {
    await one.declare('p.gbc', { arguments: table({ 'x-max-length': 1 }) });
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    const answers = [await one.consume('p.gbc', 't')];
    one.publish('p.gbc', 'a');
    answers.push(await one.answer());
    one.publish('p.gbc', 'b');
    await wait(50);
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    answers.push(await one.answer());
    await wait(50);
    answers.push(await one.declare('p.gbc', { passive: true }));
    return answers;
  },
  'given back over max-length-bytes': async (one) => {
    await one.declare('p.gbb', { arguments: table({ 'x-max-length-bytes': 8 }) });
    for (const body of ['aaaa', 'bbbb']) one.publish('p.gbb', body);
    const answers = [await one.get('p.gbb', false)];
    one.publish('p.gbb', 'cccc');
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.gbb'));
    return answers;
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
};
