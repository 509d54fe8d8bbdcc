import type { MethodArgs } from '../../../../src/connectors/amqp/wire/methods.js';
import { table } from '../../../support/raw-amqp.js';
import { each } from './probe.js';
import type { Probe, ProbeTools } from './probe.js';

type Args = Parameters<typeof table>[0];
type Declaration = Partial<MethodArgs<'queue.declare'>>;

const durable = (args: Args = {}): Declaration => ({ durable: true, arguments: table(args) });
const ofType = (type: string): Declaration => durable({ 'x-queue-type': type });

/** A virtual host with a default queue type; 3.10 has a name for it that later versions took for a mistake. */
async function vhostOf(type: string, { manage }: ProbeTools): Promise<string> {
  const vhost = `p.dqt.${type}`;
  await manage('PUT', `vhosts/${vhost}`, { default_queue_type: type, defaultqueuetype: type });
  await manage('PUT', `permissions/${vhost}/guest`, { configure: '.*', write: '.*', read: '.*' });
  return vhost;
}

const nameless = (answer: string): string => answer.replace(/amq\.gen-\S+/, 'amq.gen');

/** Declarations that name no type, and those that meet what came of them. */
const declarations: readonly (readonly [queue: string, options: Declaration])[] = [
  ['plain', durable()],
  ['plain', durable()],
  ['plain', ofType('classic')],
  ['plain', ofType('quorum')],
  ['plain', ofType('stream')],
  ['plain', { durable: false }],
  ['plain', { passive: true }],
  ['classic', ofType('classic')],
  ['classic', durable()],
  ['quorum', ofType('quorum')],
  ['quorum', durable()],
  ['transient', {}],
  ['transient', {}],
  ['transient', { arguments: table({ 'x-queue-type': 'classic' }) }],
  ['exclusive', { exclusive: true }],
  ['exclusive', { exclusive: true, durable: true }],
  ['auto-delete', { durable: true, autoDelete: true }],
  ['auto-delete', { durable: true, autoDelete: true }],
  ['', durable()],
  ['', {}],
  ['priority', durable({ 'x-max-priority': 5 })],
  ['lazy', durable({ 'x-queue-mode': 'lazy' })],
  ['age', durable({ 'x-max-age': '1h' })],
  ['limit', durable({ 'x-delivery-limit': 3 })],
  ['ttl', durable({ 'x-message-ttl': 3000 })],
  ['wrong', durable({ 'x-queue-type': 'weird' })],
];

function declared(type: string): Probe {
  return async (_one, more) => {
    const vhost = await vhostOf(type, more);
    const raw = await more.another({ vhost });
    const calls = declarations.map(
      ([queue, options]) =>
        () =>
          raw.declare(queue, options),
    );
    const answers = await each(raw, calls);
    await raw.close();
    await more.manage('DELETE', `vhosts/${vhost}`);
    return answers.map(nameless);
  };
}

/** What a queue becomes whose declaration names no type. */
export const DEFAULT_QUEUE_TYPES_PROBES: Readonly<Record<string, Probe>> = {
  'default queue type: quorum': declared('quorum'),
  'default queue type: stream': declared('stream'),
  'default queue type: classic': declared('classic'),
  'default queue type: none, and redeclared as classic': (one) =>
    each(one, [
      () => one.declare('p.dqt', durable()),
      () => one.declare('p.dqt', ofType('classic')),
      () => one.declare('p.dqt', ofType('quorum')),
      () => one.declare('p.dqt', ofType('weird')),
      () => one.declare('p.dqt', durable({ 'x-queue-type': 7 })),
      () => one.declare('p.dqt.c', ofType('classic')),
      () => one.declare('p.dqt.c', durable()),
    ]),
  'default queue type: a consumer counts deliveries': async (_one, more) => {
    const vhost = await vhostOf('quorum', more);
    const raw = await more.another({ vhost });
    await raw.declare('counts', durable());
    raw.publish('counts', 'x', { properties: { deliveryMode: 2 } });
    await raw.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
    const answers = [await raw.consume('counts', 'c'), await raw.answer()];
    raw.send(1, 'basic.nack', { deliveryTag: 1, multiple: false, requeue: true });
    answers.push(await raw.answer());
    await raw.close();
    await more.manage('DELETE', `vhosts/${vhost}`);
    return answers;
  },
  'default queue type: there is none of that name': async (_one, { manage }) => [
    await manage('PUT', 'vhosts/p.dqt.no', { default_queue_type: 'weird', defaultqueuetype: 'weird' }),
    await manage('GET', 'vhosts/p.dqt.no'),
  ],
};
