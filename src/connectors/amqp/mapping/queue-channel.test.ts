import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { channelNameFault } from '../../../core/channel-name.js';
import { QueueChannelMapping } from './queue-channel.js';

const strict = new QueueChannelMapping({ defaultVhost: 'default', strict: true });
const lenient = new QueueChannelMapping({ defaultVhost: 'default', strict: false });

describe('queue names', () => {
  it('map as the channel mapping says', () => {
    const rows = [
      ['orders', '/', 'amqp.default.orders'],
      ['hello', '/', 'amqp.default.hello'],
      ['probe.q', '/', 'amqp.default.probe.q'],
      ['jobs', 'workers', 'amqp.workers.jobs'],
    ] as const;
    for (const [queue, vhost, channel] of rows) {
      expect(strict.channelOf(strict.vhostSegment(vhost), queue)).toBe(channel);
      expect(lenient.channelOf(lenient.vhostSegment(vhost), queue)).toBe(channel);
    }
  });

  it('are refused by code: queues 406, virtual hosts 402', () => {
    for (const name of ['a;b', 'a:b', 'a*b', 'a>b', 'a b', 'a\tb', 'a.']) {
      expect(() => strict.channelOf('default', name)).toThrow(
        expect.objectContaining({ code: 406, hard: false }),
      );
      expect(() => strict.vhostSegment(name)).toThrow(expect.objectContaining({ code: 402, hard: true }));
    }
    expect(() => strict.vhostSegment('default')).toThrow(expect.objectContaining({ code: 402 }));
    expect(() => strict.channelOf('default', 'x'.repeat(243))).toThrow(
      expect.objectContaining({ code: 406 }),
    );
    expect(strict.channelOf('default', 'x'.repeat(242))).toHaveLength(255);
  });

  it('when encoded, are legal and stay apart', () => {
    const name = fc.string({
      unit: fc.constantFrom('a', '.', ':', '%', ' ', '>', 'é', '3', 'A'),
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(name, name, name, name, (vhostA, queueA, vhostB, queueB) => {
        const a = lenient.channelOf(lenient.vhostSegment(vhostA), queueA);
        const b = lenient.channelOf(lenient.vhostSegment(vhostB), queueB);
        expect(channelNameFault(a)).toBeUndefined();
        expect(a === b).toBe(vhostA === vhostB && queueA === queueB);
      }),
    );
  });
});
