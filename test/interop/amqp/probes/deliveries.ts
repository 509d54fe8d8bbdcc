import { alone } from './probe.js';
import type { Probe } from './probe.js';

/** Who gets a message, and what becomes of it. */
export const DELIVERIES_PROBES: Readonly<Record<string, Probe>> = {
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
  'confirms of what cannot be routed, with and without mandatory': async (one) => {
    await one.call(1, 'confirm.select', { nowait: false });
    one.publish('p.nowhere.1', 'a');
    const answers = [await one.answer()];
    one.publish('p.nowhere.1', 'b', { mandatory: true });
    return [...answers, await one.answer(), await one.answer()];
  },
};
