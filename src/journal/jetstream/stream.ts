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

/** What the journal needs of a replicated stream: JetStream gives it, and a model of it in tests. */
export interface FencedStream {
  /** Bytes of one message. */
  readonly payloadBytesMax: number;
  /** Resolves with the sequence once the message is stored as safely as the stream can. Rejects with PublishError only. */
  publish(subject: string, payload: Uint8Array, expected: Expected): Promise<number>;
  /** Undefined: not there, or whoever answered did not know of it yet. */
  get(seq: number): Promise<StoredMessage | undefined>;
  last(subject: string): Promise<StoredMessage | undefined>;
  lastSeq(): Promise<number>;
  /** Visits the messages of [from, to] in order; the one at `to` is there. */
  read(from: number, to: number, visit: (message: StoredMessage) => void): Promise<void>;
  /** Removes all messages of a subject, which may end in `>`. */
  purge(subject: string): Promise<void>;
  /** Subjects that hold messages. */
  subjects(): Promise<readonly string[]>;
  /** Bytes the stream may still take; undefined = no bound of its own. */
  freeBytes(): Promise<number | undefined>;
}
