import type { ChannelName } from '../../../core/channel-name.js';
import type { FieldTable } from '../wire/field-table.js';

const ROUTING_TYPES = ['direct', 'fanout', 'topic', 'headers', 'x-consistent-hash'] as const;
/** How an exchange finds the bindings a message follows. */
export type RoutingType = (typeof ROUTING_TYPES)[number];

export const EXCHANGE_TYPES = [...ROUTING_TYPES, 'x-delayed-message'] as const;
export type ExchangeType = (typeof EXCHANGE_TYPES)[number];

/** What an exchange was declared as. */
export interface ExchangeDefinition {
  readonly name: string;
  readonly type: ExchangeType;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly arguments: FieldTable;
}

/** An exchange of a virtual host, with what policies make of it. */
export interface Exchange extends ExchangeDefinition {
  policies: AppliedPolicies;
  /** Where messages go that reach no queue: the argument, else what a policy says. */
  alternate: string | undefined;
}

/** The type an `x-delayed-message` exchange routes as; undefined when its argument names none. */
export function delayedTypeOf(table: FieldTable): RoutingType | undefined {
  const field = table.get('x-delayed-type');
  const text = field?.tag === 'S' ? Buffer.from(field.value).toString('utf8') : undefined;
  return ROUTING_TYPES.find((type) => type === text);
}

/** Delayed messages wait in their queues: routing is the same for them as for others. */
export function routingTypeOf(exchange: ExchangeDefinition): RoutingType {
  return exchange.type === 'x-delayed-message'
    ? (delayedTypeOf(exchange.arguments) ?? 'direct')
    : exchange.type;
}

/** `x-queue-type`: classic and quorum queues are queue channels, streams are logs. */
export type QueueType = 'classic' | 'quorum' | 'stream';

/** What a queue was declared as. */
export interface QueueDefinition {
  readonly name: string;
  readonly channel: ChannelName;
  readonly durable: boolean;
  /** The connection that owns an exclusive queue. */
  readonly owner: number | undefined;
  readonly autoDelete: boolean;
  readonly arguments: FieldTable;
}

/** A queue of a virtual host, with what lives only as long as this process. */
export interface Queue extends QueueDefinition {
  readonly type: QueueType;
  policies: AppliedPolicies;
  /** What it lives by: its own arguments, and what policies add. */
  effective: FieldTable;
  /** Consumers over AMQP. */
  consumers: number;
  /** Unix ms of its last use, where that counts (`x-expires`). */
  usedAt: number;
  /** False once it was deleted: holders of this object must not use it any more. */
  alive: boolean;
}

export type PolicyValue = string | number | readonly string[];
/** What a policy sets, in RabbitMQ's words: `max-length`, `dead-letter-exchange`, … */
export type PolicyDefinition = Readonly<Record<string, PolicyValue>>;

/** The policies that hold for a queue or an exchange: of users' and of operators' one each, and what they come to. */
export interface AppliedPolicies {
  readonly user: string | undefined;
  readonly operator: string | undefined;
  readonly definition: PolicyDefinition;
}

export interface Destination {
  readonly kind: 'queue' | 'exchange';
  readonly name: string;
}

export interface Binding {
  readonly source: string;
  readonly destination: Destination;
  readonly routingKey: string;
  readonly arguments: FieldTable;
  /** False when an end of it is not durable. */
  readonly durable: boolean;
}
