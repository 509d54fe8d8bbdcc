import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../base/clock.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { FieldTable } from '../wire/field-table.js';
import { IdleQueues } from './idle-queues.js';
import type { Queue } from './types.js';

function queue(name: string, expiresMs: number | undefined): Queue {
  const effective: FieldTable = new Map(
    expiresMs === undefined ? [] : [['x-expires', { tag: 'I', value: expiresMs } as const]],
  );
  return {
    name,
    channel: `amqp.default.${name}` as ChannelName,
    durable: true,
    owner: undefined,
    type: 'classic',
    autoDelete: false,
    arguments: effective,
    policies: { user: undefined, operator: undefined, definition: {} },
    effective,
    consumers: 0,
    usedAt: 0,
    alive: true,
  };
}

describe('queues that expire', () => {
  it('go after their time without a use, each at its own', () => {
    const clock = new ManualClock();
    const gone: string[] = [];
    const idle = new IdleQueues({
      clock,
      inUse: (one) => one.consumers > 0,
      onIdle: (one) => gone.push(one.name),
    });
    const [short, long, used, consumed, never] = [
      queue('short', 1000),
      queue('long', 5000),
      queue('used', 1000),
      queue('consumed', 1000),
      queue('never', undefined),
    ];
    consumed.consumers = 1;
    for (const one of [short, long, used, consumed, never]) idle.add(one);
    clock.advance(900);
    idle.touch(used);
    clock.advance(150);
    expect(gone).toEqual(['short']);
    clock.advance(950);
    expect(gone).toEqual(['short', 'used']);
    clock.advance(10_000);
    expect(gone).toEqual(['short', 'used', 'long']);
    consumed.consumers = 0;
    idle.touch(consumed);
    clock.advance(999);
    expect(gone).toHaveLength(3);
    clock.advance(500);
    expect(gone[3]).toBe('consumed');
    idle.stop();
    expect(clock.pending).toBe(0);
  });

  it('live anew, for another time, when that was changed', () => {
    const clock = new ManualClock();
    const gone: string[] = [];
    const idle = new IdleQueues({ clock, inUse: () => false, onIdle: (one) => gone.push(one.name) });
    const [shorter, free] = [queue('shorter', 5000), queue('free', 1000)];
    for (const one of [shorter, free]) idle.add(one);
    clock.advance(900);
    shorter.effective = queue('', 500).effective;
    free.effective = queue('', undefined).effective;
    for (const one of [shorter, free]) idle.add(one);
    clock.advance(499);
    expect(gone).toEqual([]);
    clock.advance(1);
    expect(gone).toEqual(['shorter']);
    clock.advance(60_000);
    expect(gone).toEqual(['shorter']);
    expect(clock.pending).toBe(0);
  });

  it('are left alone when they were deleted meanwhile', () => {
    const clock = new ManualClock();
    const idle = new IdleQueues({
      clock,
      inUse: () => false,
      onIdle: () => {
        throw new Error('a deleted queue expired');
      },
    });
    const one = queue('one', 1000);
    idle.add(one);
    one.alive = false;
    clock.advance(5000);
    expect(clock.pending).toBe(0);
  });
});
