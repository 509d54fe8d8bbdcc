import { frame, methodFrame, table } from '../../../support/raw-amqp.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import { alone, bindTo, counted, each, headers, reopened, text } from './probe.js';
import type { Probe } from './probe.js';

const FRAME_MAX = 131_072;
const passive = (one: RawAmqp, queue: string): Promise<string> => one.declare(queue, { passive: true });

/** The bodies that are in a queue, which is empty then. */
async function bodies(one: RawAmqp, queue: string): Promise<string> {
  const all: string[] = [];
  for (let got = await one.get(queue); got.startsWith('get-ok'); got = await one.get(queue)) {
    all.push(/"(.*?)"/.exec(got)?.[1] ?? '?');
  }
  return `${queue}: ${all.join(' ')}`;
}

/** What other brokers were reported for; see reports.test.ts. */
export const REPORTS_PROBES: Readonly<Record<string, Probe>> = {
  'consistent-hash: keys that are no weights': async (one) => {
    await one.exchange('p.weight', 'x-consistent-hash');
    await one.declare('p.weight.q');
    const answers = await each(one, [
      () => one.bind('p.weight.q', 'p.weight', ''),
      () => one.bind('p.weight.q', 'p.weight', 'heavy'),
    ]);
    one.publish('k', 'nowhere', { exchange: 'p.weight', mandatory: true });
    answers.push(await one.answer(), await one.bind('p.weight.q', 'p.weight', '1'));
    one.publish('k', 'somewhere', { exchange: 'p.weight' });
    return [...answers, await bodies(one, 'p.weight.q')];
  },
  'what is sent to a channel that is being closed': async (one) => {
    await one.declare('p.closing');
    one.publish('p.closing', 'held');
    const answers = [await one.get('p.closing', false)];
    const nowhere = { ticket: 0, exchange: 'p.closing.no', type: 'direct', passive: true, durable: false };
    one.write(
      Buffer.concat([
        methodFrame(1, 'exchange.declare', {
          ...nowhere,
          autoDelete: false,
          internal: false,
          nowait: false,
          arguments: table({}),
        }),
        methodFrame(1, 'basic.ack', { deliveryTag: 1, multiple: false }),
        methodFrame(1, 'basic.ack', { deliveryTag: 9, multiple: false }),
      ]),
    );
    answers.push(await one.answer(), ...(await one.rest()));
    await reopened(one);
    // The acknowledgements were for nobody: it came back.
    return [...answers, await one.get('p.closing')];
  },
  'frames that are too large, of each type': async (_one, { port }) => {
    const answers: string[] = [];
    for (const type of [1, 2, 3]) {
      const answer = await alone(port, (two) => {
        two.write(frame(type, 1, Buffer.alloc(FRAME_MAX + 1000)));
        return two.answer();
      });
      answers.push(answer);
    }
    return answers;
  },
  'cancelled while deliveries are on their way': async (one) => {
    const count = 300;
    await one.declare('p.flood');
    for (let i = 0; i < count; i++) one.publish('p.flood', 'x');
    await passive(one, 'p.flood');
    const answers = [await one.consume('p.flood', 't')];
    one.send(1, 'basic.cancel', { consumerTag: 't', nowait: false });
    do answers.push(await one.answer());
    while (!/^(basic\.cancel-ok|\(silence\)|EOF)/.test(answers.at(-1) ?? ''));
    const late = await one.rest();
    await one.call(1, 'channel.close', {
      replyCode: 200,
      replyText: '',
      failedClassId: 0,
      failedMethodId: 0,
    });
    await reopened(one);
    return [answers[0] ?? '', answers.at(-1) ?? '', ...late, await passive(one, 'p.flood')];
  },
  'delivery tag 0, and all before': async (one) => {
    await one.declare('p.zero');
    for (const body of ['a', 'b', 'c']) one.publish('p.zero', body);
    const answers: string[] = [];
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.zero', false));
    one.send(1, 'basic.nack', { deliveryTag: 0, multiple: true, requeue: true });
    answers.push(await counted(one, 'p.zero', 3));
    for (let i = 0; i < 3; i++) answers.push(await one.get('p.zero', false));
    one.send(1, 'basic.ack', { deliveryTag: 0, multiple: true });
    answers.push(await passive(one, 'p.zero'));
    one.send(1, 'basic.nack', { deliveryTag: 0, multiple: false, requeue: true });
    return [...answers, await one.answer()];
  },
  'redeclare with another time to expire, and as another type': async (one) => {
    const declare = (args: Parameters<typeof table>[0]): Promise<string> =>
      one.declare('p.expd', { durable: true, arguments: table(args) });
    return each(one, [
      () => declare({ 'x-expires': 300_000 }),
      () => declare({ 'x-expires': 60_000 }),
      () => declare({}),
      () => declare({ 'x-expires': 300_000, 'x-queue-type': 'quorum' }),
    ]);
  },
  'several bindings that match are one copy': async (one) => {
    await one.declare('p.once');
    await one.exchange('p.once.t', 'topic');
    await one.exchange('p.once.f', 'fanout');
    for (const key of ['a.#', '#.b', 'a.b', 'a.b']) await one.bind('p.once', 'p.once.t', key);
    for (const key of ['', 'x']) await one.bind('p.once', 'p.once.f', key);
    await one.call(1, 'exchange.bind', {
      ...bindTo,
      destination: 'p.once.f',
      source: 'p.once.t',
      routingKey: '#',
    });
    one.publish('a.b', 'topic', { exchange: 'p.once.t' });
    one.publish('', 'fanout', { exchange: 'p.once.f' });
    return [await bodies(one, 'p.once')];
  },
  'headers exchange: a value of nothing is any value': async (one) => {
    await one.exchange('p.void', 'headers');
    const queues = ['p.void.all', 'p.void.any'];
    for (const queue of queues) {
      await one.declare(queue);
      const match = text(queue.slice(-3));
      await one.bind(
        queue,
        'p.void',
        '',
        new Map([
          ['x-match', match],
          ['a', { tag: 'V', value: null }],
          ['b', { tag: 'I', value: 1 }],
        ]),
      );
    }
    const messages = {
      both: headers({ a: text('anything'), b: { tag: 'I', value: 1 } }),
      nothing: headers({ a: { tag: 'V', value: null }, b: { tag: 'I', value: 1 } }),
      one: headers({ a: { tag: 't', value: false } }),
      other: headers({ b: { tag: 'I', value: 2 } }),
    };
    for (const [body, properties] of Object.entries(messages)) {
      one.publish('', body, { exchange: 'p.void', ...properties });
    }
    return [await bodies(one, 'p.void.all'), await bodies(one, 'p.void.any')];
  },
};
