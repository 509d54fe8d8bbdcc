import { erlangBinary } from './erlang-terms.js';
import {
  CONTENT_HEADER_FIXED_BYTES,
  FRAME_BODY,
  FRAME_END,
  FRAME_HEADER,
  FRAME_HEADER_BYTES,
  FRAME_HEARTBEAT,
  FRAME_METHOD,
  FRAME_MIN_SIZE,
  FRAME_OVERHEAD,
  METHOD_ID_BYTES,
} from './frames.js';
import { ReplyError } from './reply.js';

const NO_BYTES = new Uint8Array(0);
/** So much of a faulty frame is told. */
const SHOWN_BYTES = 16;

/** Receives frames as they are found; payloads are ranges of buffers that stay valid. */
export interface FrameSink {
  onMethodFrame(channel: number, buffer: Buffer, start: number, end: number): void;
  onHeaderFrame(channel: number, buffer: Buffer, start: number, end: number): void;
  /** A piece of a body frame's payload; `last` comes with its final piece, after the frame's end octet was checked. */
  onBodyPiece(channel: number, buffer: Buffer, start: number, end: number, last: boolean): void;
  onHeartbeatFrame(channel: number): void;
}

/**
 * Cuts a byte stream into frames. Method and header frames that arrive in parts are joined; body frames are passed on
 * piece by piece, so that a body is never copied here. Throws ReplyError on the first fault and must not be used after.
 */
export class FrameParser {
  readonly #sink: FrameSink;
  #payloadMax = FRAME_MIN_SIZE;

  /** A frame header that has come in part. */
  readonly #head = Buffer.alloc(FRAME_HEADER_BYTES);
  #headFilled = 0;

  /** A method, header or heartbeat frame that has come in part: its payload and end octet. */
  #partial: Buffer | undefined;
  #partialFilled = 0;

  #type = 0;
  #channel = 0;
  /** Payload bytes of the current body frame still to come; its end octet follows when `#inBody`. */
  #bodyLeft = 0;
  #inBody = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /**
   * Sets the largest frame. As RabbitMQ does, a payload may fill it whole: clients that forget the 8 bytes of overhead
   * exist.
   */
  setFrameMax(frameMax: number): void {
    this.#payloadMax = frameMax;
  }

  push(chunk: Buffer): void {
    let at = 0;
    if (this.#headFilled > 0 || this.#partial !== undefined || this.#inBody) at = this.#resume(chunk);
    const end = chunk.length;
    while (end - at >= FRAME_HEADER_BYTES) {
      const type = chunk.readUInt8(at);
      const channel = chunk.readUInt16BE(at + 1);
      const size = chunk.readUInt32BE(at + 3);
      const next = at + size + FRAME_OVERHEAD;
      if (next > end) {
        this.#begin(type, channel, size);
        at = this.#resumeBegun(chunk, at + FRAME_HEADER_BYTES);
        continue;
      }
      this.#check(type, size);
      if (chunk[next - 1] !== FRAME_END) {
        throw badEnd(type, chunk.subarray(at + FRAME_HEADER_BYTES, next - 1), chunk[next - 1]);
      }
      this.#emit(type, channel, chunk, at + FRAME_HEADER_BYTES, next - 1);
      at = next;
    }
    if (at < end) this.#headFilled += chunk.copy(this.#head, this.#headFilled, at, end);
  }

  /** Goes on with what the last chunk left open; returns where the next whole frame begins. */
  #resume(chunk: Buffer): number {
    if (this.#headFilled === 0) return this.#resumeBegun(chunk, 0);
    const taken = chunk.copy(this.#head, this.#headFilled, 0, FRAME_HEADER_BYTES - this.#headFilled);
    this.#headFilled += taken;
    if (this.#headFilled < FRAME_HEADER_BYTES) return taken;
    this.#headFilled = 0;
    this.#begin(this.#head.readUInt8(0), this.#head.readUInt16BE(1), this.#head.readUInt32BE(3));
    return this.#resumeBegun(chunk, taken);
  }

  #begin(type: number, channel: number, size: number): void {
    this.#check(type, size);
    this.#type = type;
    this.#channel = channel;
    if (type === FRAME_BODY) {
      this.#inBody = true;
      this.#bodyLeft = size;
    } else {
      this.#partial = Buffer.allocUnsafe(size + 1);
      this.#partialFilled = 0;
    }
  }

  #resumeBegun(chunk: Buffer, from: number): number {
    return this.#inBody ? this.#resumeBody(chunk, from) : this.#resumePartial(chunk, from);
  }

  #resumePartial(chunk: Buffer, from: number): number {
    const partial = this.#partial;
    if (partial === undefined) return from;
    const taken = chunk.copy(partial, this.#partialFilled, from);
    this.#partialFilled += taken;
    if (this.#partialFilled < partial.length) return from + taken;
    this.#partial = undefined;
    const size = partial.length - 1;
    if (partial[size] !== FRAME_END) throw badEnd(this.#type, partial.subarray(0, size), partial[size]);
    this.#emit(this.#type, this.#channel, partial, 0, size);
    return from + taken;
  }

  #resumeBody(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#bodyLeft);
    this.#bodyLeft -= end - from;
    const closes = this.#bodyLeft === 0 && end < chunk.length;
    if (closes && chunk[end] !== FRAME_END) throw badEnd(FRAME_BODY, chunk.subarray(from, end), chunk[end]);
    if (closes) this.#inBody = false;
    if (end > from || closes) this.#sink.onBodyPiece(this.#channel, chunk, from, end, closes);
    return closes ? end + 1 : end;
  }

  #check(type: number, size: number): void {
    if (size > this.#payloadMax) {
      const largest = this.#payloadMax - FRAME_OVERHEAD;
      throw frameError(type, NO_BYTES, `{frame_too_large,${String(size)},${String(largest)}}`);
    }
  }

  #emit(type: number, channel: number, buffer: Buffer, start: number, end: number): void {
    if (!hasForm(type, end - start)) throw frameError(type, buffer.subarray(start, end), 'unknown_frame');
    switch (type) {
      case FRAME_METHOD:
        this.#sink.onMethodFrame(channel, buffer, start, end);
        return;
      case FRAME_HEADER:
        this.#sink.onHeaderFrame(channel, buffer, start, end);
        return;
      case FRAME_BODY:
        this.#sink.onBodyPiece(channel, buffer, start, end, true);
        return;
      default:
        this.#sink.onHeartbeatFrame(channel);
    }
  }
}

/** Whether there are frames of that type with so large a payload. */
function hasForm(type: number, size: number): boolean {
  switch (type) {
    case FRAME_METHOD:
      return size >= METHOD_ID_BYTES;
    case FRAME_HEADER:
      return size >= CONTENT_HEADER_FIXED_BYTES;
    case FRAME_BODY:
      return true;
    case FRAME_HEARTBEAT:
      return size === 0;
    default:
      return false;
  }
}

function badEnd(type: number, payload: Uint8Array, found: number | undefined): ReplyError {
  return frameError(type, payload, `{invalid_frame_end_marker,${String(found)}}`);
}

/** RabbitMQ's text: what the frame began with, and what is wrong with it. */
function frameError(type: number, payload: Uint8Array, what: string): ReplyError {
  const all = payload.length <= SHOWN_BYTES;
  const octets = `${all ? 'all' : `first ${String(SHOWN_BYTES)}`} octets`;
  const shown = erlangBinary(payload.subarray(0, SHOWN_BYTES));
  return new ReplyError(501, `type ${String(type)}, ${octets} = ${shown}: ${what}`);
}
