import { gunzipSync } from 'node:zlib';
import { GrpcFault, status } from '../grpc-status.js';

/** Flag and length before each message. */
export const MESSAGE_HEAD_BYTES = 5;

/** Room made for a message before its bytes are there: a length alone costs its sender nothing. */
const FIRST_ROOM_BYTES = 256 * 1024;

export type Compression = 'identity' | 'gzip';

export interface MessageSink {
  /** One message. A view of what was pushed where that has all of it. */
  message(bytes: Buffer): void;
}

/** Cuts a body into messages, however its pieces are cut up. Throws GrpcFault; the call is to end then. */
export class MessageReader {
  readonly #sink: MessageSink;
  readonly #compression: Compression;
  readonly #maxBytes: number;
  #head = 0;
  #headBytes = 0;
  #isCompressed = false;
  #length = 0;
  #body: Buffer | undefined;
  #bodyBytes = 0;

  /** `maxBytes` bounds a message, also after decompression. */
  constructor(sink: MessageSink, compression: Compression, maxBytes: number) {
    this.#sink = sink;
    this.#compression = compression;
    this.#maxBytes = maxBytes;
  }

  /** The body ends here, in the middle of a message. */
  get isInside(): boolean {
    return this.#headBytes > 0;
  }

  /** Bytes held for a message that is not complete. */
  get heldBytes(): number {
    return this.#body?.length ?? 0;
  }

  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) {
      if (this.#headBytes < MESSAGE_HEAD_BYTES) {
        at = this.#takeHead(piece, at);
        if (this.#headBytes < MESSAGE_HEAD_BYTES) return;
        if (this.#length > 0) continue;
        this.#complete(piece.subarray(at, at));
        continue;
      }
      at = this.#takeBody(piece, at);
    }
  }

  #takeHead(piece: Buffer, start: number): number {
    let at = start;
    for (; at < piece.length && this.#headBytes < MESSAGE_HEAD_BYTES; at++) {
      const byte = piece[at] ?? 0;
      if (this.#headBytes === 0) this.#head = byte;
      else this.#length = this.#length * 0x100 + byte;
      this.#headBytes++;
    }
    if (this.#headBytes < MESSAGE_HEAD_BYTES) return at;
    if (this.#head > 1) throw new GrpcFault(status.INTERNAL, `Unknown message flag ${this.#head}`);
    this.#isCompressed = this.#head === 1;
    if (this.#isCompressed && this.#compression === 'identity') {
      throw new GrpcFault(status.INTERNAL, 'A compressed message without grpc-encoding');
    }
    if (this.#length > this.#maxBytes) throw tooLarge(this.#length, this.#maxBytes);
    return at;
  }

  #takeBody(piece: Buffer, at: number): number {
    const length = this.#length;
    let body = this.#body;
    if (body === undefined) {
      if (piece.length - at >= length) {
        this.#complete(piece.subarray(at, at + length));
        return at + length;
      }
      body = Buffer.allocUnsafeSlow(Math.min(length, FIRST_ROOM_BYTES));
      this.#bodyBytes = 0;
    }
    const taken = Math.min(length - this.#bodyBytes, piece.length - at);
    if (this.#bodyBytes + taken > body.length) {
      const room = Math.min(length, Math.max(body.length * 2, this.#bodyBytes + taken));
      const grown = Buffer.allocUnsafeSlow(room);
      body.copy(grown, 0, 0, this.#bodyBytes);
      body = grown;
    }
    this.#body = body;
    piece.copy(body, this.#bodyBytes, at, at + taken);
    this.#bodyBytes += taken;
    if (this.#bodyBytes === length) {
      this.#body = undefined;
      this.#complete(body);
    }
    return at + taken;
  }

  #complete(bytes: Buffer): void {
    this.#headBytes = 0;
    this.#length = 0;
    this.#sink.message(this.#isCompressed ? decompressed(bytes, this.#maxBytes) : bytes);
  }
}

/** Done on the spot, for messages must keep their order; the bound on the size bounds the time. */
function decompressed(bytes: Buffer, maxBytes: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (caught) {
    const isTooLarge = (caught as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooLarge) throw tooLarge(bytes.length, maxBytes);
    throw new GrpcFault(status.INTERNAL, 'Failed to decompress the message');
  }
}

function tooLarge(bytes: number, maxBytes: number): GrpcFault {
  return new GrpcFault(
    status.RESOURCE_EXHAUSTED,
    `Received message larger than max (${bytes} vs. ${maxBytes})`,
  );
}
