import { contentFrames, frame, methodFrame } from '../../../support/raw-amqp.js';
import { alone } from './probe.js';
import type { Probe } from './probe.js';

/** Channels, methods and frames where they do not belong. */
export const PROTOCOL_PROBES: Readonly<Record<string, Probe>> = {
  'qos that is not served': async (_one, { port }) => [
    await alone(port, (two) =>
      two.call(1, 'basic.qos', { prefetchSize: 10, prefetchCount: 0, global: false }),
    ),
  ],
  'channels: opened twice, never opened, used again': async (one, { port }) => [
    await alone(port, (two) => two.call(1, 'channel.open', { reserved1: '' })),
    await alone(port, (two) => two.declare('p.ch', {}, 7)),
    await alone(port, async (two) => {
      await two.call(1, 'channel.close', {
        replyCode: 200,
        replyText: '',
        failedClassId: 0,
        failedMethodId: 0,
      });
      return two.declare('p.ch');
    }),
    await alone(port, async (two) => {
      await two.call(1, 'channel.close', {
        replyCode: 200,
        replyText: '',
        failedClassId: 0,
        failedMethodId: 0,
      });
      return two.call(1, 'channel.open', { reserved1: '' });
    }),
    await one.call(2, 'channel.open', { reserved1: '' }),
    await one.call(1, 'channel.flow', { active: true }),
  ],
  'methods where they do not belong': async (_one, { port }) => [
    await alone(port, (two) => two.call(0, 'channel.open', { reserved1: '' })),
    await alone(port, (two) =>
      two.call(1, 'connection.open', { virtualHost: '/', reserved1: '', reserved2: false }),
    ),
    await alone(port, (two) =>
      two.call(1, 'queue.declare-ok', { queue: 'q', messageCount: 0, consumerCount: 0 }),
    ),
  ],
  'frames that say too little or too much': async (_one, { port }) => [
    (
      await alone(port, (two) => {
        // queue.declare that ends behind its name.
        two.write(frame(1, 1, Buffer.from('0032000a00000170', 'hex')));
        return two.answer();
      })
    ).slice(0, 26),
    await alone(port, async (two) => {
      await two.declare('p.empty');
      const publish = methodFrame(1, 'basic.publish', {
        ticket: 0,
        exchange: '',
        routingKey: 'p.empty',
        mandatory: false,
        immediate: false,
      });
      const [header, body] = [
        contentFrames(1, Buffer.from('ab')).subarray(0, 22),
        frame(3, 1, Buffer.from('ab')),
      ];
      two.write(Buffer.concat([publish, header, frame(3, 1, Buffer.alloc(0)), body]));
      return two.get('p.empty');
    }),
  ],
  'a frame for a payload as large as the whole frame': async (one) => {
    await one.declare('p.fm');
    const body = Buffer.alloc(131_072, 0x61);
    const publish = methodFrame(1, 'basic.publish', {
      ticket: 0,
      exchange: '',
      routingKey: 'p.fm',
      mandatory: false,
      immediate: false,
    });
    one.write(Buffer.concat([publish, contentFrames(1, body, {}, 131_072)]));
    return [await one.get('p.fm')];
  },
  'access.request, and locales': async (one) => [
    await one.call(1, 'access.request', {
      realm: '/data',
      exclusive: false,
      passive: true,
      active: true,
      write: true,
      read: true,
    }),
  ],
};
