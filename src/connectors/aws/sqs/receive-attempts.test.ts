import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../core/channel-name.js';
import type { Delivery } from '../../../core/queue/types.js';
import { ReceiveAttempts } from './receive-attempts.js';
import type { Received } from './receive-attempts.js';

const MINUTE_MS = 60_000;

function delivery(sequence: number, bodyBytes = 1): Delivery {
  const message = { body: new Uint8Array(bodyBytes) } as unknown as Delivery['message'];
  return { channel: 'sqs.q.fifo.g.a' as ChannelName, sequence, attempt: 1, message } as Delivery;
}

function received(...deliveries: readonly Delivery[]): Received {
  return { deliveries, leaseMs: 30_000 };
}

describe('answers of receives', () => {
  it('can be had again for five minutes, by queue and id', () => {
    const attempts = new ReceiveAttempts();
    const given = received(delivery(1));
    attempts.remember('q', 'id', given, 0);
    expect(attempts.recall('q', 'id', 5 * MINUTE_MS - 1)).toBe(given);
    expect(attempts.recall('p', 'id', 0)).toBeUndefined();
    expect(attempts.recall('q', 'other', 0)).toBeUndefined();
    expect(attempts.recall('q', 'id', 5 * MINUTE_MS)).toBeUndefined();
    expect(attempts.size).toBe(0);
  });

  it('are spent with the first message that is settled', () => {
    const attempts = new ReceiveAttempts();
    attempts.remember('q', 'id', received(delivery(1), delivery(2)), 0);
    attempts.spend([delivery(3)]);
    expect(attempts.recall('q', 'id', 0)).toMatchObject({ deliveries: [{ sequence: 1 }, { sequence: 2 }] });
    attempts.spend([delivery(2)]);
    expect(attempts.recall('q', 'id', 0)).toBe('spent');
  });

  it('are bounded in number and bytes, the oldest going first', () => {
    const many = new ReceiveAttempts();
    for (let i = 0; i < 10_010; i++) many.remember('q', `id${i}`, received(delivery(i)), 0);
    expect(many.size).toBe(10_000);
    expect(many.recall('q', 'id9', 0)).toBeUndefined();
    expect(many.recall('q', 'id10', 0)).toBeDefined();
    const large = new ReceiveAttempts();
    for (let i = 0; i < 80; i++) large.remember('q', `id${i}`, received(delivery(i, 1_048_576)), 0);
    expect(large.size).toBe(63);
  });
});
