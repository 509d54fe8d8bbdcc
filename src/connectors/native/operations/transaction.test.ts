import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../core/channel-name.js';
import type { Delivery } from '../../../core/queue/types.js';
import { Transaction } from './transaction.js';

const delivery = (sequence: number, channel = 'q'): Delivery =>
  ({ channel: channel as ChannelName, sequence, attempt: 1 }) as Delivery;

describe('a transaction', () => {
  it('is complete when the last message is taken', () => {
    const transaction = new Transaction('t');
    expect(transaction.isComplete).toBe(true);
    transaction.add(delivery(1));
    transaction.add(delivery(2));
    expect(transaction.take([1]).deliveries).toHaveLength(1);
    expect(transaction.sequences()).toEqual([2]);
    transaction.take();
    expect(transaction.isComplete).toBe(true);
  });

  it('names what it does not hold and takes each once', () => {
    const transaction = new Transaction('t');
    transaction.add(delivery(1));
    const taken = transaction.take([1, 1, 9]);
    expect(taken.sequences).toEqual([1]);
    expect(taken.unknown).toEqual([9]);
    expect(transaction.take([1]).unknown).toEqual([1]);
  });

  it('takes back what could not be settled', () => {
    const transaction = new Transaction('t');
    transaction.add(delivery(1));
    transaction.putBack(transaction.take());
    expect(transaction.sequences()).toEqual([1]);
  });

  it('tells apart messages of sub-channels that share a sequence', () => {
    const transaction = new Transaction('t');
    const first = transaction.add(delivery(1, 'q.g.a'));
    const second = transaction.add(delivery(1, 'q.g.b'));
    expect(first).toBe(1);
    expect(second).not.toBe(1);
    expect(Number.isSafeInteger(second)).toBe(true);
    expect(transaction.take([second]).deliveries[0]?.channel).toBe('q.g.b');
    expect(transaction.take([first]).deliveries[0]?.channel).toBe('q.g.a');
  });
});
