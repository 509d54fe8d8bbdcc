import { RawAmqp, table } from '../../../support/raw-amqp.js';
import { each, reopened, until } from './probe.js';
import type { Probe } from './probe.js';

type Args = Parameters<typeof table>[0];

const quorum = (args: Args = {}) => ({
  durable: true,
  arguments: table({ 'x-queue-type': 'quorum', ...args }),
});

const remove = (one: RawAmqp, queue: string): Promise<string> =>
  one.call(1, 'queue.delete', { ticket: 0, queue, ifUnused: false, ifEmpty: false, nowait: false });

/** A queue's first message: an election may still be under way. */
async function ready(one: RawAmqp, queue: string, body: string): Promise<void> {
  one.publish(queue, body, { properties: { deliveryMode: 2 } });
  await new Promise((resolve) => setTimeout(resolve, 200));
}

/** Queues of type quorum. */
export const QUORUM_PROBES: Readonly<Record<string, Probe>> = {
  'quorum queues: what they refuse to be': (one) =>
    each(one, [
      () => one.declare('p.qq', { arguments: table({ 'x-queue-type': 'quorum' }) }),
      () => one.declare('p.qq', { ...quorum(), exclusive: true }),
      () => one.declare('p.qq', { ...quorum(), autoDelete: true }),
      () => one.declare('', quorum()),
      () => one.declare('p.qq', quorum({ 'x-max-priority': 5 })),
      () => one.declare('p.qq', quorum({ 'x-queue-mode': 'lazy' })),
      () => one.declare('p.qq', quorum({ 'x-delivery-limit': -5 })),
      () => one.declare('p.qq', quorum({ 'x-delivery-limit': 'many' })),
      () => one.declare('p.qq', { arguments: table({ 'x-queue-type': 'weird' }) }),
      () => one.declare('p.qq', { arguments: table({ 'x-queue-type': 7 }) }),
    ]),
  'quorum queues: redeclared': async (one) => {
    const answers = await each(one, [
      () => one.declare('p.qr', quorum({ 'x-delivery-limit': 3 })),
      () => one.declare('p.qr', quorum({ 'x-delivery-limit': 3 })),
      () => one.declare('p.qr', quorum({ 'x-delivery-limit': 4 })),
      () => one.declare('p.qr', { durable: true }),
      () => one.declare('p.qr', { durable: true, arguments: table({ 'x-queue-type': 'classic' }) }),
    ]);
    return [...answers, await remove(one, 'p.qr')];
  },
  'classic queues: what their type refuses': async (one) => {
    const classic = (args: Args) => () =>
      one.declare('p.cl', { arguments: table({ 'x-queue-type': 'classic', ...args }) });
    return each(one, [
      classic({ 'x-delivery-limit': 3 }),
      classic({ 'x-max-age': '1h' }),
      classic({ 'x-quorum-initial-group-size': 3 }),
      classic({ 'x-queue-mode': 'weird' }),
      classic({ 'x-queue-mode': 'lazy' }),
      () => one.declare('p.cl'),
      () => one.declare('p.cl2', { arguments: table({ 'x-queue-version': 3 }) }),
      () => one.declare('p.cl2', { arguments: table({ 'x-queue-version': 2 }) }),
    ]);
  },
  'quorum queues: deliveries are counted, up to the limit': async (one) => {
    await one.declare('p.ql.dead');
    await one.declare(
      'p.ql',
      quorum({
        'x-delivery-limit': 2,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': 'p.ql.dead',
      }),
    );
    await ready(one, 'p.ql', 'again');
    const answers: string[] = [];
    for (let tag = 1; tag <= 3; tag++) {
      answers.push(await until(one, 'p.ql', false));
      one.send(1, 'basic.nack', { deliveryTag: tag, multiple: false, requeue: true });
    }
    answers.push(await until(one, 'p.ql.dead'), await remove(one, 'p.ql'));
    return answers;
  },
  'quorum queues: no global prefetch': async (one, { port }) => {
    await one.declare('p.qg', quorum());
    const two = await RawAmqp.open(port);
    await two.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: true });
    const answers = [await two.consume('p.qg', 't')];
    await two.close();
    const three = await RawAmqp.open(port);
    answers.push(await three.consume('p.qg', 't'));
    answers.push(await three.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: true }));
    await three.close();
    return [...answers, await remove(one, 'p.qg')];
  },
  'quorum queues: a get beside a single active consumer': async (one) => {
    await one.declare('p.qs', quorum({ 'x-single-active-consumer': true }));
    await ready(one, 'p.qs', 'x');
    const answers = [await one.get('p.qs')];
    if (answers[0]?.startsWith('CH ') === true) await reopened(one);
    answers.push(await remove(one, 'p.qs'));
    return answers;
  },
};
