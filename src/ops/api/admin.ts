import { fastify, type FastifyError, type FastifyInstance } from 'fastify';
import { CHANNEL_NAME_BYTES_MAX } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { ClusterStatus } from '../cluster-status.js';
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

export interface AdminOptions extends ApiAccess {
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Absent: this broker runs alone. */
  readonly cluster?: (() => ClusterStatus) | undefined;
  readonly log: Log;
}

export interface AdminApi {
  readonly app: FastifyInstance;
  readonly streams: EventStreams;
}

/** The admin API without a listener. */
export function buildAdmin(options: AdminOptions): AdminApi {
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: PATH_PART_MAX },
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
