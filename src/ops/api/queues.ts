import type { FastifyInstance } from 'fastify';
import type { Broker } from '../../core/broker-api.js';

/** Most queues in one answer. */
export const QUEUES_PER_ANSWER_MAX = 1000;

/** `GET /api/v1/queues?prefix=` → `{ queues: [stats], more }`: exact figures, by name; `more` when the list was cut. */
export function queueRoutes(app: FastifyInstance, broker: Broker): void {
  app.get<{ Querystring: { prefix?: string } }>('/api/v1/queues', (request) => {
    const names = broker.queues(request.query.prefix ?? '');
    return {
      queues: names
        .slice(0, QUEUES_PER_ANSWER_MAX)
        .map((name) => broker.queueStats(name))
        .filter((stats) => stats !== undefined),
      more: names.length > QUEUES_PER_ANSWER_MAX,
    };
  });
}
