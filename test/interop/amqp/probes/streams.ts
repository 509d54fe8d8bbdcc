import type { FieldValue } from '../../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp, table } from '../../../support/raw-amqp.js';
import { each, text } from './probe.js';
import type { Probe } from './probe.js';

type Args = Parameters<typeof table>[0];

const stream = (args: Args = {}) => ({
  durable: true,
  arguments: table({ 'x-queue-type': 'stream', ...args }),
});

const remove = (one: RawAmqp, queue: string): Promise<string> =>
  one.call(1, 'queue.delete', { ticket: 0, queue, ifUnused: false, ifEmpty: false, nowait: false });

const qos = (one: RawAmqp, prefetchCount: number): Promise<string> =>
  one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount, global: false });

const offset = (value: FieldValue) => ({ arguments: new Map([['x-stream-offset', value]]) });

async function filled(one: RawAmqp, name: string, count: number): Promise<void> {
  await one.declare(name, stream());
  await one.call(1, 'confirm.select', { nowait: false });
  for (let i = 0; i < count; i++) {
    one.publish(name, `m${String(i)}`, { properties: { deliveryMode: 2 } });
    // One chunk a message, else RabbitMQ's `last` begins with the first of them.
    await one.answer();
  }
}

/** What a new consumer gets, on a connection of its own. */
async function read(
  port: number,
  queue: string,
  args: ReturnType<typeof offset>,
): Promise<readonly string[]> {
  const two = await RawAmqp.open(port);
  await qos(two, 10);
  const answers = [await two.consume(queue, 't', args), ...(await two.rest(400))];
  await two.close();
  return answers;
}

/** Queues of type stream. */
export const STREAMS_PROBES: Readonly<Record<string, Probe>> = {
  'streams: what they refuse to be': (one) =>
    each(one, [
      () => one.declare('p.st', { arguments: table({ 'x-queue-type': 'stream' }) }),
      () => one.declare('p.st', { ...stream(), exclusive: true }),
      () => one.declare('p.st', { ...stream(), autoDelete: true }),
      () => one.declare('', stream()),
      () => one.declare('p.st', stream({ 'x-max-priority': 5 })),
      () => one.declare('p.st', stream({ 'x-message-ttl': 5 })),
      () => one.declare('p.st', stream({ 'x-expires': 5000 })),
      () => one.declare('p.st', stream({ 'x-max-length': 5 })),
      () => one.declare('p.st', stream({ 'x-dead-letter-exchange': 'amq.direct' })),
      () => one.declare('p.st', stream({ 'x-overflow': 'drop-head' })),
      () => one.declare('p.st', stream({ 'x-single-active-consumer': true })),
      () => one.declare('p.st', stream({ 'x-delivery-limit': 5 })),
      () => one.declare('p.st', stream({ 'x-max-length-bytes': -1 })),
      () => one.declare('p.st', stream({ 'x-stream-max-segment-size-bytes': 'x' })),
    ]),
  'streams: redeclared': async (one) => {
    const args = { 'x-max-age': '7D', 'x-max-length-bytes': 2_000_000 };
    const answers = await each(one, [
      () => one.declare('p.sr', stream(args)),
      () => one.declare('p.sr', stream(args)),
      () => one.declare('p.sr', stream({ ...args, 'x-max-age': '8D' })),
      () => one.declare('p.sr', stream()),
      () => one.declare('p.sr', { durable: true }),
    ]);
    return [...answers, await remove(one, 'p.sr')];
  },
  'streams: what cannot be done with them': async (one, { port }) => {
    await one.declare('p.sn', stream());
    const answers: string[] = [];
    for (const act of [
      (two: RawAmqp) => two.get('p.sn'),
      (two: RawAmqp) => two.consume('p.sn', 't'),
      async (two: RawAmqp) => {
        await qos(two, 5);
        return two.consume('p.sn', 't', { noAck: true });
      },
      async (two: RawAmqp) => {
        await two.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 5, global: true });
        return two.consume('p.sn', 't');
      },
      (two: RawAmqp) => two.call(1, 'queue.purge', { ticket: 0, queue: 'p.sn', nowait: false }),
      async (two: RawAmqp) => {
        await qos(two, 5);
        return two.consume('p.sn', 't', offset({ tag: 'l', value: -1n }));
      },
    ]) {
      const two = await RawAmqp.open(port);
      answers.push(await act(two));
      await two.close();
    }
    return [...answers, await remove(one, 'p.sn')];
  },
  'streams: where reading begins': async (one, { port }) => {
    await filled(one, 'p.so', 4);
    const answers: string[] = [];
    for (const where of [
      text('first'),
      text('last'),
      text('next'),
      { tag: 'l', value: 2n } as const,
      { tag: 'I', value: 1 } as const,
      { tag: 'l', value: 100n } as const,
      { tag: 'T', value: 1n } as const,
      text('1h'),
    ]) {
      answers.push(...(await read(port, 'p.so', offset(where))));
    }
    return [...answers, await remove(one, 'p.so')];
  },
  'streams: acknowledgements are credit, and messages stay': async (one, { another }) => {
    await filled(one, 'p.sc', 5);
    const two = await another();
    await qos(two, 2);
    const answers = [await two.consume('p.sc', 't', offset(text('first'))), ...(await two.rest(400))];
    two.send(1, 'basic.ack', { deliveryTag: 2, multiple: true });
    answers.push(...(await two.rest(400)));
    two.send(1, 'basic.reject', { deliveryTag: 3, requeue: true });
    answers.push(...(await two.rest(400)));
    await two.close();
    const three = await another();
    await qos(three, 1);
    answers.push(await three.consume('p.sc', 't', offset(text('first'))), ...(await three.rest(400)));
    await three.close();
    return [...answers, await remove(one, 'p.sc')];
  },
  'streams: in an exchange, and read live by several': async (one, { another }) => {
    await one.declare('p.sx', stream());
    await one.declare('p.sxq');
    await one.bind('p.sx', 'amq.topic', 'p.sx.#');
    await one.bind('p.sxq', 'amq.topic', 'p.sx.#');
    const readers = [await another(), await another()];
    for (const reader of readers) {
      await qos(reader, 10);
      await reader.consume('p.sx', 't');
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    one.publish('p.sx.a', 'live', { exchange: 'amq.topic', properties: { deliveryMode: 2 } });
    const answers = [];
    for (const reader of readers) {
      answers.push(...(await reader.rest(500)));
      await reader.close();
    }
    return [...answers, await one.get('p.sxq'), await remove(one, 'p.sx')];
  },
};
