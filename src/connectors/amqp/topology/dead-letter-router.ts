import type { Origin } from '../../../core/message.js';
import type { DeadLetter, DeadLetterRouter } from '../../../core/queue/types.js';
import type { Death } from '../mapping/death-headers.js';
import { DEATH_REASONS, deathHeaders, deathsOf, isCycle, withDeath } from '../mapping/death-headers.js';
import { foreignParts } from '../mapping/foreign-message.js';
import { decodeRoute, encodeOrigin, encodeRoute, partsOf } from '../mapping/message-origin.js';
import type { MessageParts } from '../mapping/message-origin.js';
import type { DeadLetterRoute } from '../mapping/queue-arguments.js';
import type { FieldTable } from '../wire/field-table.js';
import { EMPTY_TABLE } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import { decodeProperties, encodeProperties } from '../wire/properties.js';
import type { Topology } from './topology.js';
import type { Queue } from './types.js';

/** Frames any client takes: headers of dead letters from other protocols are made to fit in them. */
const FOREIGN_FRAME_BYTES = 4096;

/**
 * Routes dead letters of AMQP queues through their dead-letter exchange, as RabbitMQ does: by the queue's dead-letter key, or
 * by the message's own keys, with the trail of deaths in the headers and without its expiration.
 */
export function deadLetterRouter(topology: Topology): DeadLetterRouter {
  return (rest, letter) => {
    const route = JSON.parse(rest) as DeadLetterRoute;
    const parts = partsOf(letter.message) ?? foreignParts(letter.message, route.queue, FOREIGN_FRAME_BYTES);
    const { queues, origin } = routed(topology, route, letter, parts);
    return queues.map(({ type, channel }) => ({
      channel,
      toLog: type === 'stream',
      originBytes: origin.bytes,
      originProtocol: origin.protocol,
    }));
  };
}

interface Routed {
  readonly queues: readonly Queue[];
  readonly origin: Origin;
}

const NO_ORIGIN: Origin = { protocol: '', bytes: new Uint8Array(0) };

function routed(topology: Topology, route: DeadLetterRoute, letter: DeadLetter, parts: MessageParts): Routed {
  const vhost = topology.knownVhost(route.vhost);
  const exchange = vhost?.exchanges.get(route.exchange);
  if (vhost === undefined || (exchange === undefined && route.exchange !== ''))
    return { queues: [], origin: NO_ORIGIN };
  const properties = readable(parts.properties);
  const headers = properties.headers ?? EMPTY_TABLE;
  const original = decodeRoute(parts.route);
  const ownKeys = [original.routingKey, ...keysOf(headers)];
  const death: Death = {
    queue: route.queue,
    reason: DEATH_REASONS[letter.reason],
    exchange: original.exchange,
    routingKeys: ownKeys,
    time: letter.now,
    originalExpiration: properties.expiration,
  };
  const deaths = withDeath(deathsOf(headers), death);
  const newHeaders = deathHeaders(headers, death, deaths, route.routingKey === undefined);
  // BCC routes again and is never told: not to consumers, and not in the trail.
  const keys = route.routingKey === undefined ? [...ownKeys, ...(parts.bcc ?? [])] : [route.routingKey];
  const origin = encodeOrigin(
    encodeRoute(route.exchange, keys[0] ?? ''),
    encodeProperties({ ...properties, headers: newHeaders, expiration: undefined }),
    route.routingKey === undefined ? parts.bcc : undefined,
  );
  const queues = vhost
    .route(exchange, keys, () => ({ ...properties, headers: newHeaders }))
    .filter((queue) => letter.reason === 'rejected' || !isCycle(deaths, queue.name));
  return { queues, origin };
}

function readable(bytes: Uint8Array): Properties {
  try {
    return decodeProperties(bytes);
  } catch {
    // A fault inside a nested header value: the letter goes on without its properties rather than not at all.
    return {};
  }
}

function keysOf(headers: FieldTable): readonly string[] {
  const field = headers.get('CC');
  if (field?.tag !== 'A') return [];
  return field.value.flatMap((item) => (item.tag === 'S' ? [Buffer.from(item.value).toString('utf8')] : []));
}
