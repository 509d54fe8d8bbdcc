import type { UnaryCall } from '../../kit/grpc-call.js';
import type { CallMetadata } from '../../kit/grpc/handlers.js';
import type { GrpcStatus } from '../../kit/grpc-status.js';
import type { WholeRequest } from '../../kit/whole-request.js';
import { statusOf } from '../errors.js';
import { replyError } from './responses.js';

/** An HTTP request as the unary call that it stands for. */
export class RestCall implements UnaryCall<unknown, unknown> {
  readonly request: unknown;
  readonly metadata: CallMetadata;
  readonly #exchange: WholeRequest;
  readonly #reply: (answer: unknown) => void;
  readonly #cancelled = new Set<() => void>();

  constructor(parts: {
    readonly exchange: WholeRequest;
    readonly request: unknown;
    readonly peerName: string | undefined;
    readonly reply: (answer: unknown) => void;
  }) {
    const { exchange, request, peerName, reply } = parts;
    this.request = request;
    this.metadata = { peerName, get: (name) => exchange.header(name) };
    this.#exchange = exchange;
    this.#reply = reply;
    exchange.onPeerGone(() => {
      for (const listener of this.#cancelled) listener();
    });
  }

  on(_event: 'cancelled', listener: () => void): void {
    this.#cancelled.add(listener);
  }

  off(_event: 'cancelled', listener: () => void): void {
    this.#cancelled.delete(listener);
  }

  reply(answer: unknown): void {
    try {
      this.#reply(answer);
    } catch (caught) {
      this.fail(statusOf(caught));
    }
  }

  fail(status: GrpcStatus): void {
    replyError(this.#exchange, status);
  }
}
