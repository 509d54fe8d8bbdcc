import type { Client } from '../../core/access/gatekeeper.js';
import type { HttpExchange } from '../kit/http-listener.js';
import { isSecure } from '../kit/tls-gate.js';
import type { Input } from './input.js';
import type { AwsServices, Call } from './operation.js';
import { originOf } from './urls.js';
import type { OwnPlace } from './urls.js';

/** What a request needs of the endpoint while it runs. */
export interface CallHost {
  readonly place: () => OwnPlace;
  /** Runs work with a signal that fires when the client leaves or the connector drains. */
  whileConnected<T>(exchange: HttpExchange, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** What of a call the endpoint has found out. */
export type CallParts = Omit<Call, 'origin' | 'header' | 'whileConnected'>;

/**
 * A request on its way through its operation. A class, not an object with a getter: each of those would have a shape of its own, and
 * all that look into one would be slow.
 */
export class RequestCall implements Call {
  readonly services: AwsServices;
  readonly client: Client | undefined;
  readonly input: Input;
  readonly strings: readonly Buffer[] | undefined;
  readonly senderId: string;
  readonly signed: boolean;
  readonly path: string;
  readonly #host: CallHost;
  readonly #exchange: HttpExchange;

  constructor(host: CallHost, exchange: HttpExchange, parts: CallParts) {
    this.#host = host;
    this.#exchange = exchange;
    this.services = parts.services;
    this.client = parts.client;
    this.input = parts.input;
    this.strings = parts.strings;
    this.senderId = parts.senderId;
    this.signed = parts.signed;
    this.path = parts.path;
  }

  get origin(): string {
    return originOf(this.#host.place(), {
      header: (name) => this.#exchange.header(name),
      encrypted: isSecure(this.#exchange.socket),
    });
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }

  whileConnected<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#host.whileConnected(this.#exchange, work);
  }
}
