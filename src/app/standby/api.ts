import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ForwardedSocket } from '../../connectors/kit/forwarded-socket.js';
import { TcpListener } from '../../connectors/kit/tcp-listener.js';
import { isSecure, peerNameOf } from '../../connectors/kit/tls-gate.js';
import type { Metrics } from '../../ops/metrics.js';
import { createStandbyMetrics, type StandbyMetricsSources } from '../../ops/standby-metrics.js';
import { STANDBY_LIMITS, type StandbyOptions } from './options.js';
import { NOBODY_SERVES } from './refusals.js';

/** Of one connection only (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** The API of a node that owns nothing: it tells of itself, and passes every other request on to the owner. */
export class StandbyApi {
  readonly #o: StandbyOptions;
  readonly #http: Server;
  readonly #listener: TcpListener;
  readonly #metrics: Metrics;

  constructor(options: StandbyOptions, forwarded: StandbyMetricsSources['forwarded']) {
    this.#o = options;
    const { config, tls, clock, log, status, version } = options;
    this.#metrics = createStandbyMetrics({ cluster: status, forwarded, version });
    this.#http = createServer((request, response) => void this.#answer(request, response));
    this.#listener = new TcpListener({
      host: config.host,
      port: config.api.port,
      connectionsMax: STANDBY_LIMITS.connectionsMax,
      clock,
      log,
      tls: tls && { source: tls, protocols: ['http/1.1'] },
      accept: (socket) => {
        this.#http.emit('connection', socket);
        return { drain: () => socket.destroySoon(), destroy: () => void socket.destroy() };
      },
    });
  }

  start(): Promise<number> {
    return this.#listener.start();
  }

  async stop(): Promise<void> {
    await this.#listener.stop();
    this.#metrics.stop();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { config, status, version } = this.#o;
    try {
      switch (request.url?.split('?')[0]) {
        case '/health':
          reply(response, 200, { status: 'healthy', version });
          return;
        case '/ready':
          await this.#ready(response);
          return;
        case '/metrics':
          response.writeHead(200, { 'content-type': this.#metrics.contentType });
          response.end(this.#metrics.render());
          return;
        case '/api/v1/cluster':
          // Where clients have to say who they are the owner is asked: it knows them.
          if (config.authentication.enable) break;
          reply(response, 200, status());
          return;
        default:
      }
      await this.#passOn(request, response);
    } catch (error) {
      this.#o.log.debug('a request could not be passed on', { error: String(error) });
      refuse(response);
    }
  }

  async #ready(response: ServerResponse): Promise<void> {
    const ready = await this.#o.hasOwner().catch(() => false);
    reply(response, ready ? 200 : 503, { ready, phase: 'standby', reasons: ready ? [] : [NOBODY_SERVES] });
  }

  async #passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const way = await this.#way(request.socket);
    const upstream = httpRequest({
      method: request.method,
      path: request.url,
      headers: { ...endToEnd(request.headers), connection: 'close' },
      createConnection: () => way,
    });
    upstream.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    upstream.on('error', () => refuse(response));
    response.once('close', () => void upstream.destroy());
    request.pipe(upstream);
  }

  async #way(socket: Socket): Promise<Duplex> {
    const head = {
      listener: 'api',
      remoteAddress: socket.remoteAddress ?? '',
      remotePort: socket.remotePort ?? 0,
      localAddress: socket.localAddress ?? '',
      localPort: socket.localPort ?? 0,
      secure: isSecure(socket),
      certificateName: peerNameOf(socket, this.#o.tls),
    };
    const way = await this.#o.connections.open(head, STANDBY_LIMITS.holdMs);
    // This node begins to serve: whoever asks again gets its own answer.
    if (way === 'here') throw new Error('this node is about to serve');
    return new ForwardedSocket(way, head);
  }
}

function endToEnd(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else reply(response, 503, { error: 'unavailable', message: NOBODY_SERVES });
}

function reply(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, {
    'content-type': 'application/json',
    ...(code === 503 ? { 'retry-after': '1' } : {}),
  });
  response.end(JSON.stringify(body));
}
