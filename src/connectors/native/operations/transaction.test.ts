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

  it('gives all that is open to whoever takes all, also behind a range', () => {
    const transaction = new Transaction('t');
    for (const sequence of [3, 4, 9]) transaction.add(delivery(sequence));
    const all = transaction.take();
    expect(all.sequences).toEqual([3, 4, 9]);
    expect(transaction.take().sequences).toEqual([]);
    transaction.putBack(all);
    expect(transaction.take([4]).sequences).toEqual([4]);
    transaction.add(delivery(12));
    const rest = transaction.take();
    expect(rest.sequences).toEqual([3, 9, 12]);
    expect(rest.deliveries.map(({ sequence }) => sequence)).toEqual([3, 9, 12]);
    expect(rest.unknown).toEqual([]);
  });

  it('tells apart messages that do not come in order', () => {
    const transaction = new Transaction('t');
    const shown = [5, 2, 5, 2, 6].map((sequence, place) => transaction.add(delivery(sequence, `q.${place}`)));
    expect(new Set(shown).size).toBe(5);
    const places = shown.map((sequence) => transaction.take([sequence]).deliveries[0]?.channel);
    expect(places).toEqual(['q.0', 'q.1', 'q.2', 'q.3', 'q.4']);
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
