import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { channelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import type { LogEvent } from '../../core/log/types.js';
import type { ApiClients } from './clients.js';
import { messageJson, newMessages, outgoing, readBody } from './message-json.js';
import { ANSWER_BYTES_MAX, API_CLIENT, MESSAGES_BYTES_MAX, WAIT_MS_MAX } from './queues.js';

/** Most logs in one answer, and most events. */
const LOGS_PER_ANSWER_MAX = 1000;
const EVENTS_PER_ANSWER_MAX = 1000;

const eventsQuery = z.object({
  from: z.coerce.number().int().min(1).optional(),
  last: z.coerce.number().int().min(0).max(EVENTS_PER_ANSWER_MAX).optional(),
  max: z.coerce.number().int().min(1).max(EVENTS_PER_ANSWER_MAX).default(100),
  waitMs: z.coerce.number().int().min(0).max(WAIT_MS_MAX).default(0),
});

interface OfChannel {
  Params: { channel: string };
}

/**
 * - `GET /api/v1/logs?prefix=` → `{ logs: [stats], more }`
 * - `POST /api/v1/logs/{channel}/events` with `{ messages: [{ body, … }] }` → 201 with `{ results: [{ id, sequence }] }`, all or nothing
 * - `GET /api/v1/logs/{channel}/events?from=&max=&waitMs=` → `{ events, next }`: from that sequence on, `next` is where to go on;
 *   `last=n` instead of `from` begins n events before the end. With `waitMs`, an answer without events waits that long for one.
 */
export function logRoutes(app: FastifyInstance, clients: ApiClients, clock: Clock): void {
  app.get<{ Querystring: { prefix?: string } }>('/api/v1/logs', (request) => {
    const broker = clients.brokerOf(request);
    const names = broker.logs(request.query.prefix ?? '');
    return {
      logs: names
        .slice(0, LOGS_PER_ANSWER_MAX)
        .map((name) => broker.logStats(name))
        .filter((stats) => stats !== undefined),
      more: names.length > LOGS_PER_ANSWER_MAX,
    };
  });

  const sending = { bodyLimit: MESSAGES_BYTES_MAX };
  app.post<OfChannel>('/api/v1/logs/:channel/events', sending, async (request, reply) => {
    const channel = channelName(request.params.channel);
    const { messages } = readBody(newMessages, request.body);
    const stored = await clients.brokerOf(request).append(
      messages.map((message) => outgoing(channel, API_CLIENT, message)),
      { createMissing: true },
    );
    return reply.status(201).send({ results: stored.map(({ id, sequence }) => ({ id, sequence })) });
  });

  app.get<OfChannel & { Querystring: unknown }>('/api/v1/logs/:channel/events', async (request) => {
    const broker = clients.brokerOf(request);
    const channel = channelName(request.params.channel);
    const { from, last, max, waitMs } = readBody(eventsQuery, request.query);
    const stats = broker.logStats(channel);
    if (stats === undefined) throw new BrokerError('not-found', `there is no log ${channel}`);
    const first = from ?? Math.max(1, stats.lastSequence + 1 - (last ?? max));
    let events: readonly LogEvent[] = [];
    const read = { channel, fromSequence: first, max, maxBytes: ANSWER_BYTES_MAX };
    if (first <= stats.lastSequence) events = await broker.readLog(read);
    else if (waitMs > 0) {
      const subscription = broker.subscribe({ channel, start: { from: 'sequence', sequence: first } });
      const timer = clock.after(waitMs, () => subscription.close());
      try {
        events = await clients.wait(
          request,
          () => subscription.close(),
          () => subscription.next(max),
        );
      } finally {
        timer.cancel();
        subscription.close();
      }
    }
    return { events: events.map(eventJson), next: (events.at(-1)?.sequence ?? first - 1) + 1 };
  });
}

function eventJson({ message, sequence, storedAt }: LogEvent) {
  return { ...messageJson(message), sequence, storedAt };
}
