import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import { bindTo, each, reopened } from './probe.js';
import type { Probe } from './probe.js';

const REPLY_TO = 'amq.rabbitmq.reply-to';

const consumeReplies = (one: RawAmqp, tag = 't'): Promise<string> =>
  one.consume(REPLY_TO, tag, { noAck: true });

/** Sends a request and gives the name replies go to, which the broker made up. */
async function replyName(one: RawAmqp): Promise<string> {
  await one.declare('p.drt');
  one.publish('p.drt', 'request', { properties: { replyTo: REPLY_TO } });
  const request = await one.get('p.drt');
  return /replyTo=([^,}]+)/.exec(request)?.[1] ?? request;
}

/** Answers without the made-up names. */
function masked(answers: readonly string[]): readonly string[] {
  // RabbitMQ's names are base64 and may hold "/".
  return answers.map((answer) => answer.replaceAll(/(amq\.rabbitmq\.reply-to\.)[^\s,}"']+/g, '$1NAME'));
}

/** Direct reply-to. */
export const REPLIES_PROBES: Readonly<Record<string, Probe>> = {
  'direct reply-to: the consumer': async (one) =>
    masked([
      ...(await each(one, [
        () => one.consume(REPLY_TO, 't'),
        () => consumeReplies(one),
        () => consumeReplies(one, 'u'),
        () => consumeReplies(one),
        () => one.call(1, 'basic.cancel', { consumerTag: 't', nowait: false }),
        () => consumeReplies(one),
      ])),
      ...(await one.rest()),
    ]),
  'direct reply-to: a request without a consumer': async (one) => {
    await one.declare('p.drt');
    one.publish('p.drt', 'request', { properties: { replyTo: REPLY_TO } });
    return one.rest();
  },
  'direct reply-to: request and reply': async (one, { another }) => {
    const answers = [await consumeReplies(one)];
    const name = await replyName(one);
    answers.push(name);
    const two = await another();
    two.publish(name, 'reply', { properties: { correlationId: 'c', expiration: '1' } });
    answers.push(await one.answer());
    two.publish(name, 'routed otherwise', { exchange: 'amq.direct', mandatory: true });
    answers.push(...(await two.rest()));
    answers.push(await two.call(1, 'confirm.select', { nowait: false }));
    two.publish(name, 'confirmed', { properties: { deliveryMode: 2 } });
    answers.push(...(await two.rest()), ...(await one.rest()));
    two.publish(name, 'mandatory', { mandatory: true });
    answers.push(...(await two.rest()), ...(await one.rest()));
    two.publish(`${name}x`, 'wrong name', { mandatory: true });
    answers.push(...(await two.rest()), ...(await one.rest()));
    one.send(1, 'channel.close', { replyCode: 200, replyText: '', failedClassId: 0, failedMethodId: 0 });
    answers.push(await one.answer());
    two.publish(name, 'nobody');
    answers.push(...(await two.rest()));
    two.publish(name, 'nobody', { mandatory: true });
    answers.push(...(await two.rest()));
    await two.close();
    return masked(answers);
  },
  'direct reply-to: asking for the names': async (one, { another }) => {
    await consumeReplies(one);
    const name = await replyName(one);
    const two = await another();
    const passive = { passive: true };
    const answers = await each(two, [
      () => two.declare(REPLY_TO, passive),
      () => two.declare(REPLY_TO),
      () => two.declare(name, passive),
      () => two.declare(name),
      () => two.declare(`${REPLY_TO}.dead`, passive),
      () => two.declare(`${REPLY_TO}.dead`),
      () => two.get(REPLY_TO),
      () => two.get(name),
      () => two.bind(REPLY_TO, 'amq.direct', 'k'),
      () => two.bind(name, 'amq.direct', 'k'),
      () =>
        two.call(1, 'queue.unbind', {
          ticket: 0,
          queue: name,
          exchange: 'amq.direct',
          routingKey: 'k',
          arguments: EMPTY_TABLE,
        }),
      () => two.call(1, 'queue.purge', { ticket: 0, queue: name, nowait: false }),
      () => two.call(1, 'queue.delete', { ...bindTo, queue: name, ifUnused: false, ifEmpty: false }),
      () => two.call(1, 'queue.delete', { ...bindTo, queue: REPLY_TO, ifUnused: true, ifEmpty: false }),
      () => two.consume(name, 't', { noAck: true }),
    ]);
    two.publish(name, 'still there');
    answers.push(await one.answer());
    await two.close();
    return masked(answers);
  },
  'direct reply-to: in a transaction, and with CC': async (one, { another }) => {
    await consumeReplies(one);
    const name = await replyName(one);
    const two = await another();
    await two.declare('p.drtcc');
    two.publish('p.drtcc', 'both', {
      properties: {
        headers: new Map([['CC', { tag: 'A', value: [{ tag: 'S', value: Buffer.from(name) }] }]]),
      },
    });
    const answers = [await one.answer(), await two.get('p.drtcc')];
    await two.call(1, 'tx.select', {});
    two.publish(name, 'at once?');
    answers.push(...(await one.rest()), await two.call(1, 'tx.commit', {}), ...(await one.rest()));
    await two.close();
    return masked(answers);
  },
  'direct reply-to: a second life of the channel': async (one, { another }) => {
    await consumeReplies(one);
    const name = await replyName(one);
    one.send(1, 'channel.close', { replyCode: 200, replyText: '', failedClassId: 0, failedMethodId: 0 });
    const answers = [await one.answer()];
    await reopened(one);
    answers.push(await consumeReplies(one));
    const two = await another();
    two.publish(name, 'to the one before');
    answers.push(...(await one.rest()));
    await two.close();
    return masked(answers);
  },
};
