import type { Metadata, status } from '@grpc/grpc-js';
import { BrokerError, type ErrorKind } from '../../core/errors.js';

/** A connector's whole mapping from error kinds to gRPC status codes. */
export type GrpcErrorTable = Readonly<Record<ErrorKind, status>>;

/** What ends a call with an error: give it to a unary callback, or to `failCall`. */
export interface GrpcStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata?: Metadata;
}

/** Whatever was caught, as a status by the connector's table. A cause never reaches the wire. */
export function grpcStatus(caught: unknown, table: GrpcErrorTable): GrpcStatus {
  const error = BrokerError.from(caught);
  return { code: table[error.kind], details: error.message };
}

/** The part of grpc-js's server streams that this file needs. */
export interface ServerStream {
  emit(event: 'error', status: GrpcStatus): boolean;
}

/** Ends a server or bidi stream with a status. */
export function failCall(call: ServerStream, status: GrpcStatus): void {
  call.emit('error', status);
}

/** The writing side of grpc-js's server and bidi streams. */
export interface WritableCall<T> {
  write(message: T): boolean;
  on(event: 'drain' | 'cancelled' | 'close' | 'finish', listener: () => void): unknown;
}

/**
 * Flow-controlled writing to one stream: `write` queues at once; `ready` resolves when the peer has room again, so a slow
 * reader stops its producer instead of filling memory.
 */
export class FlowWriter<T> {
  readonly #call: WritableCall<T>;
  #full = false;
  #ended = false;
  #waiters: ((open: boolean) => void)[] = [];

  constructor(call: WritableCall<T>) {
    this.#call = call;
    call.on('drain', () => {
      this.#full = false;
      this.#wake();
    });
    for (const event of ['cancelled', 'close', 'finish'] as const) {
      call.on(event, () => {
        this.#ended = true;
        this.#wake();
      });
    }
  }

  /** The call is over; nothing can be written any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the peer takes more now. */
  get open(): boolean {
    return !this.#full && !this.#ended;
  }

  /** Queues a message; false when the call is over and the message was not taken. */
  write(message: T): boolean {
    if (this.#ended) return false;
    if (!this.#call.write(message)) this.#full = true;
    return true;
  }

  /** True as soon as the peer takes more; false when the call is over. */
  ready(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    if (!this.#full) return Promise.resolve(true);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter(!this.#ended);
  }
}
