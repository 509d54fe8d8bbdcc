import type { ChannelName } from '../channel-name.js';
import type { BrokerError } from '../errors.js';
import type { OutgoingMessage, StoredMessage } from '../message.js';

/** Why a message left its queue for another place. */
export type DeadLetterReason = 'max-receives' | 'expired' | 'rejected' | 'overflow';

/** Where dead letters go: a channel, or a route that a connector resolves when it happens (see `DeadLetterRouter`). */
export type DeadLetterTarget = { readonly channel: ChannelName } | { readonly route: string };

export interface DeadLetterSettings {
  readonly target: DeadLetterTarget;
  /** Deliveries allowed; a message's own policy wins. Absent: no bound from the queue. */
  readonly maxReceiveCount?: number | undefined;
  /** Which reasons are dead-lettered; others are dropped. */
  readonly reasons: readonly DeadLetterReason[];
}

/** How long a message that was given back, or whose lease ran out, waits until it is handed out again. */
export interface BackoffSettings {
  /** After the first delivery; twice as long after each further one, up to `maxMs`. */
  readonly minMs: number;
  readonly maxMs: number;
}

/** Settings of a queue channel. All have defaults (`DEFAULT_QUEUE_SETTINGS`). */
export interface QueueSettings {
  /** False: queue and messages live in memory only and are gone after a restart. */
  readonly durable: boolean;
  /** Highest priority kept apart; 0 = one level. Messages above it count as it. */
  readonly maxPriority: number;
  /** Ready messages allowed, and their body bytes; 0 = no bound, `NOTHING` = none of them. */
  readonly maxLength: number;
  readonly maxLengthBytes: number;
  readonly overflow: 'drop-head' | 'reject' | 'reject-dead-letter';
  /** Upper bound of every message's expirationMs; 0 = none, `NOTHING` = no time. Expired ones are dead-lettered when `deadLetter` says so. */
  readonly messageTtlMs: number;
  /** Unconsumed messages older than this are dropped, never dead-lettered; 0 = kept. */
  readonly retentionMs: number;
  readonly deadLetter: DeadLetterSettings | undefined;
  /** Where an expired lease puts the message back. Sub-channels and `origin` keep the old place. */
  readonly expiredLeaseTo: 'tail' | 'origin';
  /** Absent: no wait. A nack that names a delay of its own, or does not count, is not held back. */
  readonly backoff: BackoffSettings | undefined;
  /** How long a dedupId answers with the first result; 0 = ids are ignored. */
  readonly dedupWindowMs: number;
  /**
   * Texts that mark a sub-channel: with `.g.`, channel `{name}.g.x` belongs to this queue's family. Sub-channels come with
   * their first message and vanish when empty.
   */
  readonly subChannelMarks: readonly string[];
  /**
   * `ordered`: at most one batch of each is in flight. `fair`: as many as are wanted, but one that has a large share of
   * all that is in flight is served after the others.
   */
  readonly subChannels: 'ordered' | 'fair';
}

export const DEFAULT_QUEUE_SETTINGS: QueueSettings = {
  durable: true,
  maxPriority: 0,
  maxLength: 0,
  maxLengthBytes: 0,
  overflow: 'drop-head',
  messageTtlMs: 0,
  retentionMs: 0,
  deadLetter: undefined,
  expiredLeaseTo: 'tail',
  backoff: undefined,
  dedupWindowMs: 0,
  subChannelMarks: [],
  subChannels: 'ordered',
};

/** The right to settle one delivery: plain data, valid through every node and across restarts. */
export interface LeaseToken {
  /** The channel the message was delivered from (a sub-channel of a family, never its alias). */
  readonly channel: ChannelName;
  readonly sequence: number;
  /** Which delivery of the message it was, from 1; those returned uncounted are numbered, too. */
  readonly attempt: number;
}

/** A message handed out. It is its own lease token. */
export interface Delivery extends LeaseToken {
  readonly message: StoredMessage;
  /** Unix ms when this copy entered the queue. */
  readonly enqueuedAt: number;
  /** Deliveries so far, this one included. */
  readonly receiveCount: number;
  readonly redelivered: boolean;
  readonly firstReceivedAt: number;
  /** Unix ms; 0 = never. */
  readonly expiresAt: number;
  /** Unix ms the message was delayed to; 0 = was not. */
  readonly delayedTo: number;
  /** Channel it was dead-lettered or moved from; '' = none. */
  readonly reRoutedFrom: string;
  /** Unix ms the lease ends; 0 = lives until settled; undefined = no lease, already removed. */
  readonly leaseEndsAt: number | undefined;
}

export interface SendResult {
  readonly ok: true;
  /** The channel after aliases. */
  readonly channel: ChannelName;
  readonly id: string;
  readonly sequence: number;
  /** Unix ms. */
  readonly enqueuedAt: number;
  /** Unix ms; 0 = never / not delayed. */
  readonly expiresAt: number;
  readonly delayedTo: number;
  /** True: the dedup window knew the id, nothing new was stored, the fields are the first send's. */
  readonly duplicate: boolean;
}

export interface SendRefusal {
  readonly ok: false;
  readonly error: BrokerError;
}

/** Outcome of one message of a batch, at its place. */
export type SendOutcome = SendResult | SendRefusal;

export interface SendOptions {
  /** Make missing queues (with default settings) instead of refusing. */
  readonly createMissing?: boolean;
  /** One refusal refuses all; nothing is stored then and the outcomes of the others are refusals too. */
  readonly allOrNothing?: boolean;
  /**
   * Deliveries acknowledged in the same entry: together with the messages or not at all. They stay when the batch is refused
   * or lost; tokens that own nothing are passed over. Whoever holds them settles them no other way meanwhile.
   */
  readonly acks?: readonly LeaseToken[];
  /**
   * Events appended to logs in the same entry: together with the messages or not at all. Left out when the batch is refused as
   * a whole. The send rejects with `not-found`, and nothing is stored, when a log is missing.
   */
  readonly append?: readonly OutgoingMessage[];
  /**
   * Messages may go to waiting consumers that say `early`, too, before they are durable. The send still resolves when they are.
   * A crash in between takes back what somebody had seen; a disk that fails does not: they are written again until it takes them.
   */
  readonly early?: boolean;
}

/** `auto`: removed as handed out. Otherwise a lease of `leaseMs` (0 = until settled, or until a restart returns it). */
export type HandOut = { readonly kind: 'auto' } | { readonly kind: 'lease'; readonly leaseMs: number };

export interface ReceiveRequest {
  /** A queue, or the base of a family (its sub-channels included, round-robin). */
  readonly channel: ChannelName;
  readonly max: number;
  /** Bound of the bodies together; one message always passes. Absent: none. */
  readonly maxBytes?: number;
  /** 0 = answer at once. Else wait until one message is ready, this long at most. */
  readonly waitMs: number;
  readonly handOut: HandOut;
  /** Most messages of one sub-channel in one answer. Absent: no bound of its own. */
  readonly perSubChannelMax?: number;
  readonly createMissing?: boolean;
  /** Ends the wait; messages already picked go back to their place, uncounted. The promise then gives []. */
  readonly signal?: AbortSignal | undefined;
}

export interface ConsumeRequest {
  readonly channel: ChannelName;
  readonly handOut: HandOut;
  /** Messages that may be handed out before `grant`. */
  readonly credit: number;
  /** Body bytes likewise; one larger message passes while any credit is left. Absent: no bound. */
  readonly creditBytes?: number;
  /** Higher ones are served first while they have credit. Default 0. */
  readonly priority?: number;
  /** Refused with `forbidden` while others consume; others are refused while it lives. */
  readonly exclusive?: boolean;
  /** Of the consumers that say so one is served, and the others stand by: the first, then the first of the highest priority. */
  readonly single?: boolean;
  readonly perSubChannelMax?: number;
  /** Takes messages before they are durable, from senders that say `early`, too; while all who consume the queue do. */
  readonly early?: boolean;
  /** At least one delivery. Called from the broker's turn: it must not throw and should only queue bytes. */
  readonly onDeliveries: (deliveries: readonly Delivery[]) => void;
  /** The queue went away; nothing follows. */
  readonly onCancel: (reason: BrokerError) => void;
}

export interface Consumer {
  /** Adds credit; returned when the holder has settled or written out what it got. */
  grant(messages: number, bytes?: number): void;
  /** Stops hand-out at once. Leases stay with their holder. Idempotent. */
  cancel(): void;
}

/** What to do with deliveries of one kind of decision. */
export type Settlement =
  | { readonly kind: 'ack' }
  /** Back to the queue: `origin` = its old place, `tail` = behind all, with a new sequence. Over its limit: dead-lettered. */
  | {
      readonly kind: 'nack';
      readonly to: 'origin' | 'tail';
      readonly delayMs?: number;
      readonly uncounted?: boolean;
    }
  /** Refused for good: dead-lettered with reason `rejected`, else dropped. */
  | { readonly kind: 'reject' }
  /** The lease ends `leaseMs` from now. */
  | { readonly kind: 'extend'; readonly leaseMs: number }
  /** To another queue in one step; receive count starts again. */
  | { readonly kind: 'move'; readonly channel: ChannelName };

export interface SettleRequest {
  readonly tokens: readonly LeaseToken[];
  readonly settlement: Settlement;
  /** Wait until it is on disk. Default false: answered as soon as it holds in memory and is queued for the next commit. */
  readonly durable?: boolean;
  /**
   * With `ack`: also what went back to the tail of its queue and is held by nobody now, whoever had it since. As far as
   * memory goes: a restart forgets it.
   */
  readonly late?: boolean;
}

export interface SettleResult {
  /** Indexes into `tokens` that owned nothing any more; nothing was changed for these. Usually empty. */
  readonly refused: readonly number[];
}

/** One message seen by `peek`: the state of the moment, no lease, no count. */
export interface PeekedMessage {
  readonly channel: ChannelName;
  readonly sequence: number;
  readonly message: StoredMessage;
  readonly enqueuedAt: number;
  readonly receiveCount: number;
  readonly expiresAt: number;
  readonly delayedTo: number;
  readonly reRoutedFrom: string;
}

export interface PurgeScope {
  readonly ready: boolean;
  readonly delayed: boolean;
  readonly inFlight: boolean;
}

export interface PurgeResult {
  readonly ready: number;
  readonly delayed: number;
  readonly inFlight: number;
}

/** Exact figures of one queue (a family's base counts its sub-channels too). Counters are since the start of the process. */
export interface QueueStats {
  readonly channel: ChannelName;
  readonly settings: QueueSettings;
  readonly ready: number;
  readonly delayed: number;
  readonly inFlight: number;
  /** Bytes of all stored messages. */
  readonly bytes: number;
  readonly subChannels: number;
  readonly consumers: number;
  readonly waiters: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly sent: number;
  readonly delivered: number;
  readonly acknowledged: number;
  readonly expired: number;
  readonly deadLettered: number;
}

/** What a route says: copies for these channels, made in the same entry that removes the dead letter. */
export interface DeadLetterCopy {
  readonly channel: ChannelName;
  /** Replaces the message's origin bytes (a trail of deaths, a changed key). Absent: the message as it is. */
  readonly originBytes?: Uint8Array;
  /** Protocol of `originBytes`. Absent: the message's own; another one keeps what the message says neutrally beside it. */
  readonly originProtocol?: string;
  /** The channel is a log. */
  readonly toLog?: boolean;
}

export interface DeadLetter {
  readonly message: StoredMessage;
  readonly channel: ChannelName;
  readonly reason: DeadLetterReason;
  readonly receiveCount: number;
  readonly now: number;
}

/** Resolves the part of a route behind its scheme (`scheme:rest`), synchronously. No copies: the message is dropped. */
export type DeadLetterRouter = (rest: string, letter: DeadLetter) => readonly DeadLetterCopy[];
