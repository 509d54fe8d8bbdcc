import type { ChannelName } from '../channel-name.js';
import type { StoredMessage } from '../message.js';

export interface LogSettings {
  /** Events older, more than, or larger together than this leave from the front; 0 = no bound. */
  readonly retentionMs: number;
  readonly retentionCount: number;
  readonly retentionBytes: number;
}

export const DEFAULT_LOG_SETTINGS: LogSettings = { retentionMs: 0, retentionCount: 0, retentionBytes: 0 };

export interface LogEvent {
  readonly channel: ChannelName;
  /** Per channel, from 1, gapless, never reused. */
  readonly sequence: number;
  /** Unix ms. */
  readonly storedAt: number;
  readonly message: StoredMessage;
}

/** Where a subscription begins. Sequences and times before the retained window mean its first event. */
export type StartPosition =
  | { readonly from: 'new' }
  | { readonly from: 'first' }
  | { readonly from: 'last' }
  | { readonly from: 'sequence'; readonly sequence: number }
  | { readonly from: 'time'; readonly time: number }
  | { readonly from: 'delta'; readonly deltaMs: number };

export interface SubscribeRequest {
  readonly channel: ChannelName;
  readonly start: StartPosition;
  /**
   * Name of the position kept on the broker, e.g. client or group. When it exists, `start` is ignored and reading goes on
   * behind the last event taken. One live subscription a name: another is refused with `already-exists`.
   */
  readonly durable?: string | undefined;
  readonly createMissing?: boolean;
}

/** One reader, pull-driven: a slow one is never dropped. */
export interface LogSubscription {
  /** Up to `max` next events; waits until there is one, or gives [] when `close` is called. Never two at once. */
  next(max: number): Promise<readonly LogEvent[]>;
  /** The durable position: everything up to `sequence` was taken. */
  advance(sequence: number): void;
  /** Ends it; the durable position stays. Idempotent. */
  close(): void;
}

export interface LogReadRequest {
  readonly channel: ChannelName;
  readonly fromSequence: number;
  readonly max: number;
  readonly maxBytes?: number;
}

/** What a queue is to hold instead of what it holds; see `Broker.rewind`. */
export interface RewindRequest {
  readonly queue: ChannelName;
  /** The log whose events it is about. Absent: nothing but what the queue holds. */
  readonly log: ChannelName | undefined;
  /** Whether the queue is to hold an event. `held`: it holds its copy now. Pure: it may be asked more than once. */
  readonly wants: (sequence: number, storedAt: number, held: boolean) => boolean;
  /** Whether it keeps a message that is no event of the log, by the time it came. */
  readonly keeps: (enqueuedAt: number) => boolean;
  /** Where an event goes that the queue does not hold, as with a fan-out target. Absent: on the queue. */
  readonly route?: FanOutTarget['route'];
  /** Most events that it gets and does not hold now; the oldest of more are left out. */
  readonly restoreMax: number;
}

export interface RewindResult {
  /** Events it got that it did not hold. */
  readonly restored: number;
  readonly kept: number;
  readonly removed: number;
  /** Events over `restoreMax`. */
  readonly skipped: number;
}

/** Which events of a log a queue holds its copies of. */
export interface CopiesLeft {
  /** The log's last durable event at that moment. */
  readonly upTo: number;
  /** First sequence and length of each run, one after the other. */
  readonly runs: readonly number[];
}

export interface AppendResult {
  readonly sequence: number;
  readonly id: string;
  /** Unix ms. */
  readonly storedAt: number;
}

export interface LogStats {
  readonly channel: ChannelName;
  readonly settings: LogSettings;
  readonly firstSequence: number;
  /** 0 = nothing was ever appended. */
  readonly lastSequence: number;
  readonly events: number;
  readonly bytes: number;
  readonly subscriptions: number;
}

/**
 * A queue that gets a copy of what is appended to a log, in the same entry. Set by the connector that owns it at start and
 * whenever its registry changes; not stored.
 */
export interface FanOutTarget {
  /** The queue (or family base). */
  readonly queue: ChannelName;
  /**
   * The channel to put this event on (the queue itself or a sub-channel), or undefined when its filter says no. Pure.
   * The message has no sequence yet; `sequence` is the one the log gives it. Absent: every event goes on the queue.
   */
  readonly route?: (message: StoredMessage, sequence: number) => ChannelName | undefined;
}
