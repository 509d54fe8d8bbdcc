import { expect } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import type { OutgoingMessage } from '../../../src/core/message.js';
import type { Settlement } from '../../../src/core/queue/types.js';
import type { Seen } from '../../support/inside.js';
import type { ModelMessage, ModelSend } from './queue-model.js';
import type { SettleShape } from './queue-steps.js';

/** `toEqual` costs more than all else here: it is asked only when there is a difference to show. */
export function same(found: object, expected: object): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
}

export function outgoing(send: ModelSend & { transient: boolean }): OutgoingMessage {
  return {
    channel: send.channel as ChannelName,
    body: Buffer.from(`${send.text}:`.padEnd(send.bodyBytes, '.')),
    priority: send.priority,
    transient: send.transient,
    dedupId: send.dedupId,
    policy: {
      delayMs: send.delayMs,
      ...(send.expirationMs > 0 && { expirationMs: send.expirationMs }),
      maxReceiveCount: send.maxReceiveCount,
      ...(send.maxReceiveQueue !== '' && { maxReceiveQueue: send.maxReceiveQueue as ChannelName }),
    },
  };
}

export function settlementOf(how: SettleShape): Settlement {
  return how.kind === 'move' ? { kind: 'move', channel: 'dead' as ChannelName } : how;
}

export function fromSeen(seen: Seen): ModelMessage {
  const state = seen.state === 'pending' || seen.state === 'picked' ? 'arriving' : seen.state;
  return {
    text: seen.text,
    channel: seen.channel,
    state,
    count: seen.count,
    attempt: seen.attempt,
    priority: seen.priority,
    enqueuedAt: seen.enqueuedAt,
    expiresAt: seen.expiresAt,
    delayedTo: state === 'delayed' ? (seen.deadline ?? 0) : 0,
    leaseEndsAt: state === 'inFlight' ? (seen.deadline ?? 0) : 0,
    max: seen.maxReceiveCount,
    maxQueue: seen.maxReceiveQueue,
    reRoutedFrom: seen.reRoutedFrom,
    sequence: seen.sequence,
    wasOut: seen.wasOut,
    bodyBytes: seen.bodyBytes,
  };
}

/** What of a message can be compared, as the model has it and as the broker has it. */
export function seenOf(m: ModelMessage): object {
  const deadline = { arriving: 0, ready: m.expiresAt, delayed: m.delayedTo, inFlight: m.leaseEndsAt }[
    m.state
  ];
  const { text, channel, state, count, priority, enqueuedAt, expiresAt, reRoutedFrom, sequence } = m;
  return { text, channel, state, count, priority, enqueuedAt, expiresAt, reRoutedFrom, sequence, deadline };
}

export function shortOf(seen: Seen): object {
  const { text, channel, count, priority, enqueuedAt, expiresAt, reRoutedFrom, sequence } = seen;
  const state = seen.state === 'pending' ? 'arriving' : seen.state;
  const deadline = seen.deadline ?? 0;
  return { text, channel, state, count, priority, enqueuedAt, expiresAt, reRoutedFrom, sequence, deadline };
}
