import { HttpListener, DEFAULT_HTTP_LIMITS } from '../../kit/http-listener.js';
import type { HttpExchange } from '../../kit/http-listener.js';
import type { Identity } from '../access/access-policy.js';
import { allRoutes } from './all-routes.js';
import type { Api } from './api.js';
import { HttpError, httpErrorOf, notAuthorised, notFound } from './http-error.js';
import { Input, parseInput } from './json-input.js';
import type { ApiAnswer } from './routes.js';
import { RouteTable } from './routes.js';

/** Definitions files and messages come as one body. */
const BODY_BYTES_MAX = 128 * 1024 * 1024;

const JSON_TYPE = ['Content-Type', 'application/json'];
const CHALLENGE = ['WWW-Authenticate', 'Basic realm="RabbitMQ Management"'];
const NO_INPUT = new Input({});

/** The management API: RabbitMQ's paths and answers below `/api`. */
export class ManagementServer {
  readonly #api: Api;
  readonly #routes: RouteTable;
  readonly listener: HttpListener;

  constructor(api: Api, host: string, port: number) {
    this.#api = api;
    this.#routes = new RouteTable(allRoutes(api));
    const { clock, log, tls } = api.context;
    this.listener = new HttpListener({
      host,
      port,
      clock,
      log,
      tls,
      limits: { ...DEFAULT_HTTP_LIMITS, bodyBytesMax: BODY_BYTES_MAX },
      handle: (exchange) => this.#handle(exchange),
      refuseOversize: (exchange) =>
        refuse(exchange, new HttpError(413, 'too_large', `a request is at most ${BODY_BYTES_MAX} bytes`)),
    });
  }

  async #handle(exchange: HttpExchange): Promise<void> {
    try {
      answer(exchange, await this.#answerOf(exchange));
    } catch (caught) {
      const error = httpErrorOf(caught);
      if (error.status === 500) {
        this.#api.context.log.error('amqp: a management request failed', { error: error.cause ?? caught });
      }
      refuse(exchange, error);
    }
  }

  async #answerOf(exchange: HttpExchange): Promise<ApiAnswer> {
    const identity = await this.#identityOf(exchange.header('authorization'));
    const [path = '', query = ''] = exchange.url.split('?', 2);
    const [root, ...segments] = path
      .replace(/^\/+|\/+$/g, '')
      .split('/')
      .map(decodeURIComponent);
    if (root !== 'api') throw notFound();
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const found = this.#routes.find(method, segments);
    if ('allowed' in found) {
      if (found.allowed.length === 0) throw notFound();
      throw new HttpError(405, 'method_not_allowed', `use ${found.allowed.join(' or ')}`);
    }
    return found.route.handler({
      method,
      identity,
      parameters: found.parameters,
      query: new URLSearchParams(query),
      input: method === 'GET' ? NO_INPUT : new Input(parseInput(exchange.body)),
      headers: { reason: exchange.header('x-reason') },
    });
  }

  /** Who asks, by HTTP's basic authentication (RFC 7617). Without any user nobody is checked. */
  async #identityOf(authorization: string | undefined): Promise<Identity> {
    const { access } = this.#api.context;
    const [, encoded = ''] = /^basic +(\S+)$/i.exec(authorization ?? '') ?? [];
    const login = Buffer.from(encoded, 'base64').toString('utf8');
    const colon = login.indexOf(':');
    if (colon < 0) {
      if (access.enforced) throw notAuthorised('Login failed');
      return this.#admitted({ user: 'guest', tags: ['administrator'] });
    }
    const [user, password] = [login.slice(0, colon), login.slice(colon + 1)];
    const identity = await access.login({ mechanism: 'PLAIN', user, password });
    return this.#admitted(identity);
  }

  #admitted(identity: Identity | undefined): Identity {
    const admitted = identity && this.#api.admitted(identity);
    if (admitted === undefined) throw notAuthorised('Login failed');
    return admitted;
  }
}

function answer(exchange: HttpExchange, { status, body, headers = [] }: ApiAnswer): void {
  if (body === undefined) exchange.reply(status ?? 204, headers, '');
  else exchange.reply(status ?? 200, [...JSON_TYPE, ...headers], JSON.stringify(body));
}

function refuse(exchange: HttpExchange, error: HttpError): void {
  const body = JSON.stringify({ error: error.word, reason: error.message });
  const headers = error.status === 401 ? [...JSON_TYPE, ...CHALLENGE] : JSON_TYPE;
  exchange.reply(error.status, headers, body);
}
