import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Address } from '../../connectors/kit/connector.js';
import { TcpListener } from '../../connectors/kit/tcp-listener.js';
import type { AdminApi, AdminOptions } from './admin.js';
import { answerProbe, type ProbeOptions } from './probes.js';

/** A client that has not sent its request by then is cut off. */
const REQUEST_TIMEOUT_MS = 30_000;
/** An idle connection is kept that long. */
const KEEP_ALIVE_MS = 72_000;
/** Open connections. */
const CONNECTIONS_MAX = 1_000;

export interface ApiOptions extends AdminOptions, ProbeOptions {
  readonly host: string;
  readonly port: number;
}

export interface ApiServer {
  start(): Promise<Address>;
  /** Serves a connection that another node accepted, behind its TLS. */
  admit(socket: Socket): void;
  stop(): Promise<void>;
}

/** Health, metrics and the admin API on one port. */
export function createApiServer(options: ApiOptions): ApiServer {
  const { host, port, clock, log, tls } = options;
  const admin = new LazyAdmin(options);
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      const answer = isRead ? answerProbe(options, request.url?.split('?')[0] ?? '') : undefined;
      if (answer === undefined) {
        admin.serve(request, response);
        return;
      }
      const { status, type, body } = answer;
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
      response.end(body);
    },
  );
  const listener = new TcpListener({
    host,
    port,
    connectionsMax: CONNECTIONS_MAX,
    clock,
    log,
    tls: tls === undefined ? undefined : { source: tls, protocols: ['http/1.1'] },
    accept: (socket: Socket) => {
      server.emit('connection', socket);
      return { drain: () => socket.destroySoon(), destroy: () => socket.destroy() };
    },
  });
  return {
    start: async () => ({ name: 'api', host, port: await listener.start() }),
    admit: (socket) => listener.admit(socket),
    stop: async () => {
      await admin.close(() => listener.stop());
    },
  };
}

/** The admin API, loaded when it is first asked for: its framework takes more memory than the rest of a broker that nobody administers. */
class LazyAdmin {
  readonly #options: AdminOptions;
  #loading: Promise<AdminApi> | undefined;

  constructor(options: AdminOptions) {
    this.#options = options;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    this.#loading ??= this.#load();
    this.#loading.then(
      ({ app }) => app.routing(request, response),
      (error: unknown) => {
        this.#options.log.error('the admin API cannot be loaded', { error });
        response.destroy();
      },
    );
  }

  async #load(): Promise<AdminApi> {
    const { buildAdmin } = await import('./admin.js');
    const api = buildAdmin(this.#options);
    await api.app.ready();
    return api;
  }

  /** `cut` ends the connections: streams of events are told before, and what still runs ends after. */
  async close(cut: () => Promise<void>): Promise<void> {
    const api = await this.#loading?.catch(() => undefined);
    api?.streams.close();
    await cut();
    await api?.app.close();
  }
}
