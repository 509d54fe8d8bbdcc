import type { CallMetadata } from '../../kit/grpc/handlers.js';
import type { HttpExchange } from '../../kit/http-listener.js';

/** Who sends an HTTP request, as operations look at it. */
export class RestMetadata implements CallMetadata {
  readonly peerName: string | undefined;
  readonly #exchange: HttpExchange;

  constructor(exchange: HttpExchange, peerName: string | undefined) {
    this.#exchange = exchange;
    this.peerName = peerName;
  }

  get(name: string): string | undefined {
    const value = this.#exchange.header(name);
    // The name that old clients send their token under.
    return value ?? (name === 'authorization' ? this.#exchange.header('x-kubemq-server-token') : undefined);
  }
}
