import { BrokerError, type ErrorKind } from '../../core/errors.js';
import type { GrpcStatus, StatusCode } from './grpc-status.js';
import type { StreamCallEvent } from './grpc/handlers.js';

export type {
  AnyHandler,
  BidiCall,
  BidiHandler,
  ServerStreamCall,
  ServiceHandlers,
  UnaryCall,
  UnaryHandler,
} from './grpc/handlers.js';

/** A connector's whole mapping from error kinds to gRPC status codes. */
export type GrpcErrorTable = Readonly<Record<ErrorKind, StatusCode>>;

/** Whatever was caught, as a status by the connector's table. A cause never reaches the wire. */
export function grpcStatus(caught: unknown, table: GrpcErrorTable): GrpcStatus {
  const error = BrokerError.from(caught);
  return { code: table[error.kind], details: error.message };
}

/** The writing side of a call that streams answers. */
export interface WritableCall<T> {
  write(message: T, accepted?: () => void): boolean;
  end(): void;
  fail(status: GrpcStatus): void;
  on(event: StreamCallEvent, listener: () => void): unknown;
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
  readonly #onEnd = new Set<(open: boolean) => void>();

  constructor(call: WritableCall<T>) {
    this.#call = call;
    call.on('drain', () => {
      this.#full = false;
      this.#wake();
    });
    for (const event of ['cancelled', 'close'] as const) {
      call.on(event, () => this.#over());
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

  /** Ends the call with OK once everything written is out; nothing can be written any more. */
  end(): void {
    if (this.#ended) return;
    this.#over();
    this.#call.end();
  }

  /** Ends the call with an error. */
  fail(status: GrpcStatus): void {
    if (this.#ended) return;
    this.#over();
    this.#call.fail(status);
  }

  /**
   * Writes messages in order, as room allows. True when the last of them (and so all) was handed to the connection within
   * the peer's flow control; false when the call ended before.
   */
  async deliver(messages: readonly T[]): Promise<boolean> {
    const last = messages.length - 1;
    for (const [index, message] of messages.entries()) {
      if (!(await this.ready())) return false;
      if (index === last) return this.#handOver(message);
      this.write(message);
    }
    return !this.#ended;
  }

  #handOver(message: T): Promise<boolean> {
    return new Promise((resolve) => {
      // Waiters are woken by room too, so only the end is taken from there.
      this.#onEnd.add(resolve);
      const accepted = (): void => {
        this.#onEnd.delete(resolve);
        resolve(!this.#ended);
      };
      if (!this.#call.write(message, accepted)) this.#full = true;
    });
  }

  /** True as soon as the peer takes more; false when the call is over. */
  ready(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    if (!this.#full) return Promise.resolve(true);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #over(): void {
    this.#ended = true;
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter(!this.#ended);
    if (!this.#ended) return;
    for (const end of this.#onEnd) end(false);
    this.#onEnd.clear();
  }
}
