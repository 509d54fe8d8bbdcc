import { table } from '../../../support/raw-amqp.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import { each, reopened } from './probe.js';
import type { Probe } from './probe.js';

const select = (one: RawAmqp): Promise<string> => one.call(1, 'tx.select', {});
const commit = (one: RawAmqp): Promise<string> => one.call(1, 'tx.commit', {});
const rollback = (one: RawAmqp): Promise<string> => one.call(1, 'tx.rollback', {});

/** Transactions: what waits for the commit, what comes back with a rollback. */
export const TRANSACTIONS_PROBES: Readonly<Record<string, Probe>> = {
  'transactions and confirms exclude each other': async (one) =>
    each(one, [
      () => commit(one),
      () => rollback(one),
      () => select(one),
      () => select(one),
      () => one.call(1, 'confirm.select', { nowait: false }),
      () => one.call(1, 'confirm.select', { nowait: false }),
      () => select(one),
    ]),
  'publishes wait for the commit': async (one, { another }) => {
    await one.declare('p.tx');
    const answers = [await select(one)];
    one.publish('p.tx', 'a');
    answers.push(await one.get('p.tx'), await rollback(one), await one.get('p.tx'));
    one.publish('p.tx', 'b');
    one.publish('p.tx', 'c');
    answers.push(await commit(one), await one.get('p.tx'), await one.get('p.tx'), await one.get('p.tx'));
    one.publish('p.tx', 'left behind');
    const two = await another();
    await one.close();
    answers.push(await two.declare('p.tx', { passive: true }));
    await two.close();
    return answers;
  },
  'acknowledgements wait for the commit': async (one, { another }) => {
    await one.declare('p.txa');
    for (const body of ['a', 'b', 'c', 'd']) one.publish('p.txa', body);
    const answers = [await select(one)];
    for (let i = 0; i < 4; i++) answers.push(await one.get('p.txa', false));
    one.send(1, 'basic.ack', { deliveryTag: 3, multiple: true });
    answers.push(await rollback(one));
    one.send(1, 'basic.ack', { deliveryTag: 2, multiple: true });
    one.send(1, 'basic.nack', { deliveryTag: 3, multiple: false, requeue: true });
    answers.push(await one.get('p.txa', false), await commit(one), await one.get('p.txa', false));
    one.send(1, 'basic.ack', { deliveryTag: 4, multiple: false });
    one.send(1, 'basic.ack', { deliveryTag: 4, multiple: false });
    answers.push(await one.answer());
    await reopened(one);
    answers.push(await one.get('p.txa'), await one.get('p.txa'), await one.get('p.txa'));
    const two = await another();
    await two.close();
    return answers;
  },
  'a prefetch is used up until the commit': async (one) => {
    await one.declare('p.txq');
    for (const body of ['a', 'b', 'c']) one.publish('p.txq', body);
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    const answers = [await select(one), await one.consume('p.txq', 't'), ...(await one.rest())];
    one.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    answers.push(String((await one.rest()).length));
    one.send(1, 'tx.commit', {});
    return [...answers, ...(await one.rest())];
  },
  'returns and refusals in a transaction': async (one) => {
    await one.declare('p.txr');
    const answers = [await select(one)];
    one.publish('nowhere', 'lost', { mandatory: true });
    answers.push(String((await one.rest()).length));
    one.send(1, 'tx.commit', {});
    answers.push(...(await one.rest()));
    one.publish('p.txr', 'not stored');
    one.publish('p.txr', 'x', { exchange: 'p.nox' });
    answers.push(...(await one.rest()));
    await reopened(one);
    answers.push(await one.get('p.txr'));
    return answers;
  },
  'a full queue fails the commit': async (one) => {
    await one.declare('p.txf', { arguments: table({ 'x-max-length': 1, 'x-overflow': 'reject-publish' }) });
    one.publish('p.txf', 'fills it');
    const answers = [await select(one)];
    one.publish('p.txf', 'too much');
    answers.push(await commit(one));
    await reopened(one);
    answers.push(await one.get('p.txf'), await one.get('p.txf'));
    return answers;
  },
};
