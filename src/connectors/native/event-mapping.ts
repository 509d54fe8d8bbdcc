import type { ChannelName } from '../../core/channel-name.js';
import type { LogEvent, StartPosition } from '../../core/log/types.js';
import type { OutgoingMessage } from '../../core/message.js';
import { nanoseconds } from './queue-message-mapping.js';
import { EventsStoreType, type Event, type EventReceive, type Subscribe } from './wire/messages.js';

/** A checked event (see rules.ts) on its way into a log. */
export function outgoingEvent(event: Event): OutgoingMessage {
  return {
    channel: event.channel as ChannelName,
    body: event.body,
    id: event.eventId === '' ? undefined : event.eventId,
    clientId: event.clientId,
    metadata: event.metadata === '' ? undefined : event.metadata,
    tags: event.tags.size === 0 ? undefined : event.tags,
  };
}

/** An event on its way out, under the channel name the subscriber knows it by. */
export function eventReceive({ message, sequence, storedAt }: LogEvent, channel: string): EventReceive {
  return {
    eventId: message.id,
    channel,
    metadata: message.metadata,
    body: message.body,
    timestamp: nanoseconds(storedAt),
    sequence,
    tags: message.tags,
  };
}

/** Where a checked subscription begins. */
export function startPosition({ eventsStoreType, eventsStoreValue }: Subscribe): StartPosition {
  switch (eventsStoreType) {
    case EventsStoreType.startFromFirst:
      return { from: 'first' };
    case EventsStoreType.startFromLast:
      return { from: 'last' };
    case EventsStoreType.startAtSequence:
      return { from: 'sequence', sequence: Number(eventsStoreValue) };
    case EventsStoreType.startAtTime:
      return { from: 'time', time: unixMs(eventsStoreValue) };
    case EventsStoreType.startAtTimeDelta:
      return { from: 'delta', deltaMs: Number(eventsStoreValue) * 1000 };
    default:
      return { from: 'new' };
  }
}

/**
 * The contract means Unix nanoseconds, but clients send seconds, milliseconds or nanoseconds. Each magnitude fits one unit
 * only: in seconds, 10¹¹ is the year 5138; in milliseconds, 1973.
 */
export function unixMs(value: bigint): number {
  if (value < 100_000_000_000n) return Number(value) * 1000;
  if (value < 100_000_000_000_000n) return Number(value);
  if (value < 100_000_000_000_000_000n) return Number(value / 1000n);
  return Number(value / 1_000_000n);
}
