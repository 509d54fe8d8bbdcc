import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { channelName, type ChannelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import type { Client } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import type { Delivery } from '../../core/queue/types.js';
import type { ApiClients } from './clients.js';
import { messageJson, MESSAGES_PER_REQUEST_MAX, newMessages, outgoing, readBody } from './message-json.js';

/** Most queues in one answer. */
export const QUEUES_PER_ANSWER_MAX = 1000;
/** Largest request that carries messages. */
export const MESSAGES_BYTES_MAX = 64 * 1024 * 1024;
/** Bodies of one answer together; one message always passes. */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Longest wait for a message. */
export const WAIT_MS_MAX = 20_000;
/** Lease of messages that are being moved: they are moved at once, so it matters only when that fails. */
const MOVE_LEASE_MS = 30_000;
/** Who sends what comes in through the API. */
export const API_CLIENT = 'admin-api';

const count = z.number().int().min(1).max(MESSAGES_PER_REQUEST_MAX);
const receiveBody = z.strictObject({
  max: count.default(1),
  waitMs: z.number().int().min(0).max(WAIT_MS_MAX).default(0),
});
const purgeBody = z.strictObject({
  delayed: z.boolean().default(true),
  inFlight: z.boolean().default(false),
});
const moveBody = z.strictObject({ to: z.string(), max: count.default(MESSAGES_PER_REQUEST_MAX) });

interface OfChannel {
  Params: { channel: string };
}

/**
 * - `GET /api/v1/queues?prefix=` → `{ queues: [stats], more }`: exact figures, by name; `more` when the list was cut
 * - `POST /api/v1/queues/{channel}/messages` with `{ messages: [{ body, … }] }` → 201 with `{ results: [{ id, sequence } | { error }] }`
 * - `GET /api/v1/queues/{channel}/messages?max=` → `{ messages }`: the front of the queue, untouched
 * - `POST /api/v1/queues/{channel}/receive` with `{ max, waitMs }` → `{ messages }`: taken out of the queue
 * - `POST /api/v1/queues/{channel}/purge` with `{ delayed, inFlight }` → `{ ready, delayed, inFlight }`
 * - `POST /api/v1/queues/{channel}/move` with `{ to, max }` → `{ moved }`: to the other queue, each in one step; 0 = nothing is ready
 */
export function queueRoutes(app: FastifyInstance, clients: ApiClients): void {
  app.get<{ Querystring: { prefix?: string } }>('/api/v1/queues', (request) => {
    const broker = clients.brokerOf(request);
    const names = broker.queues(request.query.prefix ?? '');
    return {
      queues: names
        .slice(0, QUEUES_PER_ANSWER_MAX)
        .map((name) => broker.queueStats(name))
        .filter((stats) => stats !== undefined),
      more: names.length > QUEUES_PER_ANSWER_MAX,
    };
  });

  const sending = { bodyLimit: MESSAGES_BYTES_MAX };
  app.post<OfChannel>('/api/v1/queues/:channel/messages', sending, async (request, reply) => {
    const channel = channelName(request.params.channel);
    const { messages } = readBody(newMessages, request.body);
    const outcomes = await clients.brokerOf(request).send(
      messages.map((message) => outgoing(channel, API_CLIENT, message)),
      { createMissing: true },
    );
    // Alone it fails alone.
    const [first] = outcomes;
    // All are for one queue: what is not allowed is so for all of them.
    if (first?.ok === false && (outcomes.length === 1 || first.error.kind === 'forbidden')) throw first.error;
    const results = outcomes.map((outcome) =>
      outcome.ok ? { id: outcome.id, sequence: outcome.sequence } : { error: outcome.error.message },
    );
    return reply.status(201).send({ results });
  });

  app.get<OfChannel & { Querystring: { max?: string } }>(
    '/api/v1/queues/:channel/messages',
    async (request) => {
      const channel = existing(clients.brokerOf(request), request.params.channel);
      const max = readBody(count, Number(request.query.max ?? 10));
      const messages = await clients.brokerOf(request).peek(channel, max);
      return {
        messages: messages.map(({ message, sequence, enqueuedAt, receiveCount }) => ({
          ...messageJson(message),
          sequence,
          enqueuedAt,
          receiveCount,
        })),
      };
    },
  );

  app.post<OfChannel>('/api/v1/queues/:channel/receive', async (request) => {
    const { max, waitMs } = readBody(receiveBody, request.body);
    const channel = existing(clients.brokerOf(request), request.params.channel);
    const gone = new AbortController();
    const wanted = { channel, max, waitMs, maxBytes: ANSWER_BYTES_MAX, signal: gone.signal };
    const deliveries = await clients.wait(
      request,
      () => gone.abort(),
      () => clients.brokerOf(request).receive({ ...wanted, handOut: { kind: 'auto' } }),
    );
    return { messages: deliveries.map(deliveryJson) };
  });

  app.post<OfChannel>('/api/v1/queues/:channel/purge', (request) => {
    const { delayed, inFlight } = readBody(purgeBody, request.body);
    const broker = clients.brokerOf(request);
    return broker.purge(existing(broker, request.params.channel), { ready: true, delayed, inFlight });
  });

  app.post<OfChannel>('/api/v1/queues/:channel/move', async (request) => {
    const { to, max } = readBody(moveBody, request.body);
    const client = clients.clientOf(request);
    return { moved: await move(client, existing(client.broker, request.params.channel), { to, max }) };
  });
}

/** Throws `not-found`, so that a misspelt name is not taken for an empty queue. */
function existing(broker: Broker, name: string): ChannelName {
  const channel = channelName(name);
  if (broker.queueStats(channel) === undefined)
    throw new BrokerError('not-found', `there is no queue ${name}`);
  return channel;
}

function deliveryJson(delivery: Delivery) {
  const { message, sequence, enqueuedAt, receiveCount } = delivery;
  return { ...messageJson(message), sequence, enqueuedAt, receiveCount };
}

/** What cannot be moved goes back to its place, uncounted. */
async function move(
  client: Client,
  from: ChannelName,
  { to, max }: { readonly to: string; readonly max: number },
): Promise<number> {
  const { broker } = client;
  const channel = existing(broker, to);
  // A message is not taken from one queue only to hear that the other may not be written to.
  client.require('queue', 'read', from);
  client.require('queue', 'write', channel);
  if (broker.baseOf(channel) === broker.baseOf(from)) {
    throw new BrokerError('invalid-argument', `${from} and ${to} are the same queue`);
  }
  const tokens = await broker.receive({
    channel: from,
    max,
    waitMs: 0,
    maxBytes: ANSWER_BYTES_MAX,
    handOut: { kind: 'lease', leaseMs: MOVE_LEASE_MS },
  });
  if (tokens.length === 0) return 0;
  try {
    const { refused } = await broker.settle({ tokens, settlement: { kind: 'move', channel }, durable: true });
    return tokens.length - refused.length;
  } catch (error) {
    await broker.settle({ tokens, settlement: { kind: 'nack', to: 'origin', uncounted: true } });
    throw error;
  }
}
