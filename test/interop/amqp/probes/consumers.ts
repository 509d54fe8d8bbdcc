import { table } from '../../../support/raw-amqp.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import { each, reopened, wait } from './probe.js';
import type { Probe } from './probe.js';

const SINGLE = { arguments: table({ 'x-single-active-consumer': true }) };

const cancel = (one: RawAmqp, tag: string, channel = 1): Promise<string> =>
  one.call(channel, 'basic.cancel', { consumerTag: tag, nowait: false });

/** Messages of each queue whose consumers share a prefetch. */
const ROUNDS = 40;

const consumerOf = (delivery: string): string => /t\d/.exec(delivery)?.[0] ?? delivery;

/** Which consumers are served, and how long queues live without any. */
export const CONSUMERS_PROBES: Readonly<Record<string, Probe>> = {
  'a shared prefetch goes round': async (one) => {
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: true });
    const queues = ['p.round.a', 'p.round.b', 'p.round.c'];
    for (const queue of queues) {
      await one.declare(queue);
      for (let i = 0; i < ROUNDS; i++) one.publish(queue, queue);
      await one.declare(queue, { passive: true });
    }
    const answers: string[] = [];
    for (const queue of [...queues, 'p.round.a']) {
      answers.push(await one.consume(queue, `t${String(answers.length)}`));
    }
    // One answer to each of the four, and the first delivery somewhere between them.
    answers.push(await one.answer());
    const served = new Set(answers.filter((answer) => answer.startsWith('deliver')).map(consumerOf));
    // RabbitMQ picks the next queue at random. Who is not served as long as no queue is empty, would wait for others to be.
    for (let tag = 1; tag <= ROUNDS && served.size < 4; tag++) {
      one.send(1, 'basic.ack', { deliveryTag: tag, multiple: false });
      served.add(consumerOf(await one.answer()));
    }
    return [...served].toSorted();
  },
  'a shared prefetch holds for consumers that acknowledge nothing': async (one) => {
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: true });
    await one.declare('p.shared.ack');
    await one.declare('p.shared.auto');
    one.publish('p.shared.ack', 'held');
    const answers = [await one.consume('p.shared.ack', 'ack'), ...(await one.rest())];
    answers.push(await one.consume('p.shared.auto', 'auto', { noAck: true }));
    one.publish('p.shared.auto', 'waits');
    answers.push(...(await one.rest()), 'acknowledged');
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    return [...answers, ...(await one.rest())];
  },
  'single active consumer': async (one) => {
    await one.declare('p.sac', SINGLE);
    const answers = [await one.consume('p.sac', 'a'), await one.consume('p.sac', 'b')];
    for (const body of ['1', '2', '3']) one.publish('p.sac', body);
    answers.push(...(await one.rest()), await cancel(one, 'a'), ...(await one.rest()));
    one.publish('p.sac', '4');
    answers.push(...(await one.rest()));
    one.send(1, 'basic.nack', { deliveryTag: 1, multiple: false, requeue: true });
    answers.push(...(await one.rest()), await one.get('p.sac'), await one.declare('p.sac', SINGLE));
    return answers;
  },
  'single active consumer that has no room': async (one) => {
    await one.declare('p.sacq', SINGLE);
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    for (const body of ['1', '2', '3']) one.publish('p.sacq', body);
    const answers = [await one.consume('p.sacq', 'a'), ...(await one.rest())];
    answers.push(await one.consume('p.sacq', 'b'), ...(await one.rest()), await one.get('p.sacq', false));
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    answers.push(
      ...(await one.rest()),
      await cancel(one, 'b'),
      await cancel(one, 'a'),
      await one.get('p.sacq'),
    );
    return answers;
  },
  'single active consumer and priorities': async (one) => {
    await one.declare('p.sacp', SINGLE);
    const answers = [await one.consume('p.sacp', 'first')];
    answers.push(await one.consume('p.sacp', 'low', { arguments: table({ 'x-priority': -1 }) }));
    answers.push(await one.consume('p.sacp', 'plain'));
    answers.push(await one.consume('p.sacp', 'high', { arguments: table({ 'x-priority': 5 }) }));
    one.publish('p.sacp', '1');
    answers.push(...(await one.rest()));
    for (const tag of ['first', 'high', 'plain']) {
      answers.push(await cancel(one, tag));
      one.publish('p.sacp', `after ${tag}`);
      answers.push(...(await one.rest()));
    }
    return answers;
  },
  'single active consumer on another connection': async (one, { another }) => {
    await one.declare('p.sacc', SINGLE);
    const two = await another();
    const answers = [await two.consume('p.sacc', 'theirs'), await one.consume('p.sacc', 'ours')];
    one.publish('p.sacc', '1');
    answers.push(...(await two.rest()), ...(await one.rest()));
    await two.close();
    return [...answers, ...(await one.rest())];
  },
  'exclusive and single active consumers': async (one, { another }) => {
    await one.declare('p.exc');
    await one.declare('p.excs', SINGLE);
    const two = await another();
    const exclusive = { exclusive: true };
    const answers = await each(two, [
      () => two.consume('p.excs', 'a', exclusive),
      () => two.consume('p.exc', 'a', exclusive),
      () => two.consume('p.exc', 'b'),
    ]);
    answers.push(await two.consume('p.exc', 'a', exclusive), await one.consume('p.exc', 'c', exclusive));
    await reopened(one);
    answers.push(await cancel(two, 'a'), await one.consume('p.exc', 'c', exclusive));
    answers.push(await two.consume('p.exc', 'a'));
    await two.close();
    await one.close();
    return answers;
  },
  'bad single active consumer': async (one) =>
    each(one, [
      () => one.declare('p.sacb', { arguments: table({ 'x-single-active-consumer': 1 }) }),
      () => one.declare('p.sacb', { arguments: table({ 'x-single-active-consumer': 'true' }) }),
      () => one.declare('p.sacb', { arguments: table({ 'x-single-active-consumer': false }) }),
      () => one.declare('p.sacb', SINGLE),
    ]),
  'queues that expire': async (one) => {
    const expires = { arguments: table({ 'x-expires': 1200 }) };
    const passive = (): Promise<string> => one.declare('p.exp', { passive: true });
    const answers = [await one.declare('p.exp', expires)];
    one.publish('p.exp', 'goes with it');
    // Every look at the queue begins the time anew.
    for (let i = 0; i < 3; i++) {
      await wait(600);
      answers.push(
        i === 0
          ? await one.declare('p.exp', expires)
          : i === 1
            ? await passive()
            : await one.get('p.exp', false),
      );
    }
    answers.push(await one.consume('p.exp', 't'));
    await wait(1600);
    answers.push(await passive(), await cancel(one, 't'));
    await wait(600);
    // A publish is no use.
    one.publish('p.exp', 'no use');
    await wait(1200);
    answers.push(await passive());
    return answers;
  },
  'user-id': async (one) => {
    await one.declare('p.uid');
    one.publish('p.uid', 'ours', { properties: { userId: 'guest' } });
    return [await one.get('p.uid')];
  },
};
