import { table } from '../../../support/raw-amqp.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import type { Probe } from './probe.js';

const SINGLE = { arguments: table({ 'x-single-active-consumer': true }) };
const priority = (value: number) => ({ arguments: table({ 'x-priority': value }) });

const qos = (raw: RawAmqp, prefetchCount: number, channel = 1): Promise<string> =>
  raw.call(channel, 'basic.qos', { prefetchSize: 0, prefetchCount, global: false });

const closeChannel = (raw: RawAmqp, channel: number): Promise<string> =>
  raw.call(channel, 'channel.close', { replyCode: 200, replyText: '', failedClassId: 0, failedMethodId: 0 });

const ack = (raw: RawAmqp, deliveryTag: number, channel = 1): void =>
  raw.send(channel, 'basic.ack', { deliveryTag, multiple: false });

/** What a passive declaration says of each: the publishes and acknowledgements before it are done. */
async function counts(raw: RawAmqp, ...queues: string[]): Promise<string[]> {
  const answers: string[] = [];
  for (const queue of queues) answers.push(await raw.declare(queue, { passive: true }));
  return answers;
}

/** From one consumer to the next, and from one queue to several. */
export const HAND_OVER_PROBES: Readonly<Record<string, Probe>> = {
  'single active consumer: its channel closes with messages in hand': async (one, { another }) => {
    const two = await another();
    await one.declare('p.sach', SINGLE);
    await one.call(2, 'channel.open', { reserved1: '' });
    const answers = [await one.consume('p.sach', 'first', {}, 2), await two.consume('p.sach', 'second')];
    for (const body of ['1', '2']) one.publish('p.sach', body);
    answers.push(...(await one.rest()), await closeChannel(one, 2), ...(await two.rest()));
    one.publish('p.sach', '3');
    answers.push(...(await two.rest()));
    await two.close();
    return answers;
  },
  'single active consumer: what it gives back comes to it again': async (one, { another }) => {
    const two = await another();
    await one.declare('p.sacn', SINGLE);
    await qos(one, 1);
    const answers = [await one.consume('p.sacn', 'first'), await two.consume('p.sacn', 'second')];
    for (const body of ['1', '2']) two.publish('p.sacn', body);
    answers.push(await one.answer());
    one.send(1, 'basic.nack', { deliveryTag: 1, multiple: false, requeue: true });
    answers.push(await one.answer(), ...(await two.rest()));
    await two.close();
    return answers;
  },
  'single active consumer: its socket breaks': async (one, { another }) => {
    const [two, three] = [await another(), await another()];
    await one.declare('p.sacb2', SINGLE);
    const answers = [await two.consume('p.sacb2', 'first'), await three.consume('p.sacb2', 'second')];
    one.publish('p.sacb2', 'held');
    answers.push(await two.answer());
    two.socket.destroy();
    answers.push(await three.answer());
    ack(three, 1);
    // Asked on the channel that acknowledged: what another one sees, or sees after the end of this one, is a matter of time.
    answers.push(...(await counts(three, 'p.sacb2')));
    await three.close();
    return answers;
  },
  'consumer priorities: who has no room lets others have it': async (one) => {
    await one.declare('p.cpr');
    await qos(one, 1);
    const answers = [await one.consume('p.cpr', 'low'), await one.consume('p.cpr', 'high', priority(5))];
    for (const body of ['1', '2', '3']) {
      one.publish('p.cpr', body);
      answers.push(...(await one.rest()));
    }
    answers.push('the first is acknowledged');
    ack(one, 1);
    answers.push(...(await one.rest()));
    one.publish('p.cpr', '4');
    answers.push(...(await one.rest()), 'both have room');
    ack(one, 2);
    ack(one, 3);
    answers.push(...(await one.rest()));
    return answers;
  },
  'consumer priorities: the same one takes turns, and negative ones come last': async (one) => {
    await one.declare('p.cpt');
    const answers = [
      await one.consume('p.cpt', 'last', { ...priority(-3), noAck: true }),
      await one.consume('p.cpt', 'a', { ...priority(2), noAck: true }),
      await one.consume('p.cpt', 'b', { ...priority(2), noAck: true }),
      await one.consume('p.cpt', 'plain', { noAck: true }),
    ];
    for (let i = 0; i < 4; i++) {
      one.publish('p.cpt', `m${String(i)}`);
      answers.push(await one.answer());
    }
    for (const consumerTag of ['a', 'b']) {
      answers.push(await one.call(1, 'basic.cancel', { consumerTag, nowait: false }));
    }
    one.publish('p.cpt', 'for plain');
    answers.push(...(await one.rest()));
    answers.push(await one.call(1, 'basic.cancel', { consumerTag: 'plain', nowait: false }));
    one.publish('p.cpt', 'for last');
    return [...answers, ...(await one.rest())];
  },
  'consumer priorities: what goes back goes to the highest': async (one) => {
    await one.declare('p.cpb');
    const answers = [await one.consume('p.cpb', 'low')];
    one.publish('p.cpb', 'back');
    answers.push(await one.answer(), await one.consume('p.cpb', 'high', priority(1)));
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: true });
    return [...answers, ...(await one.rest())];
  },
  'a commit of publishes to many queues, and acknowledgements in others': async (one, { another }) => {
    const two = await another();
    for (const queue of ['p.tx1', 'p.tx2', 'p.tx3', 'p.txin']) await one.declare(queue);
    await one.exchange('p.txf', 'fanout');
    for (const queue of ['p.tx1', 'p.tx2']) await one.bind(queue, 'p.txf', '');
    for (const body of ['in1', 'in2']) one.publish('p.txin', body);
    await one.call(1, 'tx.select', {});
    const answers = [await one.get('p.txin', false), await one.get('p.txin', false)];
    one.publish('', 'to two', { exchange: 'p.txf' });
    one.publish('p.tx3', 'to one');
    ack(one, 1);
    ack(one, 2);
    answers.push(...(await counts(two, 'p.tx1', 'p.tx2', 'p.tx3', 'p.txin')));
    answers.push(await one.call(1, 'tx.commit', {}));
    answers.push(...(await counts(two, 'p.tx1', 'p.tx2', 'p.tx3', 'p.txin')));
    await two.close();
    return answers;
  },
  'a transaction that ends with its channel, or its connection': async (one, { another }) => {
    await one.declare('p.txe');
    one.publish('p.txe', 'there');
    await one.declare('p.txe', { passive: true });
    const two = await another();
    await two.call(1, 'tx.select', {});
    const answers = [await two.get('p.txe', false)];
    two.publish('p.txe', 'never');
    ack(two, 1);
    answers.push(await closeChannel(two, 1), ...(await counts(one, 'p.txe')));
    await two.call(1, 'channel.open', { reserved1: '' });
    await two.call(1, 'tx.select', {});
    answers.push(await two.get('p.txe', false));
    two.publish('p.txe', 'never');
    ack(two, 1);
    answers.push(
      await two.call(0, 'connection.close', {
        replyCode: 200,
        replyText: '',
        failedClassId: 0,
        failedMethodId: 0,
      }),
    );
    await two.close();
    return [...answers, ...(await counts(one, 'p.txe'))];
  },
  'a rollback, and nacks in a transaction': async (one) => {
    await one.declare('p.txn');
    for (const body of ['a', 'b', 'c']) one.publish('p.txn', body);
    await one.call(1, 'tx.select', {});
    const answers: string[] = [];
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.txn', false));
    one.send(1, 'basic.nack', { deliveryTag: 2, multiple: true, requeue: true });
    answers.push(...(await counts(one, 'p.txn')), await one.call(1, 'tx.rollback', {}));
    answers.push(...(await counts(one, 'p.txn')));
    one.send(1, 'basic.nack', { deliveryTag: 1, multiple: false, requeue: true });
    one.send(1, 'basic.reject', { deliveryTag: 3, requeue: false });
    ack(one, 2);
    answers.push(await one.call(1, 'tx.commit', {}), ...(await counts(one, 'p.txn')));
    return [...answers, await one.get('p.txn', true)];
  },
};
