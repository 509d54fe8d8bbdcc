import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { IdSource } from '../../base/ids.js';
import type { Broker } from '../../core/broker-api.js';
import { channelName } from '../../core/channel-name.js';
import type { ApiClients } from './clients.js';
import { newMessages, outgoing, readBody } from './message-json.js';
import { API_CLIENT, MESSAGES_BYTES_MAX } from './queues.js';

/** Most channels in one answer. */
const CHANNELS_PER_ANSWER_MAX = 5000;

const KINDS = ['queue', 'log', 'events', 'commands', 'queries'] as const;
const listQuery = z.object({ prefix: z.string().default(''), kind: z.enum(KINDS).optional() });

interface ChannelJson {
  readonly kind: (typeof KINDS)[number];
  readonly channel: string;
  /** Stored now; 0 for live channels. */
  readonly messages: number;
  /** Who listens now. */
  readonly subscribers: number;
}

/**
 * - `GET /api/v1/channels?prefix=&kind=` → `{ channels: [{ kind, channel, messages, subscribers }], more }`: of every kind, by name
 * - `POST /api/v1/events/{channel}` with `{ messages: [{ body, … }] }` → 200 with `{ subscribers }`: live, to whoever listens now
 */
export function channelRoutes(app: FastifyInstance, clients: ApiClients, ids: IdSource): void {
  app.get<{ Querystring: unknown }>('/api/v1/channels', (request) => {
    const { prefix, kind } = readBody(listQuery, request.query);
    const channels = channelsOf(clients.brokerOf(request), prefix)
      .filter((channel) => kind === undefined || channel.kind === kind)
      .sort((a, b) => (a.channel < b.channel ? -1 : 1));
    return {
      channels: channels.slice(0, CHANNELS_PER_ANSWER_MAX),
      more: channels.length > CHANNELS_PER_ANSWER_MAX,
    };
  });

  const sending = { bodyLimit: MESSAGES_BYTES_MAX };
  app.post<{ Params: { channel: string } }>('/api/v1/events/:channel', sending, (request) => {
    const channel = channelName(request.params.channel);
    const { live } = clients.brokerOf(request);
    const { messages } = readBody(newMessages, request.body);
    let subscribers = 0;
    for (const message of messages) {
      const {
        body,
        metadata = '',
        tags = new Map<string, string>(),
      } = outgoing(channel, API_CLIENT, message);
      const event = { id: ids.uuid(), clientId: API_CLIENT, channel, metadata, tags, body };
      subscribers = Math.max(subscribers, live.publish(event));
    }
    return { subscribers };
  });
}

function channelsOf(broker: Broker, prefix: string): ChannelJson[] {
  const queues = broker.queues(prefix).flatMap((channel): ChannelJson[] => {
    const stats = broker.queueStats(channel);
    if (stats === undefined) return [];
    const { ready, delayed, inFlight, consumers, waiters } = stats;
    return [
      { kind: 'queue', channel, messages: ready + delayed + inFlight, subscribers: consumers + waiters },
    ];
  });
  const logs = broker.logs(prefix).flatMap((channel): ChannelJson[] => {
    const stats = broker.logStats(channel);
    return stats === undefined
      ? []
      : [{ kind: 'log', channel, messages: stats.events, subscribers: stats.subscriptions }];
  });
  const live = (['events', 'commands', 'queries'] as const).flatMap((kind) =>
    broker.live
      .activity(kind)
      .filter(({ channel }) => channel.startsWith(prefix))
      .map(({ channel, subscribers }): ChannelJson => ({ kind, channel, messages: 0, subscribers })),
  );
  return [...queues, ...logs, ...live];
}
