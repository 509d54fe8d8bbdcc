import type { ChannelName } from './channel-name.js';

/** String map of a message. A Map, because keys come from users and `__proto__` is a legal one. */
export type Tags = ReadonlyMap<string, string>;

/** How long a message waits and lives and where it goes when it cannot be consumed. */
export interface MessagePolicy {
  /** Not delivered before send time + this. */
  readonly delayMs?: number;
  /** Removed at send time + delay + this; 0 = it is for whoever waits for it then. */
  readonly expirationMs?: number;
  /** Deliveries allowed; returned after the last one, it is dead-lettered. Absent: the queue's own rule. */
  readonly maxReceiveCount?: number;
  /** Channel for messages over `maxReceiveCount`; with a count and no channel they are dropped. */
  readonly maxReceiveQueue?: ChannelName;
}

/**
 * What a protocol sent, verbatim, with the name its translator is registered under. The same protocol reads the bytes
 * back untouched; others see the neutral view the translator derives from them when asked.
 */
export interface Origin {
  readonly protocol: string;
  readonly bytes: Uint8Array;
}

/** A message on its way in. Everything absent is empty. */
export interface OutgoingMessage {
  readonly channel: ChannelName;
  readonly body: Uint8Array;
  /** Absent: derived from channel and sequence, so that every read sees the same one. */
  readonly id?: string | undefined;
  readonly clientId?: string | undefined;
  readonly metadata?: string | undefined;
  readonly tags?: Tags | undefined;
  readonly policy?: MessagePolicy | undefined;
  readonly origin?: Origin | undefined;
  /** 0–255; only queues with priority levels look at it. */
  readonly priority?: number | undefined;
  /** Written unforced: nobody waits for the disk and a restart may drop it. */
  readonly transient?: boolean | undefined;
  /** Within the queue's dedup window, a second message with the same id answers with the first one's result. */
  readonly dedupId?: string | undefined;
}

/** The protocol-free reading of a message's origin bytes. */
export interface NeutralView {
  readonly id?: string | undefined;
  readonly metadata?: string | undefined;
  readonly tags: Tags;
}

/** Derives the neutral view of origin bytes. Pure; called at most once per read message, and only when asked. */
export type Translator = (origin: Uint8Array) => NeutralView;

export const NO_TAGS: Tags = new Map<string, string>();

/** A message read back from the store. Parts are decoded when first asked for. */
export interface StoredMessage {
  /** The sender's id, else `{channel}-{sequence}` of its first place. */
  readonly id: string;
  /** Whether the sender gave an id. */
  readonly hasOwnId: boolean;
  readonly clientId: string;
  readonly metadata: string;
  readonly tags: Tags;
  readonly body: Uint8Array;
  readonly policy: MessagePolicy;
  readonly priority: number;
  readonly origin: Origin | undefined;
}
