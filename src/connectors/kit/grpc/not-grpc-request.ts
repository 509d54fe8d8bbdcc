import type { Http2Stream, StreamServer } from '../http2/stream.js';
import { plainHeaders } from './header-blocks.js';

const UNSUPPORTED_MEDIA_TYPE = 415;
const TEXT = Buffer.from('This port speaks gRPC.\n');
const NO_BYTES = new Uint8Array(0);
/** Of a longer body the end is not waited for. */
const BODY_BYTES_MAX = 1024 * 1024;

/** A request over HTTP/2 that is no gRPC: its body is thrown away, and it is told what this port is. */
export class NotGrpcRequest implements StreamServer {
  readonly #stream: Http2Stream;
  #bodyBytes = 0;

  constructor(stream: Http2Stream) {
    this.#stream = stream;
  }

  onData(piece: Buffer, flowBytes: number): void {
    this.#stream.consumed(flowBytes);
    this.#bodyBytes += piece.length;
    if (this.#bodyBytes > BODY_BYTES_MAX) this.onEnd();
  }

  onEnd(): void {
    this.#stream.respond(plainHeaders(UNSUPPORTED_MEDIA_TYPE, TEXT.length), false);
    this.#stream.write(NO_BYTES, TEXT);
    this.#stream.finish(NO_BYTES);
  }

  onOver(): void {
    // Nothing is held.
  }

  onRoom(): void {
    // Nothing more is written.
  }
}
