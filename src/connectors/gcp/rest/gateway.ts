import { gunzipSync } from 'node:zlib';
import {
  fromBinary,
  toBinary,
  toJson,
  type DescMessage,
  type DescService,
  type Message,
} from '@bufbuild/protobuf';
import type { ServiceHandlers, UnaryHandler } from '../../kit/grpc-call.js';
import { defineService, type AnyMessageCodec } from '../../kit/grpc-service.js';
import { status } from '../../kit/grpc-status.js';
import type { WholeRequest } from '../../kit/whole-request.js';
import { invalidArgument, statusOf } from '../errors.js';
import { readRestRequest } from './request-reader.js';
import { DETAIL_TYPES, replyError, replyJson } from './responses.js';
import { RestCall } from './rest-call.js';
import { RouteMatcher, variableField } from './route-matcher.js';
import { REST_ROUTES, type RestRoute } from './routes.js';

export interface RestService {
  readonly service: DescService;
  readonly handlers: ServiceHandlers;
}

/** A document of its own under some path. */
export type Page = (exchange: WholeRequest) => Promise<void> | void;

export interface GatewayOptions {
  readonly services: readonly RestService[];
  readonly routes?: readonly RestRoute[];
  /** Codecs in place of the generated ones, by message type: what the handlers of these messages work with. */
  readonly codecs: Readonly<Record<string, AnyMessageCodec>>;
  /** By path; for GET. */
  readonly pages: ReadonlyMap<string, Page>;
  /** Largest body, decompressed. */
  readonly bodyBytesMax: number;
}

/** One RPC as REST serves it. */
interface Target {
  readonly route: RestRoute;
  readonly field: readonly string[];
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** Undefined: the method is not served. */
  readonly handler: UnaryHandler<unknown, unknown> | undefined;
  readonly request: AnyMessageCodec | undefined;
  readonly response: AnyMessageCodec | undefined;
}

/**
 * Pub/Sub's REST API in front of the same handlers that gRPC has: JSON and URL become the request message, the answer becomes JSON
 * (proto3 JSON mapping). Messages of the hot path, whose codecs work on bytes, take the way over their binary form.
 */
export class RestGateway {
  readonly #matcher: RouteMatcher<Target>;
  readonly #options: GatewayOptions;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const targets = (options.routes ?? REST_ROUTES).flatMap((route) => targetOf(route, options) ?? []);
    this.#matcher = new RouteMatcher(targets);
  }

  /** Answers one request. `peerName`: what the connection's client certificate says. */
  async handle(exchange: WholeRequest, peerName: string | undefined): Promise<void> {
    const { path, query } = splitUrl(exchange.url);
    const method = exchange.header('x-http-method-override')?.toUpperCase() ?? exchange.method;
    if (method === 'GET' || method === 'HEAD') {
      // What tools look at to see whether the server is up.
      if (path === '/') {
        exchange.reply(200, ['Content-Type', 'text/plain; charset=UTF-8'], 'Ok\n');
        return;
      }
      const page = this.#options.pages.get(path);
      if (page !== undefined) {
        await page(exchange);
        return;
      }
    }
    const match = this.#matcher.match(method, path);
    if (match === undefined) {
      replyError(exchange, { code: status.NOT_FOUND, details: 'Method not found.' });
      return;
    }
    this.#call(exchange, match.target, { value: match.value, query, peerName });
  }

  /** Answers a request whose body was over the limit. */
  refuseOversize(exchange: WholeRequest): void {
    replyError(exchange, statusOf(this.#tooLarge()));
  }

  #call(
    exchange: WholeRequest,
    target: Target,
    parts: { readonly value: string; readonly query: string; readonly peerName: string | undefined },
  ): void {
    const { field, handler, input, output, response } = target;
    if (handler === undefined) {
      replyError(exchange, {
        code: status.UNIMPLEMENTED,
        details: `${target.route.rpc} is not implemented.`,
      });
      return;
    }
    let request: unknown;
    try {
      const body = this.#body(exchange);
      const message = readRestRequest(input, { field, ...parts, bodyField: target.route.body, body });
      request = target.request === undefined ? message : target.request.decode(toBinary(input, message));
    } catch (caught) {
      replyError(exchange, statusOf(caught));
      return;
    }
    const reply = (answer: unknown): void => {
      const message =
        response === undefined
          ? (answer as Message)
          : fromBinary(output, (response as { encode(value: unknown): Uint8Array }).encode(answer));
      replyJson(exchange, toJson(output, message, { registry: DETAIL_TYPES }));
    };
    handler(new RestCall({ exchange, request, peerName: parts.peerName, reply }));
  }

  #body(exchange: WholeRequest): Uint8Array {
    const { body } = exchange;
    const encoding = exchange.header('content-encoding')?.toLowerCase();
    if (body.length === 0 || encoding === undefined || encoding === 'identity') return body;
    if (encoding !== 'gzip') throw invalidArgument(`The content encoding '${encoding}' is not supported.`);
    try {
      return gunzipSync(body, { maxOutputLength: this.#options.bodyBytesMax });
    } catch (error) {
      if (error instanceof RangeError) throw this.#tooLarge();
      throw invalidArgument('The request payload is no gzip.');
    }
  }

  #tooLarge(): Error {
    return invalidArgument(`Request payload size exceeds the limit: ${this.#options.bodyBytesMax} bytes.`);
  }
}

function targetOf(route: RestRoute, { services, codecs }: GatewayOptions): Target | undefined {
  const served = services.find(({ service }) => service.typeName === route.service);
  const rpc = served?.service.methods.find(({ name }) => name === route.rpc);
  if (served === undefined || rpc === undefined) return undefined;
  const { kind } = defineService(served.service)[rpc.localName] ?? {};
  if (kind !== 'unary') throw new TypeError(`${route.rpc} is no unary method`);
  return {
    route,
    field: variableField(route),
    input: rpc.input,
    output: rpc.output,
    handler: served.handlers[rpc.localName] as UnaryHandler<unknown, unknown> | undefined,
    request: codecs[rpc.input.typeName],
    response: codecs[rpc.output.typeName],
  };
}

function splitUrl(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}
