import type { HttpExchange } from '../../kit/http-listener.js';
import type { RestConfig } from './config.js';

/** Answers what browsers ask before they let a page call another origin (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export class Cors {
  readonly #config: RestConfig;
  readonly #origins: ReadonlySet<string>;

  constructor(config: RestConfig) {
    this.#config = config;
    this.#origins = new Set(
      config.corsAllowOrigins
        .split(',')
        .map((origin) => origin.trim())
        .filter((origin) => origin !== ''),
    );
  }

  /** Headers for an answer to this request: none when no page asks, or one of a foreign origin. */
  headersFor(exchange: HttpExchange): readonly string[] {
    const allowed = this.#allowed(exchange.header('origin'));
    if (allowed === undefined) return [];
    const { corsAllowCredentials, corsExposeHeaders } = this.#config;
    return [
      'Access-Control-Allow-Origin',
      allowed,
      ...(allowed === '*' ? [] : ['Vary', 'Origin']),
      ...(corsAllowCredentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
      ...(corsExposeHeaders === '' ? [] : ['Access-Control-Expose-Headers', corsExposeHeaders]),
    ];
  }

  /** The same for the question that comes before the request. */
  preflightHeadersFor(exchange: HttpExchange): readonly string[] {
    const headers = this.headersFor(exchange);
    if (headers.length === 0) return [];
    const { corsAllowMethods, corsAllowHeaders, corsMaxAge } = this.#config;
    const asked = exchange.header('access-control-request-headers') ?? '';
    const allowed = corsAllowHeaders === '' ? asked : corsAllowHeaders;
    return [
      ...headers,
      'Access-Control-Allow-Methods',
      corsAllowMethods,
      ...(allowed === '' ? [] : ['Access-Control-Allow-Headers', allowed]),
      ...(corsMaxAge === 0 ? [] : ['Access-Control-Max-Age', String(corsMaxAge)]),
    ];
  }

  #allowed(origin: string | undefined): string | undefined {
    if (origin === undefined) return undefined;
    // With credentials, browsers do not take the star.
    if (this.#origins.has('*')) return this.#config.corsAllowCredentials ? origin : '*';
    return this.#origins.has(origin) ? origin : undefined;
  }
}
