import { deferred, type Deferred } from '../../base/deferred.js';
import { BrokerError } from '../../core/errors.js';
import type { BusStream } from '../contract.js';

/** Bytes a side may send before the other took something. */
export const STREAM_WINDOW_BYTES = 1 << 20;
/** Bytes of one chunk. */
export const STREAM_CHUNK_BYTES_MAX = 16 << 20;

export interface StreamWire {
  /** Sends a chunk, in as many frames as it takes. */
  data(chunk: Uint8Array): Promise<void>;
  credit(bytes: number): void;
  end(): void;
  /** Both sides have ended, or it failed. */
  closed(error: BrokerError | undefined): void;
}

/**
 * One end of a stream. Chunks keep their borders. A writer may pass the window by one chunk, so that a chunk larger than the
 * window passes at all; a reader holds a window and a chunk at most.
 */
export class NatsBusStream implements BusStream {
  readonly #wire: StreamWire;
  #room = STREAM_WINDOW_BYTES;
  readonly #chunks: Uint8Array[] = [];
  #parts: Uint8Array[] = [];
  #held = 0;
  #reader: Deferred<Uint8Array | undefined> | undefined;
  #roomWaiters: (() => void)[] = [];
  #endedHere = false;
  #endedThere = false;
  #failure: BrokerError | undefined;

  constructor(wire: StreamWire) {
    this.#wire = wire;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (chunk.byteLength > STREAM_CHUNK_BYTES_MAX)
      throw new BrokerError('limit', `a chunk of a stream is at most ${STREAM_CHUNK_BYTES_MAX} bytes`);
    while (this.#room <= 0 && this.#failure === undefined) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#endedHere) throw new BrokerError('precondition', 'the stream was ended');
    this.#room -= chunk.byteLength;
    await this.#wire.data(chunk);
  }

  async read(): Promise<Uint8Array | undefined> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#held -= chunk.byteLength;
      if (this.#failure === undefined && !this.#endedThere) this.#wire.credit(chunk.byteLength);
      return chunk;
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#endedThere) return undefined;
    if (this.#reader !== undefined) throw new BrokerError('precondition', 'the stream is being read already');
    this.#reader = deferred();
    return this.#reader.promise;
  }

  end(): void {
    if (this.#endedHere || this.#failure !== undefined) return;
    this.#endedHere = true;
    this.#wire.end();
    this.#closeWhenDone();
  }

  abort(): void {
    this.fail(new BrokerError('unavailable', 'the stream was given up'));
  }

  /** A part of a chunk came. */
  arrived(part: Uint8Array, last: boolean): void {
    if (this.#failure !== undefined) return;
    this.#held += part.byteLength;
    if (this.#held > STREAM_WINDOW_BYTES + STREAM_CHUNK_BYTES_MAX) {
      this.fail(new BrokerError('limit', 'the peer sends more than it has credit for'));
      return;
    }
    this.#parts.push(part);
    if (!last) return;
    const chunk = this.#parts.length === 1 ? part : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#chunks.push(chunk);
    if (this.#reader === undefined) return;
    const reader = this.#reader;
    this.#reader = undefined;
    this.read().then(reader.resolve, reader.reject);
  }

  credited(bytes: number): void {
    this.#room += bytes;
    if (this.#room > 0) this.#wakeWriters();
  }

  peerEnded(): void {
    this.#endedThere = true;
    if (this.#chunks.length === 0) {
      this.#reader?.resolve(undefined);
      this.#reader = undefined;
    }
    this.#closeWhenDone();
  }

  fail(error: BrokerError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#reader?.reject(error);
    this.#reader = undefined;
    this.#wakeWriters();
    this.#wire.closed(error);
  }

  #closeWhenDone(): void {
    if (this.#endedHere && this.#endedThere) this.#wire.closed(undefined);
  }

  #wakeWriters(): void {
    const waiters = this.#roomWaiters;
    this.#roomWaiters = [];
    for (const wake of waiters) wake();
  }
}
