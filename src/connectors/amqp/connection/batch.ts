import type { OutgoingMessage } from '../../../core/message.js';
import type { LeaseToken, SendOutcome } from '../../../core/queue/types.js';
import type { AmqpChannel } from '../channel/amqp-channel.js';

/** A batch that is one transaction: all of it or nothing, with acknowledgements. */
export interface Commit {
  readonly acks: readonly LeaseToken[];
  readonly done: (stored: boolean) => void;
}

/** Publishes handed to the broker in one call. Three lists of equal length, one place a publish. */
export class Batch {
  readonly messages: OutgoingMessage[] = [];
  /** Messages for streams: they are appended to their logs. */
  events: OutgoingMessage[] = [];
  readonly channels: AmqpChannel[] = [];
  /** Confirm numbers; 0 without confirms. */
  readonly numbers: number[] = [];
  /** How many of the messages are this publish's: one for each queue it reached. */
  readonly counts: number[] = [];
  bytes = 0;
  /** Body bytes counted once for each queue. */
  sentBytes = 0;
  ended = false;
  commit: Commit | undefined;
  /** Set when this batch is a part of one publish to very many queues. */
  spread: Spread | undefined;
  /** What was stored already of a batch that is tried again. */
  outcomes: readonly SendOutcome[] | undefined;
}

/** One publish that takes several batches: its outcome is known when all of them have theirs. */
export interface Spread {
  parts: number;
  stored: boolean;
}
