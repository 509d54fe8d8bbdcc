import { CLASS_BASIC, CONTENT_HEADER_FIXED_BYTES } from './frames.js';
import type { FrameSink } from './frame-parser.js';
import { decodeMethod } from './method-codec.js';
import type { Method, MethodArgs } from './methods.js';
import { shapeOf } from './methods.js';
import { ReplyError } from './reply.js';

/** The method of a publish: its arguments, and exchange and key as they stood on the wire. */
export interface PublishMethod {
  readonly args: MethodArgs<'basic.publish'>;
  /** Exchange and routing key as two short strings, verbatim. */
  readonly route: Buffer;
}

/** Receives whole commands. `properties` (flags and list) and `body` may be views of larger buffers. */
export interface CommandSink {
  onMethod(channel: number, method: Method): void;
  /** `properties` is the same object as last time when its bytes are the same. */
  onPublish(channel: number, publish: PublishMethod, properties: Buffer, body: Buffer): void;
  /** A body larger than the limit ended; nothing of it was kept. */
  onOversize(channel: number, publish: PublishMethod, size: number): void;
  /** A frame that is malformed or out of order, as a ReplyError. At most once. */
  onFault(caught: unknown): void;
}

/** A publish whose header or body is still to come. */
interface PendingContent {
  readonly publish: PublishMethod;
  properties: Buffer | undefined;
  size: number;
  received: number;
  pieces: Buffer[] | undefined;
}

/** Bodies of the largest size that one connection may have under way at once, on several channels. */
const HELD_BODIES_MAX = 2;

const PUBLISH_ID = 0x003c0028;

/**
 * Joins frames to commands: a method, or basic.publish with its header and body. Keeps the state between the frames of
 * each channel and refuses frames that come out of order (505). Publishes that repeat the previous one's method bytes or
 * property bytes share one decoded object, so that a steady stream is decoded once.
 */
export class CommandReader implements FrameSink {
  readonly #sink: CommandSink;
  readonly #bodyMax: number;
  readonly #pending = new Map<number, PendingContent>();
  #failed = false;
  /** Bytes of bodies whose rest is still to come. */
  #heldBytes = 0;
  #lastPublishBytes: Buffer = Buffer.alloc(0);
  #lastPublish: PublishMethod | undefined;
  #lastProperties: Buffer = Buffer.alloc(0);

  /** `bodyMax`: bytes of the largest body that is kept. */
  constructor(sink: CommandSink, bodyMax: number) {
    this.#sink = sink;
    this.#bodyMax = bodyMax;
  }

  onMethodFrame(channel: number, buffer: Buffer, start: number, end: number): void {
    try {
      if (this.#failed && channel !== 0) return;
      this.#methodFrame(channel, buffer, start, end);
    } catch (caught) {
      this.#fail(caught);
    }
  }

  onHeaderFrame(channel: number, buffer: Buffer, start: number, end: number): void {
    if (this.#failed) return;
    try {
      this.#headerFrame(channel, buffer, start, end);
    } catch (caught) {
      this.#fail(caught);
    }
  }

  onBodyPiece(channel: number, buffer: Buffer, start: number, end: number, last: boolean): void {
    if (this.#failed) return;
    try {
      this.#bodyPiece(channel, buffer.subarray(start, end), last);
    } catch (caught) {
      this.#fail(caught);
    }
  }

  onHeartbeatFrame(channel: number): void {
    if (channel !== 0) this.#fail(new ReplyError(505, 'type 8, all octets = <<>>'));
  }

  /** Reports the first fault; from then on only methods of the connection itself are passed on (its close-ok). */
  #fail(caught: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#pending.clear();
    this.#sink.onFault(caught);
  }

  #methodFrame(channel: number, buffer: Buffer, start: number, end: number): void {
    if (this.#pending.size > 0) this.#refuseMethodInContent(channel);
    if (end - start >= 4 && buffer.readUInt32BE(start) === PUBLISH_ID && channel !== 0) {
      const publish = this.#publishMethod(buffer, start, end);
      this.#pending.set(channel, { publish, properties: undefined, size: 0, received: 0, pieces: undefined });
      return;
    }
    this.#sink.onMethod(channel, decodeMethod(buffer, start, end));
  }

  #headerFrame(channel: number, buffer: Buffer, start: number, end: number): void {
    const pending = this.#pending.get(channel);
    if (pending === undefined)
      throw new ReplyError(505, 'expected method frame, got non method frame instead');
    if (pending.properties !== undefined) {
      throw outOfOrder('expected content body, got non content body frame instead');
    }
    if (end - start < CONTENT_HEADER_FIXED_BYTES + 2)
      throw new ReplyError(501, 'content header frame too short');
    const classId = buffer.readUInt16BE(start);
    if (classId !== CLASS_BASIC) {
      throw outOfOrder(`expected content header for class 60, got one for class ${String(classId)} instead`);
    }
    if (buffer.readUInt16BE(start + 2) !== 0) throw outOfOrder('content header with a weight');
    pending.size = buffer.readUInt32BE(start + 4) * 0x1_0000_0000 + buffer.readUInt32BE(start + 8);
    pending.properties = this.#propertyBytes(buffer, start + CONTENT_HEADER_FIXED_BYTES, end);
    if (pending.size === 0) this.#complete(channel, pending, pending.properties, Buffer.alloc(0));
  }

  #bodyPiece(channel: number, piece: Buffer, last: boolean): void {
    const pending = this.#pending.get(channel);
    if (pending === undefined)
      throw new ReplyError(505, 'expected method frame, got non method frame instead');
    const properties = pending.properties;
    if (properties === undefined) {
      throw outOfOrder('expected content header for class 60, got non content header frame instead');
    }
    pending.received += piece.length;
    if (pending.received > pending.size) throw new ReplyError(501, 'more body than its header declared');
    const done = last && pending.received === pending.size;
    if (pending.size > this.#bodyMax) {
      if (done) this.#discard(channel, pending);
      return;
    }
    if (done && pending.pieces === undefined) {
      this.#complete(channel, pending, properties, piece);
      return;
    }
    pending.pieces ??= [];
    if (piece.length > 0) pending.pieces.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > this.#bodyMax * HELD_BODIES_MAX) {
      throw new ReplyError(506, 'too many large contents in parts at once');
    }
    if (done) this.#complete(channel, pending, properties, Buffer.concat(pending.pieces, pending.size));
  }

  #refuseMethodInContent(channel: number): void {
    const pending = this.#pending.get(channel);
    if (pending === undefined) return;
    throw outOfOrder(
      pending.properties === undefined
        ? 'expected content header for class 60, got non content header frame instead'
        : 'expected content body, got non content body frame instead',
    );
  }

  #complete(channel: number, pending: PendingContent, properties: Buffer, body: Buffer): void {
    this.#pending.delete(channel);
    if (pending.pieces !== undefined) this.#heldBytes -= pending.received;
    this.#sink.onPublish(channel, pending.publish, properties, body);
  }

  #discard(channel: number, pending: PendingContent): void {
    this.#pending.delete(channel);
    this.#sink.onOversize(channel, pending.publish, pending.size);
  }

  #publishMethod(buffer: Buffer, start: number, end: number): PublishMethod {
    if (this.#lastPublish !== undefined && sameBytes(this.#lastPublishBytes, buffer, start, end))
      return this.#lastPublish;
    const method = decodeMethod(buffer, start, end);
    if (method.name !== 'basic.publish') throw new ReplyError(505, 'expected basic.publish');
    const bytes = Buffer.from(buffer.subarray(start, end));
    this.#lastPublishBytes = bytes;
    // Class, method and ticket before, the octet of bits behind.
    this.#lastPublish = { args: method.args, route: bytes.subarray(6, bytes.length - 1) };
    return this.#lastPublish;
  }

  #propertyBytes(buffer: Buffer, start: number, end: number): Buffer {
    if (!sameBytes(this.#lastProperties, buffer, start, end)) {
      // A copy, so that a stored message does not hold a whole read's buffer through its properties.
      this.#lastProperties = Buffer.from(buffer.subarray(start, end));
    }
    return this.#lastProperties;
  }
}

/** A frame of a publish that is not the one due. */
function outOfOrder(explanation: string): ReplyError {
  return new ReplyError(505, explanation, { culprit: shapeOf('basic.publish') });
}

/** Whether `known` is what `buffer` holds in the range. Compared from the end, where keys and ids differ first. */
function sameBytes(known: Buffer, buffer: Buffer, start: number, end: number): boolean {
  const length = known.length;
  if (length !== end - start) return false;
  if (length > COMPARE_BYTES_MAX) return known.compare(buffer, start, end) === 0;
  for (let i = length - 1; i >= 0; i--) {
    if (known[i] !== buffer[start + i]) return false;
  }
  return true;
}

/** Above this, the call into native code is cheaper than the loop. */
const COMPARE_BYTES_MAX = 128;
