import type { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import type { AcksAlong } from './acks-along.js';

/** Events that go into the entry of a send: see `SendOptions.append`. */
export interface EventsAlong {
  /** About what they take in the entry. */
  readonly bytes: number;
  /** Copies that logs put on queues. */
  readonly slots: readonly number[];
  /** Writes them into the open entry, which is abandoned when that throws. */
  write(): void;
  /** The entry has its position. */
  place(position: number): void;
  commit(): void;
  lose(error: BrokerError): void;
}

/** Prepares events for an entry that is not theirs. Throws `not-found` and what an append throws. */
export type AppendAlong = (events: readonly OutgoingMessage[]) => EventsAlong;

/** What goes into the entry of a send beside its messages. */
export interface Along {
  readonly acks: AcksAlong | undefined;
  readonly events: EventsAlong | undefined;
}

export const NOTHING_ALONG: Along = { acks: undefined, events: undefined };
