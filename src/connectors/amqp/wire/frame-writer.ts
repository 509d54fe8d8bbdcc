import { WireWriter } from './bytes.js';
import {
  CLASS_BASIC,
  CONTENT_HEADER_FIXED_BYTES,
  FRAME_BODY,
  FRAME_END,
  FRAME_HEADER,
  FRAME_HEADER_BYTES,
  FRAME_METHOD,
  FRAME_OVERHEAD,
} from './frames.js';
import { writeMethod } from './method-codec.js';
import type { MethodArgs, MethodName } from './methods.js';

/** Bodies up to this are copied into the write of their turn; larger ones are passed on as they are. */
const INLINE_BODY_BYTES_MAX = 16 * 1024;

const BUFFER_BYTES_MIN = 1024;
const BUFFER_BYTES_MAX = 256 * 1024;

const NO_BUFFER = Buffer.alloc(0);

const DELIVER_ID = 0x003c003c;
const ACK_ID = 0x003c0050;
const NACK_ID = 0x003c0078;
const RETURN_ID = 0x003c0032;
const GET_OK_ID = 0x003c0047;

/** A message to be written: exchange and key as two short strings, flags and property list, and the body. */
export interface Content {
  readonly route: Uint8Array;
  readonly properties: Uint8Array;
  readonly body: Uint8Array;
}

/** Gathers frames of one turn in one buffer. `take` gives what was written since the last call. */
export class FrameWriter {
  #frameMax = 4096;
  #buffer: Buffer = NO_BUFFER;
  #start = 0;
  #at = 0;
  #done: Buffer[] = [];
  #doneBytes = 0;
  #nextSize = BUFFER_BYTES_MIN;

  setFrameMax(frameMax: number): void {
    this.#frameMax = frameMax;
  }

  /** Bytes gathered and not yet taken. */
  get pendingBytes(): number {
    return this.#doneBytes + this.#at - this.#start;
  }

  method<N extends MethodName>(channel: number, name: N, args: MethodArgs<N>): void {
    const payload = new WireWriter(64);
    writeMethod(payload, name, args);
    const bytes = payload.finish();
    this.#frame(FRAME_METHOD, channel, bytes);
  }

  raw(bytes: Uint8Array): void {
    const at = this.#room(bytes.length);
    this.#buffer.set(bytes, at);
  }

  /** basic.ack of the broker: `multiple` confirms everything up to the tag. */
  ack(channel: number, deliveryTag: number, multiple: boolean): void {
    this.#confirm(channel, ACK_ID, deliveryTag, multiple);
  }

  nack(channel: number, deliveryTag: number): void {
    this.#confirm(channel, NACK_ID, deliveryTag, false);
  }

  /** basic.deliver with its content. `consumerTag` is a short string with its length. */
  deliver(
    channel: number,
    consumerTag: Uint8Array,
    deliveryTag: number,
    redelivered: boolean,
    content: Content,
  ): void {
    const size = 4 + consumerTag.length + 9 + content.route.length;
    let at = this.#frameStart(FRAME_METHOD, channel, size, DELIVER_ID);
    this.#buffer.set(consumerTag, at);
    at = this.#tag(at + consumerTag.length, deliveryTag);
    this.#buffer[at] = redelivered ? 1 : 0;
    this.#buffer.set(content.route, at + 1);
    this.#buffer[at + 1 + content.route.length] = FRAME_END;
    this.#content(channel, content);
  }

  /** basic.get-ok with its content. */
  getOk(
    channel: number,
    deliveryTag: number,
    redelivered: boolean,
    messageCount: number,
    content: Content,
  ): void {
    const size = 4 + 9 + content.route.length + 4;
    let at = this.#tag(this.#frameStart(FRAME_METHOD, channel, size, GET_OK_ID), deliveryTag);
    this.#buffer[at] = redelivered ? 1 : 0;
    this.#buffer.set(content.route, at + 1);
    at = this.#buffer.writeUInt32BE(messageCount, at + 1 + content.route.length);
    this.#buffer[at] = FRAME_END;
    this.#content(channel, content);
  }

  /** basic.return with its content. */
  return(channel: number, replyCode: number, replyText: string, content: Content): void {
    const text = Buffer.from(replyText, 'latin1');
    const size = 4 + 2 + 1 + text.length + content.route.length;
    let at = this.#frameStart(FRAME_METHOD, channel, size, RETURN_ID);
    at = this.#buffer.writeUInt16BE(replyCode, at);
    this.#buffer[at] = text.length;
    this.#buffer.set(text, at + 1);
    at += 1 + text.length;
    this.#buffer.set(content.route, at);
    this.#buffer[at + content.route.length] = FRAME_END;
    this.#content(channel, content);
  }

  /** Everything gathered, in order: usually one buffer. Empty when there is nothing. */
  take(): readonly Buffer[] {
    const bytes = this.pendingBytes;
    if (bytes === 0) return [];
    this.#seal();
    const done = this.#done;
    this.#done = [];
    this.#doneBytes = 0;
    // Sized by the last turn, so that idle connections hold little and busy ones write one buffer.
    this.#nextSize = Math.min(Math.max(bytes + (bytes >> 2), BUFFER_BYTES_MIN), BUFFER_BYTES_MAX);
    const left = this.#buffer.length - this.#at;
    if (left < this.#nextSize || left > this.#nextSize * 4) {
      this.#buffer = NO_BUFFER;
      this.#start = 0;
      this.#at = 0;
    }
    return done;
  }

  #confirm(channel: number, id: number, deliveryTag: number, multiple: boolean): void {
    const at = this.#tag(this.#frameStart(FRAME_METHOD, channel, 13, id), deliveryTag);
    this.#buffer[at] = multiple ? 1 : 0;
    this.#buffer[at + 1] = FRAME_END;
  }

  #content(channel: number, content: Content): void {
    const size = CONTENT_HEADER_FIXED_BYTES + content.properties.length;
    let at = this.#head(FRAME_HEADER, channel, size);
    const bodySize = content.body.length;
    at = this.#buffer.writeUInt32BE(CLASS_BASIC << 16, at);
    at = this.#buffer.writeUInt32BE(0, at);
    at = this.#buffer.writeUInt32BE(bodySize, at);
    this.#buffer.set(content.properties, at);
    this.#buffer[at + content.properties.length] = FRAME_END;
    const payloadMax = this.#frameMax - FRAME_OVERHEAD;
    if (bodySize <= payloadMax) {
      if (bodySize > 0) this.#frame(FRAME_BODY, channel, content.body);
      return;
    }
    for (let from = 0; from < bodySize; from += payloadMax) {
      this.#frame(FRAME_BODY, channel, content.body.subarray(from, Math.min(from + payloadMax, bodySize)));
    }
  }

  #frame(type: number, channel: number, payload: Uint8Array): void {
    if (payload.length > INLINE_BODY_BYTES_MAX) {
      this.#largeFrame(type, channel, payload);
      return;
    }
    const at = this.#head(type, channel, payload.length);
    this.#buffer.set(payload, at);
    this.#buffer[at + payload.length] = FRAME_END;
  }

  #largeFrame(type: number, channel: number, payload: Uint8Array): void {
    const at = this.#room(FRAME_HEADER_BYTES);
    this.#writeHead(at, type, channel, payload.length);
    this.#seal();
    this.#done.push(Buffer.from(payload.buffer, payload.byteOffset, payload.length));
    this.#doneBytes += payload.length;
    const endAt = this.#room(1);
    this.#buffer[endAt] = FRAME_END;
  }

  /** Room for a whole frame, its header written; returns where the payload begins. */
  #head(type: number, channel: number, size: number): number {
    const at = this.#room(size + FRAME_OVERHEAD);
    return this.#writeHead(at, type, channel, size);
  }

  #writeHead(at: number, type: number, channel: number, size: number): number {
    this.#buffer[at] = type;
    this.#buffer.writeUInt16BE(channel, at + 1);
    return this.#buffer.writeUInt32BE(size, at + 3);
  }

  #frameStart(type: number, channel: number, size: number, methodId: number): number {
    // First the room, which may change the buffer.
    const at = this.#head(type, channel, size);
    return this.#buffer.writeUInt32BE(methodId, at);
  }

  #tag(at: number, deliveryTag: number): number {
    this.#buffer.writeUInt32BE(Math.floor(deliveryTag / 0x1_0000_0000), at);
    return this.#buffer.writeUInt32BE(deliveryTag % 0x1_0000_0000, at + 4);
  }

  #room(count: number): number {
    if (this.#at + count > this.#buffer.length) {
      this.#seal();
      this.#buffer = Buffer.allocUnsafe(Math.max(this.#nextSize, count));
      this.#nextSize = Math.min(this.#nextSize * 2, BUFFER_BYTES_MAX);
      this.#start = 0;
      this.#at = 0;
    }
    const at = this.#at;
    this.#at = at + count;
    return at;
  }

  #seal(): void {
    if (this.#at === this.#start) return;
    this.#done.push(this.#buffer.subarray(this.#start, this.#at));
    this.#doneBytes += this.#at - this.#start;
    this.#start = this.#at;
  }
}
