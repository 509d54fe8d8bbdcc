import { expect } from 'vitest';
import type { Delivery, LeaseToken } from '../../../src/core/queue/types.js';
import type { Inside, Seen } from '../../support/inside.js';
import { textOf } from '../../support/inside.js';
import type { QueueModel } from './queue-model.js';
import { baseOf, isSub } from './queue-model.js';
import { same, seenOf, shortOf } from './queue-views.js';

export interface Handed {
  readonly delivery: Delivery;
  readonly leaseMs: number;
  readonly batch: object;
  /** Its consumer takes what is not durable. */
  readonly early?: boolean;
}

export interface Token {
  readonly text: string;
  readonly token: LeaseToken;
}

/**
 * Applies what was handed out to the model, one by one, and checks that each was next. Then what is too much in a queue
 * leaves it; that may go where it is handed out once more. Gives the tokens.
 */
export function takeHanded(model: QueueModel, all: readonly Handed[], now: number): Token[] {
  const tokens: Token[] = [];
  let left = all;
  const isReady = ({ delivery }: Handed): boolean => {
    const m = model.messages.get(textOf(delivery.message.body));
    return m?.state === 'ready' && m.channel === delivery.channel;
  };
  for (let dropped = true; dropped;) {
    tokens.push(...takeReady(model, left.filter(isReady), now));
    const taken = new Set(tokens.map(({ text }) => text));
    left = left.filter(({ delivery }) => !taken.has(textOf(delivery.message.body)));
    dropped = model.trim();
    model.land(model.held);
  }
  // What is not there at all: says so.
  return [...tokens, ...takeReady(model, left, now)];
}

function takeReady(model: QueueModel, all: readonly Handed[], now: number): Token[] {
  const tokens: Token[] = [];
  const handed = [...all].sort((a, b) => a.delivery.sequence - b.delivery.sequence);
  const together = new Set(handed.map(({ delivery }) => textOf(delivery.message.body)));
  const lockedBy = new Map<string, object>();
  for (const { delivery, leaseMs, batch } of handed) {
    const text = textOf(delivery.message.body);
    const m = model.messages.get(text);
    if (m?.state !== 'ready') expect.fail(`${text} was handed out and is ${m?.state ?? 'gone'}`);
    if (model.locked(m.channel) && lockedBy.get(m.channel) !== batch) {
      expect.fail(`${text} was handed out while ${m.channel} has something out`);
    }
    lockedBy.set(m.channel, batch);
    const before = model.in(m.channel).filter((o) => o.state === 'ready' && o.priority >= m.priority);
    for (const other of before) {
      const better = other.priority > m.priority && !together.has(other.text);
      const overtaken =
        better || (isSub(m.channel) && other.sequence > 0 && other.sequence < delivery.sequence);
      if (overtaken) expect.fail(`${text} was handed out before ${other.text}`);
    }
    if (m.sequence > 0) expect(delivery.sequence).toBe(m.sequence);
    m.count++;
    m.attempt = delivery.attempt;
    m.wasOut = true;
    m.sequence = delivery.sequence;
    expect([text, delivery.receiveCount]).toEqual([text, m.count]);
    expect(delivery.channel).toBe(m.channel);
    expect(delivery.message.body.length).toBe(m.bodyBytes);
    expect(delivery.enqueuedAt).toBe(m.enqueuedAt);
    expect(delivery.expiresAt).toBe(m.expiresAt);
    expect(delivery.reRoutedFrom).toBe(m.reRoutedFrom);
    const { channel, sequence, attempt } = delivery;
    tokens.push({ text, token: { channel, sequence, attempt } });
    m.state = 'inFlight';
    m.leaseEndsAt = leaseMs > 0 ? now + leaseMs : 0;
    if (leaseMs < 0) model.remove(m);
  }
  return tokens;
}

/** The broker's messages are the model's. `last`: highest sequence of each family so far. */
export function compare(model: QueueModel, inside: Inside, last: Map<string, number>): void {
  const found = new Map<string, Seen>();
  const highest = new Map(last);
  for (const seen of inside.messages) {
    if (found.has(seen.text)) expect.fail(`${seen.text} is there twice`);
    found.set(seen.text, seen);
    const m = model.messages.get(seen.text);
    if (m === undefined) expect.fail(`${seen.text} is ${seen.state} in ${seen.channel}; it should be gone`);
    const base = baseOf(m.channel);
    if (m.sequence === 0) {
      m.sequence = seen.sequence;
      const before = last.get(base) ?? 0;
      if (seen.sequence <= before) expect.fail(`${seen.text} got sequence ${seen.sequence} after ${before}`);
    }
    // A number that was given on the way only may be given again when its commit fails.
    if (seen.state !== 'pending') highest.set(base, Math.max(highest.get(base) ?? 0, seen.sequence));
    same(shortOf(seen), seenOf(m));
  }
  for (const [base, sequence] of highest) last.set(base, sequence);
  for (const m of model.messages.values()) {
    if (!found.has(m.text)) expect.fail(`${m.text} is gone; it should be ${m.state} in ${m.channel}`);
  }
  for (const [channel, ready] of inside.ready) {
    if (!isSub(channel)) continue;
    const sequences = ready.map((seen) => seen.sequence);
    same([channel, ...sequences], [channel, ...[...sequences].sort((a, b) => a - b)]);
  }
}
