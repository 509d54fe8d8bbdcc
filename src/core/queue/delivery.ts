import type { ChannelName } from '../channel-name.js';
import type { StoredMessage } from '../message.js';
import type { Translators } from '../message-codec.js';
import { MessageView } from '../message-codec.js';
import type { Queue } from './family.js';
import type { MessageTable } from './message-table.js';
import type { Delivery, PeekedMessage } from './types.js';

/** A message handed out or peeked at, over the bytes of the journal; decoded when looked into. */
export class MessageOut implements Delivery, PeekedMessage {
  readonly channel: ChannelName;
  readonly sequence: number;
  readonly attempt: number;
  readonly enqueuedAt: number;
  readonly receiveCount: number;
  readonly redelivered: boolean;
  readonly firstReceivedAt: number;
  readonly expiresAt: number;
  readonly delayedTo: number;
  readonly reRoutedFrom: string;
  readonly leaseEndsAt: number | undefined;
  #payload: Uint8Array;
  readonly #translators: Translators;
  #message: StoredMessage | undefined;

  constructor(queue: Queue, slot: number, table: MessageTable, source: MessageSource) {
    const c = table.chunk(slot);
    const i = table.index(slot);
    const count = c.count[i] as number;
    const first = c.firstReceived[i] as number;
    const extras = table.extras.size > 0 ? table.extras.get(slot) : undefined;
    this.channel = queue.name;
    this.sequence = c.sequence[i] as number;
    this.attempt = count;
    this.enqueuedAt = c.enqueuedAt[i] as number;
    this.receiveCount = count - (extras === undefined ? 0 : extras.uncounted);
    this.redelivered = this.receiveCount > 1;
    this.firstReceivedAt = first === 0 ? 0 : this.enqueuedAt + first;
    this.expiresAt = extras === undefined ? 0 : extras.expiresAt;
    this.delayedTo = extras === undefined ? 0 : extras.delayedTo;
    this.reRoutedFrom = extras === undefined ? '' : extras.reRoutedFrom;
    this.leaseEndsAt = source.leaseEndsAt;
    this.#payload = source.payload;
    this.#translators = source.translators;
  }

  /** Gives the content later, when it had to be read from the disk. Before the first look at `message`. */
  fill(payload: Uint8Array): void {
    this.#payload = payload;
  }

  get message(): StoredMessage {
    return (this.#message ??= new MessageView(this.#payload, this.#translators));
  }
}

/** Where a MessageOut gets its content from, and its lease's end (undefined = none). */
export interface MessageSource {
  readonly payload: Uint8Array;
  readonly translators: Translators;
  readonly leaseEndsAt: number | undefined;
}
