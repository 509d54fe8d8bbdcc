import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/** Status of a peer that sends what it must not (RFC 6455, section 7.4.1). */
const UNSUPPORTED_DATA = 1003;
const NORMAL_CLOSURE = 1000;

/** The bytes in a WebSocket's binary messages as one stream: where a message ends means nothing to AMQP. */
export class WebSocketStream extends Duplex {
  readonly #socket: WebSocket;
  bytesRead = 0;
  bytesWritten = 0;

  constructor(socket: WebSocket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on('message', (data: RawData, isBinary: boolean) => this.#onMessage(data, isBinary));
    socket.once('close', () => {
      this.push(null);
      this.destroy();
    });
    // The close event follows.
    socket.on('error', () => undefined);
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    if (!isBinary) {
      this.#socket.close(UNSUPPORTED_DATA, 'binary messages only');
      return;
    }
    const bytes = Array.isArray(data)
      ? Buffer.concat(data)
      : data instanceof ArrayBuffer
        ? Buffer.from(data)
        : data;
    this.bytesRead += bytes.length;
    if (!this.push(bytes)) this.#socket.pause();
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk, done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  #send(bytes: Buffer, done: (error?: Error | null) => void): void {
    this.bytesWritten += bytes.length;
    this.#socket.send(bytes, { binary: true, compress: false }, done);
  }

  override _final(done: () => void): void {
    this.#socket.close(NORMAL_CLOSURE);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // What was sent and closed properly ends by itself.
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.terminate();
    done(error);
  }
}
