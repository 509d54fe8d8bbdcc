import { table } from '../../../support/raw-amqp.js';
import { until } from './probe.js';
import type { Probe } from './probe.js';

/** Messages that are refused, dropped, expired or dead-lettered. Server-made names and times must not show. */
export const ENDS_OF_MESSAGES_PROBES: Readonly<Record<string, Probe>> = {
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
