import { ConnectionError, ErrorCode, Flag, FRAME_HEAD_BYTES, FrameType } from './protocol.js';

/** What a parser finds, in order. Whatever these throw comes out of `push`. */
export interface FrameSink {
  /**
   * A piece of a DATA frame, as soon as it is there. `flowBytes` is what it takes of the windows (padding counts); `isEnd` is
   * true on the last piece of a frame with END_STREAM. The view is valid during the call; keeping it keeps the whole read.
   */
  data(streamId: number, piece: Buffer, flowBytes: number, isEnd: boolean): void;
  /** A whole frame of any other kind, unknown ones too. The same holds for `payload`. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Cuts what a peer sends into frames (RFC 9113, section 4.1), however the bytes are cut up. Holds one frame at most, and
 * nothing of a DATA frame without padding. Throws ConnectionError on a frame above the limit or a wrongly padded one.
 */
export class FrameParser {
  readonly #sink: FrameSink;
  readonly #frameBytesMax: number;
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Of a DATA frame: what is still to come. */
  #dataLeft = 0;
  /** Of another frame that came in part. */
  #payload: Buffer | undefined;
  #payloadBytes = 0;

  constructor(sink: FrameSink, frameBytesMax: number) {
    this.#sink = sink;
    this.#frameBytesMax = frameBytesMax;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#dataLeft > 0) at = this.#takeData(chunk, at);
      else if (this.#payload !== undefined) at = this.#takePayload(chunk, at, this.#payload);
      else at = this.#takeHead(chunk, at);
    }
  }

  #takeHead(chunk: Buffer, start: number): number {
    let head = chunk;
    let at = start;
    let next = start + FRAME_HEAD_BYTES;
    if (this.#headBytes > 0 || next > chunk.length) {
      const taken = Math.min(FRAME_HEAD_BYTES - this.#headBytes, chunk.length - start);
      chunk.copy(this.#head, this.#headBytes, start, start + taken);
      this.#headBytes += taken;
      next = start + taken;
      if (this.#headBytes < FRAME_HEAD_BYTES) return next;
      this.#headBytes = 0;
      head = this.#head;
      at = 0;
    }
    const length = byte(head, at) * 0x1_0000 + byte(head, at + 1) * 0x100 + byte(head, at + 2);
    this.#type = byte(head, at + 3);
    this.#flags = byte(head, at + 4);
    this.#streamId = uint31(head, at + 5);
    if (length > this.#frameBytesMax) {
      throw new ConnectionError(ErrorCode.frameSizeError, `frame of ${length} bytes`);
    }
    if (this.#type === FrameType.data && (this.#flags & Flag.padded) === 0) {
      if (length === 0) this.#sink.data(this.#streamId, NO_BYTES, 0, (this.#flags & Flag.endStream) !== 0);
      this.#dataLeft = length;
      return next;
    }
    if (chunk.length - next >= length) {
      this.#whole(chunk.subarray(next, next + length));
      return next + length;
    }
    this.#payload = Buffer.allocUnsafe(length);
    this.#payloadBytes = 0;
    return next;
  }

  #takeData(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#dataLeft, chunk.length - at);
    this.#dataLeft -= taken;
    const isEnd = this.#dataLeft === 0 && (this.#flags & Flag.endStream) !== 0;
    this.#sink.data(this.#streamId, chunk.subarray(at, at + taken), taken, isEnd);
    return at + taken;
  }

  #takePayload(chunk: Buffer, at: number, payload: Buffer): number {
    const taken = Math.min(payload.length - this.#payloadBytes, chunk.length - at);
    chunk.copy(payload, this.#payloadBytes, at, at + taken);
    this.#payloadBytes += taken;
    if (this.#payloadBytes === payload.length) {
      this.#payload = undefined;
      this.#whole(payload);
    }
    return at + taken;
  }

  #whole(payload: Buffer): void {
    if (this.#type !== FrameType.data) {
      this.#sink.frame(this.#type, this.#flags, this.#streamId, payload);
      return;
    }
    const isEnd = (this.#flags & Flag.endStream) !== 0;
    this.#sink.data(this.#streamId, withoutPadding(payload, this.#flags), payload.length, isEnd);
  }
}

/** What a DATA or HEADERS frame carries apart from padding (section 6.1). */
export function withoutPadding(payload: Buffer, flags: number): Buffer {
  if ((flags & Flag.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined) throw new ConnectionError(ErrorCode.frameSizeError, 'no room for padding');
  if (padding >= payload.length) {
    throw new ConnectionError(ErrorCode.protocolError, 'padding longer than its frame');
  }
  return payload.subarray(1, payload.length - padding);
}

function byte(bytes: Buffer, at: number): number {
  return bytes[at] ?? 0;
}

/** Four bytes as a number. */
export function uint32(bytes: Buffer, at: number): number {
  return (
    byte(bytes, at) * 0x100_0000 +
    byte(bytes, at + 1) * 0x1_0000 +
    byte(bytes, at + 2) * 0x100 +
    byte(bytes, at + 3)
  );
}

/** Four bytes without the reserved bit. */
export function uint31(bytes: Buffer, at: number): number {
  return (
    (byte(bytes, at) & 0x7f) * 0x100_0000 +
    byte(bytes, at + 1) * 0x1_0000 +
    byte(bytes, at + 2) * 0x100 +
    byte(bytes, at + 3)
  );
}

/** A frame without its payload. */
export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
}

/** Writes a frame's head at a place; returns where its payload begins. */
export function writeFrameHead(to: Buffer, at: number, head: FrameHead, length: number): number {
  to[at] = length >>> 16;
  to[at + 1] = length >>> 8;
  to[at + 2] = length;
  to[at + 3] = head.type;
  to[at + 4] = head.flags;
  return writeUint32(to, at + 5, head.streamId);
}

/** Writes four bytes; returns the place after them. */
export function writeUint32(to: Buffer, at: number, value: number): number {
  to[at] = value >>> 24;
  to[at + 1] = value >>> 16;
  to[at + 2] = value >>> 8;
  to[at + 3] = value;
  return at + 4;
}

/** A whole frame. */
export function encodeFrame(head: FrameHead, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  frame.set(payload, writeFrameHead(frame, 0, head, payload.length));
  return frame;
}

/** Section 6.5. */
export function encodeSettings(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  });
  return encodeFrame({ type: FrameType.settings, flags: 0, streamId: 0 }, payload);
}

export const SETTINGS_ACK = encodeFrame({ type: FrameType.settings, flags: Flag.ack, streamId: 0 }, NO_BYTES);

/** Section 6.7. `payload` has eight bytes. */
export function encodePing(payload: Uint8Array, isAck: boolean): Buffer {
  return encodeFrame({ type: FrameType.ping, flags: isAck ? Flag.ack : 0, streamId: 0 }, payload);
}

/** Section 6.8. `debug` is ASCII. */
export function encodeGoaway(lastStreamId: number, code: number, debug: string): Buffer {
  const payload = Buffer.alloc(8 + debug.length);
  writeUint32(payload, writeUint32(payload, 0, lastStreamId), code);
  payload.write(debug, 8, 'latin1');
  return encodeFrame({ type: FrameType.goaway, flags: 0, streamId: 0 }, payload);
}

/** Section 6.4. */
export function encodeRstStream(streamId: number, code: number): Buffer {
  return numberFrame(FrameType.rstStream, streamId, code);
}

/** Section 6.9. */
export function encodeWindowUpdate(streamId: number, bytes: number): Buffer {
  return numberFrame(FrameType.windowUpdate, streamId, bytes);
}

function numberFrame(type: number, streamId: number, value: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + 4);
  writeUint32(frame, writeFrameHead(frame, 0, { type, flags: 0, streamId }, 4), value);
  return frame;
}
