import { encodeRstStream, encodeWindowUpdate, writeFrameHead } from './frames.js';
import type { Http2Limits } from './limits.js';
import type { Outbox } from './outbox.js';
import {
  DEFAULT_FRAME_BYTES,
  ErrorCode,
  Flag,
  FRAME_HEAD_BYTES,
  FrameType,
  WINDOW_BYTES_MAX,
} from './protocol.js';

/** Who serves a stream. */
export interface StreamServer {
  /** A piece of the body; a view, valid during the call. `flowBytes` must be given back by `stream.consumed`. */
  onData(piece: Buffer, flowBytes: number): void;
  /** The peer sends nothing more. */
  onEnd(): void;
  /**
   * The stream is over, and nothing can be sent any more. `code` tells why when the answer is not complete: the peer reset the
   * stream, broke the protocol, or is gone. Called once.
   */
  onOver(code: number | undefined): void;
  /** What waited is sent: there is room again. Called only after `write` said no. */
  onRoom(): void;
}

/** What streams of one connection share. */
export interface StreamPort {
  readonly limits: Http2Limits;
  readonly outbox: Outbox;
  /** What the peer gives to new streams, and what is left of the whole connection's window. */
  initialSendWindow: number;
  sendWindow: number;
  /** Bytes that wait in all streams. */
  pendingBytes: number;
  /** Streams that have something to send and cannot. */
  readonly blocked: Set<Http2Stream>;
  consumed(bytes: number): void;
  /** The stream is over on our side. */
  done(stream: Http2Stream, isReset: boolean): void;
}

interface Waiting {
  bytes: Uint8Array;
  at: number;
  readonly accepted: (() => void) | undefined;
}

/** One request and its answer. */
export class Http2Stream {
  readonly id: number;
  readonly #port: StreamPort;
  server: StreamServer | undefined;
  /** The peer has sent its last byte. */
  remoteEnded = false;
  /** What the peer said its body has, less what came. */
  bodyBytesLeft: number | undefined;
  /** Nothing can be sent any more. */
  isOver = false;
  #sendWindowChange = 0;
  /** What the peer may still send, and what was consumed and not told it. */
  #receiveWindow: number;
  #unannounced = 0;
  #unconsumed = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #wasRefused = false;
  #trailers: Uint8Array | undefined;

  constructor(id: number, port: StreamPort) {
    this.id = id;
    this.#port = port;
    this.#receiveWindow = port.limits.streamWindowBytes;
  }

  /** Sends a header block; `isEnd` ends the answer with it. */
  respond(block: Uint8Array, isEnd: boolean): void {
    if (this.isOver) return;
    this.#sendHeaders(block, isEnd);
    if (isEnd) this.#finished();
  }

  /**
   * Sends `head` and `body` in order as the body of the answer. `accepted` is called when the last of it was handed to the
   * connection within the peer's windows, perhaps before this returns; not when the stream ends before. False when the
   * stream holds its fill: `onRoom` follows. `head` may be used again at once, and so may `body` when it is lent: what of it
   * cannot be sent at once is copied. Else it must not change.
   */
  write(head: Uint8Array, body: Uint8Array, accepted?: () => void, isLent = false): boolean {
    if (this.isOver) return false;
    const port = this.#port;
    const length = head.length + body.length;
    if (this.#waiting.length === 0 && length <= DEFAULT_FRAME_BYTES && length <= this.#sendable()) {
      const block = port.outbox.reserve(FRAME_HEAD_BYTES + length);
      const at = port.outbox.end - length;
      writeFrameHead(
        block,
        at - FRAME_HEAD_BYTES,
        { type: FrameType.data, flags: 0, streamId: this.id },
        length,
      );
      block.set(head, at);
      block.set(body, at + head.length);
      this.#sendWindowChange -= length;
      port.sendWindow -= length;
      accepted?.();
      return true;
    }
    if (head.length > 0) this.#waiting.push({ bytes: Buffer.from(head), at: 0, accepted: undefined });
    const waiting: Waiting = { bytes: body, at: 0, accepted };
    this.#waiting.push(waiting);
    this.#waitingBytes += length;
    port.pendingBytes += length;
    port.blocked.add(this);
    while (this.pump());
    if (isLent && waiting.at < body.length) {
      waiting.bytes = Buffer.from(body.subarray(waiting.at));
      waiting.at = 0;
    }
    const isFull = this.#waitingBytes > port.limits.streamPendingBytesMax;
    if (isFull) this.#wasRefused = true;
    return !isFull;
  }

  /** Ends the answer with trailers, or without when they are empty, after all that waits. */
  finish(trailers: Uint8Array): void {
    if (this.isOver || this.#trailers !== undefined) return;
    this.#trailers = trailers;
    if (this.#waiting.length === 0) this.#sendTrailers(trailers);
  }

  /** Ends the stream on the spot. What waits is dropped. */
  reset(code: number): void {
    if (this.isOver) return;
    this.#port.outbox.append(encodeRstStream(this.id, code));
    this.#over(code, true);
  }

  /** Gives a part of the receive windows back to the peer. */
  consumed(bytes: number): void {
    // What a stream has not consumed when it ends is given back then.
    if (bytes === 0 || this.isOver) return;
    const port = this.#port;
    this.#unconsumed -= bytes;
    port.consumed(bytes);
    this.#unannounced += bytes;
    if (this.remoteEnded || this.#unannounced * 2 < port.limits.streamWindowBytes) return;
    this.#receiveWindow += this.#unannounced;
    port.outbox.append(encodeWindowUpdate(this.id, this.#unannounced));
    this.#unannounced = 0;
  }

  /** Takes DATA from the peer. False when it is more than it may send. */
  received(bytes: number): boolean {
    this.#receiveWindow -= bytes;
    this.#unconsumed += bytes;
    return this.#receiveWindow >= 0;
  }

  /** The peer lets us send more. False when that is more than a window can be. */
  widen(bytes: number): boolean {
    this.#sendWindowChange += bytes;
    if (this.#port.initialSendWindow + this.#sendWindowChange > WINDOW_BYTES_MAX) return false;
    while (this.pump());
    return true;
  }

  /** The peer reset the stream, or the connection is gone. */
  abort(code: number): void {
    if (this.isOver) return;
    this.#over(code, false);
  }

  /** Sends one frame of what waits. False when there is none, or no window for it. */
  pump(): boolean {
    const [next] = this.#waiting;
    if (next === undefined) return false;
    const port = this.#port;
    const length = Math.min(next.bytes.length - next.at, DEFAULT_FRAME_BYTES, this.#sendable());
    if (length <= 0 && next.bytes.length > 0) return false;
    const block = port.outbox.reserve(FRAME_HEAD_BYTES);
    writeFrameHead(
      block,
      port.outbox.end - FRAME_HEAD_BYTES,
      { type: FrameType.data, flags: 0, streamId: this.id },
      length,
    );
    port.outbox.append(next.bytes.subarray(next.at, next.at + length));
    next.at += length;
    this.#sendWindowChange -= length;
    port.sendWindow -= length;
    this.#waitingBytes -= length;
    port.pendingBytes -= length;
    if (next.at === next.bytes.length) this.#sent(next);
    return !this.isOver;
  }

  #sent(done: Waiting): void {
    this.#waiting.shift();
    done.accepted?.();
    if (this.isOver || this.#waiting.length > 0) return;
    this.#port.blocked.delete(this);
    if (this.#trailers !== undefined) this.#sendTrailers(this.#trailers);
    else if (this.#wasRefused) {
      this.#wasRefused = false;
      this.server?.onRoom();
    }
  }

  /** Bytes that the windows and the socket take now. */
  #sendable(): number {
    const port = this.#port;
    if (port.outbox.pendingBytes > port.limits.socketPendingBytesMax) return 0;
    return Math.min(port.initialSendWindow + this.#sendWindowChange, port.sendWindow);
  }

  #sendTrailers(trailers: Uint8Array): void {
    if (trailers.length > 0) this.#sendHeaders(trailers, true);
    else this.#sendPart(FrameType.data, Flag.endStream, trailers);
    this.#finished();
  }

  #sendHeaders(block: Uint8Array, isEnd: boolean): void {
    const first = Math.min(block.length, DEFAULT_FRAME_BYTES);
    const isWhole = first === block.length;
    const flags = (isEnd ? Flag.endStream : 0) | (isWhole ? Flag.endHeaders : 0);
    this.#sendPart(FrameType.headers, flags, isWhole ? block : block.subarray(0, first));
    for (let at = first; at < block.length; at += DEFAULT_FRAME_BYTES) {
      const isLast = at + DEFAULT_FRAME_BYTES >= block.length;
      const part = block.subarray(at, at + DEFAULT_FRAME_BYTES);
      this.#sendPart(FrameType.continuation, isLast ? Flag.endHeaders : 0, part);
    }
  }

  #sendPart(type: number, flags: number, part: Uint8Array): void {
    const { outbox } = this.#port;
    const block = outbox.reserve(FRAME_HEAD_BYTES + part.length);
    const at = outbox.end - part.length;
    writeFrameHead(block, at - FRAME_HEAD_BYTES, { type, flags, streamId: this.id }, part.length);
    block.set(part, at);
  }

  /** The answer is complete. A peer that still sends is told to stop (RFC 9113, section 8.1). */
  #finished(): void {
    if (!this.remoteEnded) this.#port.outbox.append(encodeRstStream(this.id, ErrorCode.noError));
    this.#over(undefined, !this.remoteEnded);
  }

  #over(code: number | undefined, isReset: boolean): void {
    const port = this.#port;
    this.isOver = true;
    port.pendingBytes -= this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    port.blocked.delete(this);
    port.consumed(this.#unconsumed);
    this.#unconsumed = 0;
    port.done(this, isReset);
    this.server?.onOver(code);
  }
}
