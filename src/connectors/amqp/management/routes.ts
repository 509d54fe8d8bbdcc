import type { Identity } from '../access/access-policy.js';
import type { Input } from './json-input.js';

/** One request of the management API. */
export interface ApiCall {
  readonly method: string;
  readonly identity: Identity;
  /** Segments of the path that a route left open, decoded. */
  readonly parameters: readonly string[];
  readonly query: URLSearchParams;
  readonly input: Input;
  readonly headers: { readonly reason: string | undefined };
}

/** `status` absent: 200, or 204 without a body. */
export interface ApiAnswer {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: readonly string[];
}

export type Handler = (call: ApiCall) => ApiAnswer | Promise<ApiAnswer>;

export interface Route {
  readonly method: string;
  /** Segments below `/api`; `:` is any one. */
  readonly path: readonly string[];
  readonly handler: Handler;
}

export function route(method: string, path: string, handler: Handler): Route {
  return { method, path: path.split('/'), handler };
}

/** Finds the routes of a path, by the number of its segments. */
export class RouteTable {
  readonly #byLength = new Map<number, Route[]>();

  constructor(routes: readonly Route[]) {
    for (const one of routes) {
      const same = this.#byLength.get(one.path.length);
      if (same === undefined) this.#byLength.set(one.path.length, [one]);
      else same.push(one);
    }
  }

  /** The first route of the method that fits, with its parameters; else the methods that would. */
  find(
    method: string,
    segments: readonly string[],
  ):
    | { readonly route: Route; readonly parameters: readonly string[] }
    | { readonly allowed: readonly string[] } {
    const fitting = (this.#byLength.get(segments.length) ?? []).filter(({ path }) =>
      path.every((part, i) => part === ':' || part === segments[i]),
    );
    const found = fitting.find((one) => one.method === method);
    if (found === undefined) return { allowed: fitting.map((one) => one.method) };
    return { route: found, parameters: segments.filter((_, i) => found.path[i] === ':') };
  }
}
