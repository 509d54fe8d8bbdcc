import { contentFrames, frame, methodFrame, table } from '../../../support/raw-amqp.js';
import type { RawAmqp } from '../../../support/raw-amqp.js';
import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import { alone, bindTo, counted, reopened } from './probe.js';
import type { Probe } from './probe.js';

const publishOn = (channel: number, routingKey = 'p.frames'): Buffer =>
  methodFrame(channel, 'basic.publish', {
    ticket: 0,
    exchange: '',
    routingKey,
    mandatory: false,
    immediate: false,
  });

/** A content header of a class, with its weight. */
const header = (classId: number, weight: number, size: number): Buffer => {
  const payload = Buffer.alloc(14);
  payload.writeUInt16BE(classId, 0);
  payload.writeUInt16BE(weight, 2);
  payload.writeBigUInt64BE(BigInt(size), 4);
  return frame(2, 1, payload);
};

/** What a connection says to these bytes. */
const saidTo = (port: number, bytes: Buffer): Promise<string> =>
  alone(port, (two) => {
    two.write(bytes);
    return two.answer();
  });

/** That nothing came, and the channel is there. */
async function alive(one: RawAmqp, channel = 1): Promise<string> {
  return one.call(channel, 'basic.qos', { prefetchSize: 0, prefetchCount: 0, global: false });
}

/** Frames and methods that are legal, and stand where they do not belong; and methods that are not answered. */
export const FRAMES_PROBES: Readonly<Record<string, Probe>> = {
  'content out of order': async (one, { port }) => {
    await one.declare('p.frames');
    return [
      await saidTo(port, frame(3, 1, Buffer.from('x'))),
      await saidTo(port, header(60, 0, 1)),
      await saidTo(port, Buffer.concat([publishOn(1), header(50, 0, 1)])),
      await saidTo(port, Buffer.concat([publishOn(1), publishOn(1)])),
      await saidTo(port, Buffer.concat([publishOn(1), header(60, 0, 1), header(60, 0, 1)])),
      await saidTo(port, Buffer.concat([publishOn(1), header(60, 0, 0), frame(3, 1, Buffer.from('x'))])),
      await saidTo(port, publishOn(0)),
      await saidTo(port, Buffer.concat([publishOn(9), contentFrames(9, Buffer.from('x'))])),
    ];
  },
  'frames of unknown types, and too short for theirs': async (_one, { port }) => [
    await saidTo(port, frame(9, 1, Buffer.alloc(3))),
    await saidTo(port, frame(4, 0, Buffer.alloc(0))),
    await saidTo(port, frame(9, 0, Buffer.from('Twenty octets, 3 lost'))),
    await saidTo(port, frame(8, 0, Buffer.from('beat'))),
    await saidTo(port, frame(1, 0, Buffer.from([0, 60]))),
    await saidTo(port, frame(1, 1, Buffer.from([0, 60]))),
    await saidTo(port, frame(2, 1, Buffer.from([0, 60, 0]))),
  ],
  'answers that nobody waits for': async (_one, { port }) => [
    await alone(port, async (two) => {
      two.send(1, 'channel.close-ok', {});
      return two.answer(300);
    }),
    await alone(port, async (two) => {
      two.send(1, 'channel.flow-ok', { active: true });
      return two.answer(300);
    }),
    await alone(port, async (two) => {
      two.send(1, 'basic.cancel-ok', { consumerTag: 't' });
      return two.answer(300);
    }),
    await alone(port, async (two) => {
      two.send(0, 'connection.open', { virtualHost: '/', reserved1: '', reserved2: false });
      return two.answer(300);
    }),
    await alone(port, async (two) => {
      two.send(0, 'connection.tune-ok', { channelMax: 10, frameMax: 131_072, heartbeat: 0 });
      return two.answer(300);
    }),
    await alone(port, async (two) => {
      two.send(0, 'connection.secure-ok', { response: Buffer.from('x') });
      return two.answer(300);
    }),
  ],
  'what is sent without a wish for an answer': async (one) => {
    const answers: string[] = [];
    const quiet = { ticket: 0, nowait: true };
    for (const exchange of ['p.nws', 'p.nwx'])
      one.send(1, 'exchange.declare', {
        ...quiet,
        exchange,
        type: 'fanout',
        passive: false,
        durable: false,
        autoDelete: false,
        internal: false,
        arguments: EMPTY_TABLE,
      });
    one.send(1, 'exchange.bind', {
      ...bindTo,
      nowait: true,
      source: 'p.nws',
      destination: 'p.nwx',
      routingKey: '',
    });
    one.send(1, 'queue.declare', {
      ...quiet,
      queue: 'p.nwq',
      passive: false,
      durable: false,
      exclusive: false,
      autoDelete: false,
      arguments: EMPTY_TABLE,
    });
    one.send(1, 'queue.bind', {
      ...quiet,
      queue: 'p.nwq',
      exchange: 'p.nwx',
      routingKey: '',
      arguments: EMPTY_TABLE,
    });
    one.publish('', 'routed', { exchange: 'p.nws' });
    // RabbitMQ may count before the message is there.
    await one.declare('p.nwq', { passive: true });
    one.send(1, 'confirm.select', { nowait: true });
    one.send(1, 'basic.consume', {
      ...quiet,
      queue: 'p.nwq',
      consumerTag: 't',
      noLocal: false,
      noAck: true,
      exclusive: false,
      arguments: EMPTY_TABLE,
    });
    answers.push(await one.answer());
    one.send(1, 'basic.cancel', { consumerTag: 't', nowait: true });
    one.publish('p.nwq', 'x');
    answers.push(await one.answer(), await one.declare('p.nwq', { passive: true }));
    one.send(1, 'queue.purge', { ...quiet, queue: 'p.nwq' });
    answers.push(await one.declare('p.nwq', { passive: true }));
    one.send(1, 'exchange.unbind', {
      ...bindTo,
      nowait: true,
      source: 'p.nws',
      destination: 'p.nwx',
      routingKey: '',
    });
    one.publish('', 'not routed', { exchange: 'p.nws' });
    answers.push(await one.answer(), await one.declare('p.nwq', { passive: true }));
    one.send(1, 'queue.delete', { ...quiet, queue: 'p.nwq', ifUnused: false, ifEmpty: false });
    answers.push(await one.declare('p.nwq', { passive: true }));
    await reopened(one);
    one.send(1, 'exchange.delete', { ...quiet, exchange: 'p.nwx', ifUnused: false });
    answers.push(await one.exchange('p.nwx', 'fanout', { passive: true }));
    return answers;
  },
  'delivery tags are of one channel, and none is ahead of what was delivered': async (one) => {
    await one.declare('p.tagc', { autoDelete: false });
    const answers: string[] = [];
    const take = async (): Promise<void> => {
      one.publish('p.tagc', 'x');
      answers.push(await one.get('p.tagc', false));
    };
    await one.call(2, 'channel.open', { reserved1: '' });
    await take();
    one.send(2, 'basic.ack', { deliveryTag: 1, multiple: false });
    answers.push(await one.answer());
    one.send(1, 'basic.ack', { deliveryTag: 5, multiple: true });
    answers.push(await one.answer());
    await reopened(one);
    await take();
    one.send(1, 'basic.reject', { deliveryTag: 0, requeue: true });
    answers.push(await one.answer());
    await reopened(one);
    await take();
    one.send(1, 'basic.ack', { deliveryTag: 0, multiple: true });
    answers.push(await alive(one));
    await one.call(1, 'queue.delete', {
      ticket: 0,
      queue: 'p.tagc',
      ifUnused: false,
      ifEmpty: false,
      nowait: false,
    });
    return answers;
  },
  'a consumer whose client does not know basic.cancel': async (_one, { another }) => {
    const plain = await another({ capabilities: table({}) });
    await plain.declare('p.nocancel');
    const answers = [await plain.consume('p.nocancel', 't')];
    answers.push(
      await plain.call(1, 'queue.delete', {
        ticket: 0,
        queue: 'p.nocancel',
        ifUnused: false,
        ifEmpty: false,
        nowait: false,
      }),
      await alive(plain),
      await plain.call(1, 'basic.cancel', { consumerTag: 't', nowait: false }),
    );
    await plain.close();
    return answers;
  },
  'no-local means nothing': async (one) => {
    await one.declare('p.nolocal', { autoDelete: true });
    const answers = [await one.consume('p.nolocal', 't', { noLocal: true, noAck: true })];
    one.publish('p.nolocal', 'of my own');
    return [...answers, await one.answer()];
  },
  'dead letters: too many go round, and only those die': async (one) => {
    await one.declare('p.cyml', {
      arguments: table({
        'x-max-length': 1,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': 'p.cyml',
      }),
    });
    for (const body of ['a', 'b', 'c']) one.publish('p.cyml', body);
    return [await counted(one, 'p.cyml', 1), await one.get('p.cyml'), await one.get('p.cyml')];
  },
  'both prefetches hold': async (one) => {
    await one.declare('p.qboth');
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 2, global: false });
    await one.call(1, 'basic.qos', { prefetchSize: 0, prefetchCount: 3, global: true });
    for (let i = 0; i < 6; i++) one.publish('p.qboth', String(i));
    await one.consume('p.qboth', 'a');
    const answers = [...(await one.rest())];
    await one.consume('p.qboth', 'b');
    answers.push('b', ...(await one.rest()));
    return answers;
  },
  'a body in many frames, a frame in many pieces': async (one) => {
    await one.declare('p.pieces');
    const bytes = Buffer.concat([publishOn(1, 'p.pieces'), contentFrames(1, Buffer.alloc(40, 0x61), {}, 7)]);
    for (const byte of bytes) one.write(Buffer.from([byte]));
    return [await one.get('p.pieces')];
  },
};
