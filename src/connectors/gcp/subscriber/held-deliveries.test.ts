import { describe, expect, it } from 'vitest';
import { channelName } from '../../../core/channel-name.js';
import { HeldDeliveries, type CreditHolder } from './held-deliveries.js';

const base = channelName('gcp.sub.s');
const keyed = channelName('gcp.sub.s.k.a');

class Holder implements CreditHolder {
  bytes = 0;
  count = 0;
  released(bytes: number): void {
    this.count++;
    this.bytes += bytes;
  }
}

const token = (sequence: number, attempt = 1, channel = base) => ({ channel, sequence, attempt });
const taken = (sequence: number, attempt = 1, channel = base) => ({
  ...token(sequence, attempt, channel),
  bytes: 10,
  takenAt: 500,
  leaseEndsAt: 1000,
});

describe('held deliveries', () => {
  it('give room back to the stream that holds them, once', () => {
    const held = new HeldDeliveries(() => undefined);
    const [a, b] = [new Holder(), new Holder()];
    held.add(base, taken(1), a);
    held.add(base, taken(2), b);
    held.add(base, taken(1, 1, keyed), a);
    expect(held.count).toBe(3);
    held.release(base, [token(1), token(1), token(2), token(3), token(1, 1, keyed)]);
    expect([a.count, a.bytes, b.count]).toEqual([2, 20, 1]);
    expect(held.count).toBe(0);
  });

  it('pass over tokens of another delivery', () => {
    const held = new HeldDeliveries(() => undefined);
    const holder = new Holder();
    held.add(base, taken(1, 2), holder);
    held.add(base, taken(7, 1, keyed), holder);
    held.release(base, [token(1, 1), token(8, 1, keyed), token(7, 2, keyed)]);
    expect(holder.count).toBe(0);
  });

  it('end when the message is delivered again', () => {
    const held = new HeldDeliveries(() => undefined);
    const [a, b] = [new Holder(), new Holder()];
    held.add(base, taken(1, 1), a);
    held.add(base, taken(1, 2), b);
    expect([a.count, b.count, held.count]).toEqual([1, 0, 1]);
  });

  it('end with their lease, however often it was extended', () => {
    const held = new HeldDeliveries(() => undefined);
    const holder = new Holder();
    held.add(base, taken(1), holder);
    held.add(base, taken(2), holder);
    held.add(base, taken(1, 1, keyed), holder);
    held.extend(base, [token(2), token(9), token(1, 2)], 5000);
    held.expire(999);
    expect(holder.count).toBe(0);
    held.expire(1000);
    expect(holder.count).toBe(2);
    held.expire(4999);
    expect(holder.count).toBe(2);
    held.expire(5000);
    expect([holder.count, held.count]).toEqual([3, 0]);
  });

  it('are forgotten with their holder, which gets nothing', () => {
    const held = new HeldDeliveries(() => undefined);
    const [a, b] = [new Holder(), new Holder()];
    held.add(base, taken(1), a);
    held.add(base, taken(2), b);
    expect(held.forget(base, a, 0)).toEqual([]);
    expect([held.count, a.count, b.count]).toEqual([1, 0, 0]);
  });

  it('were not seen by a client that confirms what it receives, when they are young', () => {
    const held = new HeldDeliveries(() => undefined);
    const holder = new Holder();
    const add = (sequence: number, takenAt: number, channel = base): void =>
      held.add(base, { ...taken(sequence, 1, channel), takenAt }, holder);
    const unseen = [token(2), token(1, 1, keyed)];
    for (const [oldest, expected] of [
      [900, unseen],
      [899, []],
    ] as const) {
      add(1, 500);
      add(2, oldest);
      add(1, 950, keyed);
      held.extend(base, [token(1)], 5000);
      expect(held.forget(base, holder, 900)).toEqual(expected);
      expect(held.count).toBe(0);
    }
    // It starts afresh.
    add(1, 950);
    expect(held.forget(base, holder, 900)).toEqual([]);
  });
});
