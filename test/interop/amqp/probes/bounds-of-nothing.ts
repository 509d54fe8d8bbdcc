import type { FieldTable } from '../../../../src/connectors/amqp/wire/field-table.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import { table } from '../../../support/raw-amqp.js';
import { until } from './probe.js';
import type { Probe } from './probe.js';

type Values = Parameters<typeof table>[0];

const toDead = (queue: string, values: Values): { arguments: FieldTable } => ({
  arguments: table({
    ...values,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': `${queue}.dead`,
  }),
});

const reasonOf = (answer: string): string =>
  `${/"(.*?)"/.exec(answer)?.[1] ?? answer}: ${/x-first-death-reason:S"(\w+)"/.exec(answer)?.[1] ?? 'none'}`;

/** What becomes of messages that nobody, somebody and somebody busy waits for, and of one that comes back. */
async function whoGets(one: RawAmqp, queue: string, values: Values): Promise<readonly string[]> {
  await one.declare(`${queue}.dead`);
  await one.declare(queue, toDead(queue, values));
  const dead = async (): Promise<string> => reasonOf(await until(one, `${queue}.dead`));
  one.publish(queue, 'nobody');
  const answers = [await one.get(queue), await one.declare(queue, { passive: true }), await dead()];
  await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
  answers.push(await one.consume(queue, 't'));
  one.publish(queue, 'somebody');
  answers.push(await one.answer());
  one.publish(queue, 'busy');
  answers.push(await dead());
  const tag = Number(/#(\d+)/.exec(answers.at(-2) ?? '')?.[1]);
  one.send(1, 'basic.reject', { deliveryTag: tag, requeue: true });
  answers.push(await dead(), await one.declare(queue, { passive: true }));
  return answers;
}

async function confirmed(one: RawAmqp, queue: string, bodies: readonly string[]): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const body of bodies) {
    one.publish(queue, body);
    answers.push((await one.answer()).replace(/ true true$| false false$/, ''));
  }
  return answers;
}

/** Queues that may keep a message for no time, or none at all. */
export const BOUNDS_OF_NOTHING_PROBES: Readonly<Record<string, Probe>> = {
  'time to live 0: who gets the message': (one) => whoGets(one, 'p.n.ttl', { 'x-message-ttl': 0 }),
  'max-length 0: who gets the message': (one) => whoGets(one, 'p.n.len', { 'x-max-length': 0 }),
  'max-length-bytes 0: who gets the message': (one) => whoGets(one, 'p.n.bytes', { 'x-max-length-bytes': 0 }),
  'max-length-bytes 0 and empty bodies': async (one) => {
    await one.declare('p.n.empty', { arguments: table({ 'x-max-length-bytes': 0 }) });
    for (const body of ['', 'x', '']) one.publish('p.n.empty', body);
    return [await one.get('p.n.empty'), await one.get('p.n.empty')];
  },
  'max-length 0 and max-length-bytes 0 of queues that refuse': async (one) => {
    const bound = (values: Values) => ({ arguments: table({ ...values, 'x-overflow': 'reject-publish' }) });
    await one.declare('p.n.rl', bound({ 'x-max-length': 0 }));
    await one.declare('p.n.rb', bound({ 'x-max-length-bytes': 0 }));
    await one.call(1, 'confirm.select', { nowait: false });
    const answers = [...(await confirmed(one, 'p.n.rl', ['a'])), await one.consume('p.n.rl', 't')];
    answers.push(...(await confirmed(one, 'p.n.rl', ['b', ''])));
    answers.push(...(await confirmed(one, 'p.n.rb', ['x', ''])));
    answers.push(await one.declare('p.n.rb', { passive: true }), await one.get('p.n.rb'));
    return answers;
  },
  'expiration 0 in a queue with a longer life, and the other way round': async (one) => {
    await one.declare('p.n.long', { arguments: table({ 'x-message-ttl': 60_000 }) });
    await one.declare('p.n.short', { arguments: table({ 'x-message-ttl': 0 }) });
    one.publish('p.n.long', 'gone', { properties: { expiration: '0' } });
    one.publish('p.n.long', 'stays');
    one.publish('p.n.short', 'gone', { properties: { expiration: '60000' } });
    return [await one.get('p.n.long'), await one.get('p.n.long'), await one.get('p.n.short')];
  },
};
