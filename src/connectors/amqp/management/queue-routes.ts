import { isUtf8 } from 'node:buffer';
import type { Delivery } from '../../../core/queue/types.js';
import { foreignParts } from '../mapping/foreign-message.js';
import { tableToJson } from '../mapping/json-headers.js';
import { decodeRoute, partsOf } from '../mapping/message-origin.js';
import type { Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import { requirePermission } from '../channel/operations/access.js';
import { decodeProperties } from '../wire/properties.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import { propertiesToJson } from './json-input.js';
import { listedBindings, paged } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import type { Json } from './views.js';
import { defaultBinding } from './views.js';

/** Messages one request may take. */
const GET_COUNT_MAX = 10_000;
const FRAME_MAX = 131_072;

/** Queues: list, look, declare, delete, purge, get. */
export function queueRoutes(api: Api): readonly Route[] {
  const { views } = api;
  const all = (call: ApiCall, vhosts: readonly Vhost[]): ApiAnswer => ({
    body: paged(
      vhosts.flatMap((vhost) =>
        [...vhost.queues.values()]
          .filter(({ name }) => api.seesResource(vhost, call.identity, name))
          .map((queue) => views.queue(vhost, queue)),
      ),
      call.query,
    ),
  });
  return [
    route('GET', 'queues', (call) => all(call, api.vhosts(call.identity))),
    route('GET', 'queues/:', (call) => all(call, [api.vhost(call.parameters[0], call.identity)])),
    route('GET', 'queues/:/:', (call) => {
      const { vhost, queue } = queueOf(api, call);
      return { body: { ...views.queue(vhost, queue), ...details(api, queue) } };
    }),
    route('PUT', 'queues/:/:', (call) => declare(api, call)),
    route('DELETE', 'queues/:/:', async (call) => {
      const { vhost, queue } = queueOf(api, call);
      await api.client(vhost, call.identity).call('queue.delete', {
        ticket: 0,
        queue: queue.name,
        ifUnused: call.query.get('if-unused') === 'true',
        ifEmpty: call.query.get('if-empty') === 'true',
        nowait: true,
      });
      return {};
    }),
    route('GET', 'queues/:/:/bindings', (call) => {
      const { vhost, queue } = queueOf(api, call);
      const bindings = [defaultBinding(queue), ...vhost.bindingsTo({ kind: 'queue', name: queue.name })];
      return {
        body: listedBindings(
          bindings
            .filter((binding) => api.seesBinding(vhost, call.identity, binding))
            .map((binding) => views.binding(vhost, binding)),
          call.query,
        ),
      };
    }),
    route('DELETE', 'queues/:/:/contents', async (call) => {
      const { vhost, queue } = queueOf(api, call);
      await api
        .client(vhost, call.identity)
        .call('queue.purge', { ticket: 0, queue: queue.name, nowait: true });
      return {};
    }),
    route('POST', 'queues/:/:/actions', (call) => {
      queueOf(api, call);
      const action = call.input.text('action');
      if (action === 'sync' || action === 'cancel_sync') return {};
      throw badRequest(`unknown action: ${action}`);
    }),
    route('POST', 'queues/:/:/get', (call) => get(api, call)),
  ];
}

function queueOf(api: Api, call: ApiCall): { readonly vhost: Vhost; readonly queue: Queue } {
  const [vhostName, name = ''] = call.parameters;
  const vhost = api.vhost(vhostName, call.identity);
  const queue = vhost.queues.get(name);
  if (queue === undefined || !api.seesResource(vhost, call.identity, name)) throw notFound();
  return { vhost, queue };
}

function details(api: Api, queue: Queue): Json {
  const { views } = api;
  return {
    consumer_details: views
      .consumers()
      .filter(({ consumer }) => consumer.options.queue === queue)
      .map((place) => views.consumer(place)),
    deliveries: [],
    incoming: [],
  };
}

async function declare(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const [vhostName, name = ''] = call.parameters;
  const vhost = api.vhost(vhostName, call.identity);
  const known = vhost.queues.has(name);
  const { input } = call;
  await api.client(vhost, call.identity).call('queue.declare', {
    ticket: 0,
    queue: name,
    passive: false,
    durable: input.flag('durable', true),
    exclusive: false,
    autoDelete: input.flag('auto_delete', false),
    nowait: true,
    arguments: input.table('arguments'),
  });
  return { status: known ? 204 : 201 };
}

const ACK_MODES = ['ack_requeue_true', 'ack_requeue_false', 'reject_requeue_true', 'reject_requeue_false'];

async function get(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const { vhost, queue } = queueOf(api, call);
  const { input } = call;
  const count = Math.min(input.number('count', 1), GET_COUNT_MAX);
  const encoding = input.text('encoding', 'auto');
  const mode = ackModeOf(call);
  if (!ACK_MODES.includes(mode)) throw badRequest(`unknown ackmode: ${mode}`);
  if (queue.type === 'stream') throw badRequest('basic.get not supported by stream queues');
  const client = api.client(vhost, call.identity);
  requirePermission(client, 'read', 'queue', queue.name);
  const { broker } = api.context;
  const deliveries = await broker.receive({
    channel: queue.channel,
    max: count,
    waitMs: 0,
    handOut: { kind: 'lease', leaseMs: 0 },
  });
  const left = broker.queueStats(queue.channel)?.ready ?? 0;
  const truncate = input.number('truncate', Number.MAX_SAFE_INTEGER);
  const body = deliveries.map((delivery, i) => ({
    ...messageJson(delivery, queue, { encoding, truncate }),
    message_count: left + deliveries.length - i - 1,
  }));
  const settlement = mode.endsWith('requeue_true')
    ? ({ kind: 'nack', to: 'origin' } as const)
    : mode.startsWith('ack')
      ? ({ kind: 'ack' } as const)
      : ({ kind: 'reject' } as const);
  if (deliveries.length > 0) await broker.settle({ tokens: deliveries, settlement });
  return { body };
}

/** Tools from before 3.7 say `requeue` instead. */
function ackModeOf({ input }: ApiCall): string {
  if (input.values['ackmode'] !== undefined) return input.text('ackmode');
  return input.flag('requeue', true) ? 'ack_requeue_true' : 'ack_requeue_false';
}

function messageJson(
  delivery: Delivery,
  queue: Queue,
  how: { readonly encoding: string; readonly truncate: number },
): Json {
  const parts = partsOf(delivery.message) ?? foreignParts(delivery.message, queue.name, FRAME_MAX);
  const { exchange, routingKey } = decodeRoute(parts.route);
  const properties = decodeProperties(parts.properties);
  const { body } = delivery.message;
  const shown = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, how.truncate));
  const asText = how.encoding === 'auto' && isUtf8(shown);
  return {
    payload_bytes: body.length,
    redelivered: delivery.redelivered,
    exchange,
    routing_key: routingKey,
    properties: propertiesToJson(properties, properties.headers && tableToJson(properties.headers)),
    payload: shown.toString(asText ? 'utf8' : 'base64'),
    payload_encoding: asText ? 'string' : 'base64',
  };
}
