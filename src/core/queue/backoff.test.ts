import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { Delivery } from './types.js';

const on = (name: string): ChannelName => name as ChannelName;
const queue = on('q');

async function open(): Promise<{ broker: OpenBroker; clock: ManualClock }> {
  const clock = new ManualClock();
  const broker = await openBroker({ journal: createMemoryJournal({}), clock, log: silentLog });
  await broker.change([
    {
      do: 'create-queue',
      channel: queue,
      settings: { backoff: { minMs: 100, maxMs: 300 }, subChannelMarks: ['.g.'] },
    },
  ]);
  return { broker, clock };
}

describe('backing off', () => {
  it('waits twice as long after each delivery, up to its bound, and keeps ordered channels waiting', async () => {
    const { broker, clock } = await open();
    await broker.send(['1', '2'].map((body) => ({ channel: on('q.g.a'), body: Buffer.from(body) })));
    const receive = (): Promise<readonly Delivery[]> =>
      broker.receive({
        channel: queue,
        max: 1,
        waitMs: 0,
        handOut: { kind: 'lease', leaseMs: 1000 },
        perSubChannelMax: 1,
      });
    const waits: number[] = [];
    for (let round = 0; round < 4; round++) {
      const [delivery] = await receive();
      expect(Buffer.from(delivery!.message.body).toString()).toBe('1');
      await broker.settle({ tokens: [delivery!], settlement: { kind: 'nack', to: 'origin' } });
      const from = clock.now();
      while (broker.queueStats(on('q.g.a'))?.delayed === 1) {
        expect(await receive()).toEqual([]);
        clock.advance(50);
      }
      waits.push(clock.now() - from);
    }
    expect(waits).toEqual([100, 200, 300, 300]);
    // A lease that runs out waits likewise; a nack with a delay of its own does not.
    await receive();
    clock.advance(1000);
    expect(broker.queueStats(queue)?.delayed).toBe(1);
    clock.advance(300);
    const [last] = await receive();
    await broker.settle({ tokens: [last!], settlement: { kind: 'nack', to: 'origin', delayMs: 0 } });
    expect(await receive()).toHaveLength(1);
  });
});

describe('dead letters to a log', () => {
  it('leave their queue in the entry that appends them, with their copies', async () => {
    const { broker, clock } = await open();
    const dead = on('dead');
    await broker.change([
      { do: 'create-log', channel: dead },
      { do: 'create-queue', channel: on('copies') },
      {
        do: 'update-queue',
        channel: queue,
        settings: {
          backoff: undefined,
          deadLetter: { target: { route: 'test:x' }, maxReceiveCount: 1, reasons: ['max-receives'] },
        },
      },
    ]);
    broker.setFanOut(dead, [{ queue: on('copies') }]);
    const originBytes = Buffer.from('changed');
    let refuse = true;
    broker.registerRouter('test', (rest) => {
      expect(rest).toBe('x');
      if (refuse) throw new Error('not now');
      return [{ channel: dead, toLog: true, originProtocol: 'test', originBytes }];
    });
    await broker.send([{ channel: queue, body: Buffer.from('letter') }]);
    const [delivery] = await broker.receive({
      channel: queue,
      max: 1,
      waitMs: 0,
      handOut: { kind: 'lease', leaseMs: 1000 },
    });
    await broker.settle({ tokens: [delivery!], settlement: { kind: 'nack', to: 'origin' } });
    expect(broker.logStats(dead)?.events).toBe(0);
    refuse = false;
    // Kept, and handed out once more when nobody could take it.
    clock.advance(1000);
    const [again] = await broker.receive({
      channel: queue,
      max: 1,
      waitMs: 0,
      handOut: { kind: 'lease', leaseMs: 1000 },
    });
    await broker.settle({ tokens: [again!], settlement: { kind: 'nack', to: 'origin' }, durable: true });
    await broker.append([{ channel: dead, body: Buffer.from('next') }]);
    expect(broker.queueStats(queue)).toMatchObject({ ready: 0, delayed: 0, inFlight: 0, deadLettered: 2 });
    const [event] = await broker.readLog({ channel: dead, fromSequence: 1, max: 1 });
    expect(Buffer.from(event!.message.body).toString()).toBe('letter');
    expect(event!.message.origin).toMatchObject({ protocol: 'test', bytes: originBytes });
    expect(broker.queueStats(on('copies'))?.ready).toBe(2);
  });
});
