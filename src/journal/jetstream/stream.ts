/** A message of a stream. `seq` rises; messages may go, their numbers never come again. */
export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly payload: Uint8Array;
}

/**
 * Why a message was not acknowledged. `conflict` and `full`: it was refused and is not stored. `unknown`: it may be stored, now or
 * later, as long as what it expects is so.
 */
export type PublishFault = 'conflict' | 'full' | 'unknown';

export class PublishError extends Error {
  readonly fault: PublishFault;

  constructor(fault: PublishFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PublishError';
    this.fault = fault;
  }
}

/** What must hold for a message to be stored: the last sequence of the stream, or of the message's own subject (0 = none). */
export interface Expected {
  readonly lastSeq?: number;
  readonly lastSubjectSeq?: number;
}

/**
 * What the journal needs of a replicated stream: JetStream gives it, and a model of it in tests.
 *
 * Questions are answered by whichever server comes first, and that one may be behind: a replica, a leader that is new, one that was cut off and does
 * not know it yet. What it shows is so; what it does not show may be there all the same. Every server stores in order, so a message that it
 * shows proves that it has everything in front of it.
 */
export interface FencedStream {
  /** Bytes of one message. */
  readonly payloadBytesMax: number;
  /** Resolves with the sequence once the message is stored as safely as the stream can. Rejects with PublishError only. */
  publish(subject: string, payload: Uint8Array, expected: Expected): Promise<number>;
  /** The message at `seq`. Undefined says nothing. */
  get(seq: number): Promise<StoredMessage | undefined>;
  /** The first message at or behind `seq`, by one answer of one server: there is none between the two. Undefined says nothing. */
  next(seq: number): Promise<StoredMessage | undefined>;
  /** The last message of a subject that the server knows of; there may be a later one. */
  last(subject: string): Promise<StoredMessage | undefined>;
  /** At least that far does the stream go. */
  lastSeq(): Promise<number>;
  /** Removes all messages of a subject, which may end in `>`. */
  purge(subject: string): Promise<void>;
  /** Subjects that hold messages, as far as the server knows. */
  subjects(): Promise<readonly string[]>;
  /** Bytes the stream may still take; undefined = no bound of its own. */
  freeBytes(): Promise<number | undefined>;
}
