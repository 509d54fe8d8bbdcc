import type { UnaryCall } from '../../kit/grpc-call.js';
import type { GrpcStatus } from '../../kit/grpc-status.js';
import type { CallMetadata } from '../../kit/grpc/handlers.js';
import type { HttpExchange } from '../../kit/http-listener.js';
import type { JsonType } from '../wire/json.js';
import type { Fields } from '../wire/protobuf.js';
import { envelope, httpStatus } from './envelope.js';

export interface RestUnaryParts {
  readonly exchange: HttpExchange;
  readonly request: unknown;
  readonly metadata: CallMetadata;
  /** Undefined: the answer has no data. */
  readonly response: JsonType<Fields> | undefined;
  readonly reply: (status: number, body: string) => void;
}

/** An operation that was asked for by one HTTP request. */
export class RestUnaryCall implements UnaryCall<unknown, Record<string, unknown>> {
  readonly request: unknown;
  readonly metadata: CallMetadata;
  readonly #parts: RestUnaryParts;
  #listeners: readonly (() => void)[] = [];

  constructor(parts: RestUnaryParts) {
    this.#parts = parts;
    this.request = parts.request;
    this.metadata = parts.metadata;
  }

  on(_event: 'cancelled', listener: () => void): void {
    if (this.#listeners.length === 0) {
      this.#parts.exchange.onPeerGone(() => {
        for (const each of this.#listeners) each();
      });
    }
    this.#listeners = [...this.#listeners, listener];
  }

  off(_event: 'cancelled', listener: () => void): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener);
  }

  reply(response: Record<string, unknown>): void {
    const { response: type, reply } = this.#parts;
    reply(200, envelope(type === undefined ? null : type.toJson(response)));
  }

  fail(status: GrpcStatus): void {
    this.#parts.reply(httpStatus(status), envelope(null, status.details));
  }
}
