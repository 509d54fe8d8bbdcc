import { fastify, type FastifyError, type FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';
import { CHANNEL_NAME_BYTES_MAX } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Address } from '../../connectors/kit/connector.js';
import { TcpListener } from '../../connectors/kit/tcp-listener.js';
import type { ClusterStatus } from '../cluster-status.js';
import type { Readiness } from '../health.js';
import type { Metrics } from '../metrics.js';
import { aliasRoutes } from './aliases.js';
import { channelRoutes } from './channels.js';
import { ApiClients, type ApiAccess } from './clients.js';
import { HTTP_STATUS } from './errors.js';
import { EventStreams } from './event-streams.js';
import { logRoutes } from './logs.js';
import { queueRoutes } from './queues.js';

/** Largest request body the API reads. */
const BODY_BYTES_MAX = 64 * 1024;
/** Longest part of a path: a channel's name with every byte escaped. */
const PATH_PART_MAX = 3 * CHANNEL_NAME_BYTES_MAX;
/** A client that has not sent its request by then is cut off. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Open connections. */
const CONNECTIONS_MAX = 1_000;

export interface ApiOptions extends ApiAccess {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
  readonly addresses: () => readonly Address[];
  /** Absent: this broker runs alone. */
  readonly cluster?: (() => ClusterStatus) | undefined;
  readonly log: Log;
  readonly version: string;
}

export interface ApiServer {
  start(): Promise<Address>;
  /** Serves a connection that another node accepted, behind its TLS. */
  admit(socket: Socket): void;
  stop(): Promise<void>;
}

/** Health, metrics and the admin API on one port. */
export function createApiServer(options: ApiOptions): ApiServer {
  const { app, streams } = buildApi(options);
  const { host, port, clock, log, tls } = options;
  const listener = new TcpListener({
    host,
    port,
    connectionsMax: CONNECTIONS_MAX,
    clock,
    log,
    tls: tls === undefined ? undefined : { source: tls, protocols: ['http/1.1'] },
    accept: (socket: Socket) => {
      app.server.emit('connection', socket);
      return { drain: () => socket.destroySoon(), destroy: () => socket.destroy() };
    },
  });
  return {
    start: async () => {
      await app.ready();
      return { name: 'api', host, port: await listener.start() };
    },
    admit: (socket) => listener.admit(socket),
    stop: async () => {
      streams.close();
      await listener.stop();
      await app.close();
    },
  };
}

/** The routes without a listener. */
export function buildApi(options: ApiOptions): {
  readonly app: FastifyInstance;
  readonly streams: EventStreams;
} {
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: PATH_PART_MAX },
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    logger: false,
  });
  app.setErrorHandler((error: FastifyError | BrokerError | Error, _request, reply) => {
    const status = statusOf(error);
    if (status >= 500 && !(error instanceof BrokerError))
      options.log.error('admin request failed', { error });
    const text = status === 500 ? 'internal error' : error.message;
    return reply
      .status(status)
      .send({ error: error instanceof BrokerError ? error.kind : 'http', message: text });
  });
  app.setNotFoundHandler((request, reply) =>
    reply.status(404).send({
      error: 'not-found',
      message: `there is no ${request.method} ${request.url.split('?')[0] ?? ''}`,
    }),
  );

  const clients = new ApiClients(app, options);

  app.get('/health', () => ({ status: 'healthy', version: options.version }));
  app.get('/ready', (_request, reply) => {
    const state = options.readiness();
    return reply.status(state.ready ? 200 : 503).send({ ...state, addresses: options.addresses() });
  });
  app.get('/metrics', async (_request, reply) => {
    return reply.type(options.metrics.contentType).send(await options.metrics.render());
  });
  app.get('/api/v1/cluster', () => {
    if (options.cluster === undefined) throw new BrokerError('not-found', 'this broker runs alone');
    return options.cluster();
  });
  aliasRoutes(app, clients);
  queueRoutes(app, clients);
  logRoutes(app, clients, options.clock);
  channelRoutes(app, clients, options.ids);
  const streams = new EventStreams(clients, options.clock);
  streams.addTo(app);
  return { app, streams };
}

function statusOf(error: FastifyError | BrokerError | Error): number {
  if (error instanceof BrokerError) return HTTP_STATUS[error.kind];
  return 'statusCode' in error ? error.statusCode : 500;
}
