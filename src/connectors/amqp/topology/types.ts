import type { ChannelName } from '../../../core/channel-name.js';
import type { FieldTable } from '../wire/field-table.js';

export const EXCHANGE_TYPES = ['direct', 'fanout', 'topic', 'headers'] as const;
export type ExchangeType = (typeof EXCHANGE_TYPES)[number];

export interface Exchange {
  readonly name: string;
  readonly type: ExchangeType;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly arguments: FieldTable;
}

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
  /** Consumers over AMQP. */
  consumers: number;
  /** Unix ms of its last use, where that counts (`x-expires`). */
  usedAt: number;
  /** False once it was deleted: holders of this object must not use it any more. */
  alive: boolean;
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
