import { writeMap } from './field-encoding.js';
import { NO_BYTES } from './field-slot.js';
import {
  number,
  putBig,
  putBool,
  putNumber,
  putText,
  text,
  writePolicy,
  type Policy,
  type WritesItself,
} from './queue-message-codec.js';
import type { Sink } from './sink.js';

const DIGEST_CHARS = 32;
const POLICY = text(8);
const ATTRIBUTES = text(7);

/** A text that comes with message after message: made bytes once. */
class KnownText {
  #text = '';
  #bytes = NO_BYTES;

  put(tag: number, value: string, sink: Sink): void {
    if (value.length === 0) return;
    if (value !== this.#text) {
      this.#bytes = Buffer.from(value);
      this.#text = value;
    }
    sink.copy(this.#bytes, 0, this.#bytes.length);
    sink.small(this.#bytes.length);
    sink.small(tag);
  }
}

const clientIds = new KnownText();
const channels = new KnownText();

/**
 * A message that a queue hands out. It writes itself from what is there as bytes and numbers already: no object for its
 * attributes, no texts for its digest and for an id that the broker made.
 */
export abstract class DeliveredQueueMessage implements WritesItself {
  readonly channel: string;
  sequence = 0;
  readonly body: Uint8Array;
  /** The digests of all that are handed out together, and where this one's begins. */
  readonly #digests: Buffer;
  readonly #digestAt: number;

  /** `place`: among those that are handed out together. */
  constructor(channel: string, body: Uint8Array, digests: Buffer, place: number) {
    this.channel = channel;
    this.body = body;
    this.#digests = digests;
    this.#digestAt = place * DIGEST_CHARS;
  }

  abstract get messageId(): string;
  abstract get clientId(): string;
  abstract get metadata(): string;
  abstract get tags(): ReadonlyMap<string, string>;
  abstract get policy(): Policy;
  abstract get timestamp(): bigint;
  abstract get receiveCount(): number;
  abstract get reRoutedFrom(): string;
  abstract get expirationAt(): bigint;
  abstract get delayedTo(): bigint;

  /** Writes the id with its length, without a text, when it has one for that; false when not, and nothing is written. */
  protected abstract putId(sink: Sink): boolean;

  get attributes() {
    return {
      timestamp: this.timestamp,
      sequence: this.sequence,
      md5OfBody: this.#digests.toString('latin1', this.#digestAt, this.#digestAt + DIGEST_CHARS),
      receiveCount: this.receiveCount,
      reRouted: this.reRoutedFrom !== '',
      reRoutedFromQueue: this.reRoutedFrom,
      expirationAt: this.expirationAt,
      delayedTo: this.delayedTo,
    };
  }

  writeTo(sink: Sink): void {
    const { body } = this;
    let end = sink.length;
    writePolicy(this.policy, sink);
    sink.small(sink.length - end);
    sink.small(POLICY);
    end = sink.length;
    this.#writeAttributes(sink);
    sink.small(sink.length - end);
    sink.small(ATTRIBUTES);
    writeMap(text(6), this.tags, sink);
    if (body.byteLength > 0) {
      sink.block(body);
      sink.small(text(5));
    }
    putText(text(4), this.metadata, sink);
    channels.put(text(3), this.channel, sink);
    clientIds.put(text(2), this.clientId, sink);
    if (this.putId(sink)) sink.small(text(1));
    else putText(text(1), this.messageId, sink);
  }

  #writeAttributes(sink: Sink): void {
    const { reRoutedFrom } = this;
    putBig(number(8), this.delayedTo, sink);
    putBig(number(7), this.expirationAt, sink);
    putText(text(6), reRoutedFrom, sink);
    putBool(number(5), reRoutedFrom !== '', sink);
    putNumber(number(4), this.receiveCount, sink);
    sink.copy(this.#digests, this.#digestAt, DIGEST_CHARS);
    sink.small(DIGEST_CHARS);
    sink.small(text(3));
    putNumber(number(2), this.sequence, sink);
    putBig(number(1), this.timestamp, sink);
  }
}
