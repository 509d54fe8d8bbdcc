import { createHash } from 'node:crypto';
import type { ChannelName } from '../../../core/channel-name.js';
import { percentEncode } from '../../../base/percent.js';
import type { FieldTable } from '../wire/field-table.js';
import { decodeTable, encodeTable } from '../wire/field-table.js';
import type { ApplyTo, Policy } from './policy-set.js';
import type {
  Binding,
  ExchangeDefinition,
  ExchangeType,
  PolicyDefinition,
  QueueDefinition,
  QueueType,
} from './types.js';

export const VHOST_KIND = 'amqp.vhost';
export const QUEUE_KIND = 'amqp.queue';
export const EXCHANGE_KIND = 'amqp.exchange';
export const BINDING_KIND = 'amqp.binding';
export const POLICY_KIND = 'amqp.policy';
export const OPERATOR_POLICY_KIND = 'amqp.operator-policy';

/** Registry values. `arguments` is a field table's wire bytes in base64, because its value types must survive. */
export interface QueueRecord {
  readonly vhost: string;
  readonly name: string;
  readonly channel: string;
  readonly autoDelete: boolean;
  readonly arguments: string;
}

/** A virtual host that was made, and not only connected to. */
export interface VhostRecord {
  readonly name: string;
  /** What administrators note of it. */
  readonly description?: string;
  readonly tags?: readonly string[];
  /** What its queues become that name no type. */
  readonly defaultQueueType?: QueueType;
}

export interface ExchangeRecord {
  readonly vhost: string;
  readonly name: string;
  readonly type: ExchangeType;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly arguments: string;
}

export interface BindingRecord {
  readonly vhost: string;
  readonly source: string;
  readonly destinationKind: 'queue' | 'exchange';
  readonly destination: string;
  readonly routingKey: string;
  readonly arguments: string;
}

export interface PolicyRecord {
  readonly vhost: string;
  readonly name: string;
  readonly pattern: string;
  readonly definition: PolicyDefinition;
  readonly priority: number;
  readonly applyTo: ApplyTo;
}

/** Registry key of a queue, an exchange or a policy. */
export function resourceKey(vhost: string, name: string): string {
  return `${percentEncode(vhost)}/${percentEncode(name)}`;
}

/** Registry key of a binding: its ends and key, and a digest of its arguments when it has any. */
export function bindingKey(vhost: string, binding: Binding): string {
  const { source, destination, routingKey } = binding;
  const parts = [vhost, source, destination.kind, destination.name, routingKey].map(percentEncode);
  if (binding.arguments.size > 0) {
    const sorted = new Map([...binding.arguments].sort(([a], [b]) => (a < b ? -1 : 1)));
    parts.push(createHash('sha256').update(encodeTable(sorted)).digest('hex').slice(0, 32));
  }
  return parts.join('/');
}

export function queueRecord(vhost: string, queue: QueueDefinition): QueueRecord {
  const { name, channel, autoDelete } = queue;
  return { vhost, name, channel, autoDelete, arguments: tableText(queue.arguments) };
}

export function queueOfRecord(record: QueueRecord): QueueDefinition {
  const { name, autoDelete } = record;
  const channel = record.channel as ChannelName;
  return {
    name,
    channel,
    durable: true,
    owner: undefined,
    autoDelete,
    arguments: tableOfText(record.arguments),
  };
}

export function exchangeRecord(vhost: string, exchange: ExchangeDefinition): ExchangeRecord {
  const { name, type, autoDelete, internal } = exchange;
  return { vhost, name, type, autoDelete, internal, arguments: tableText(exchange.arguments) };
}

export function exchangeOfRecord(record: ExchangeRecord): ExchangeDefinition {
  const { name, type, autoDelete, internal } = record;
  return { name, type, durable: true, autoDelete, internal, arguments: tableOfText(record.arguments) };
}

export function bindingRecord(vhost: string, binding: Binding): BindingRecord {
  const { source, destination, routingKey } = binding;
  return {
    vhost,
    source,
    destinationKind: destination.kind,
    destination: destination.name,
    routingKey,
    arguments: tableText(binding.arguments),
  };
}

export function bindingOfRecord(record: BindingRecord): Binding {
  return {
    source: record.source,
    destination: { kind: record.destinationKind, name: record.destination },
    routingKey: record.routingKey,
    arguments: tableOfText(record.arguments),
    durable: true,
  };
}

export function policyRecord(vhost: string, policy: Policy): PolicyRecord {
  return { vhost, ...policy };
}

export function policyOfRecord(record: PolicyRecord): Policy {
  const { name, pattern, definition, priority, applyTo } = record;
  return { name, pattern, definition, priority, applyTo };
}

function tableText(table: FieldTable): string {
  return encodeTable(table).toString('base64');
}

function tableOfText(text: string): FieldTable {
  return decodeTable(Buffer.from(text, 'base64'));
}
