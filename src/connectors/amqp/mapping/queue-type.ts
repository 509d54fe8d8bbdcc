import type { QueueType } from '../topology/types.js';
import type { FieldTable } from '../wire/field-table.js';
import { ReplyError } from '../wire/reply.js';

export const QUEUE_TYPES: readonly QueueType[] = ['classic', 'quorum', 'stream'];

/** What a queue is declared as, beside its arguments. */
export interface QueueProperties {
  readonly durable: boolean;
  readonly exclusive: boolean;
  readonly autoDelete: boolean;
}

export interface QueueContext {
  readonly vhost: string;
  readonly queue: string;
}

const OF_EVERY_TYPE = ['x-queue-type', 'x-max-length-bytes', 'x-queue-leader-locator', 'x-consumer-timeout'];
const OF_QUEUES = [
  'x-expires',
  'x-message-ttl',
  'x-dead-letter-exchange',
  'x-dead-letter-routing-key',
  'x-max-length',
  'x-overflow',
  'x-single-active-consumer',
];

/** Arguments that each type of queue knows, as RabbitMQ. One that only another type knows is refused. */
const KNOWN_ARGUMENTS: Readonly<Record<QueueType, ReadonlySet<string>>> = {
  classic: new Set([
    ...OF_EVERY_TYPE,
    ...OF_QUEUES,
    'x-max-priority',
    'x-queue-mode',
    'x-queue-version',
    'x-queue-master-locator',
  ]),
  quorum: new Set([
    ...OF_EVERY_TYPE,
    ...OF_QUEUES,
    'x-delivery-limit',
    'x-quorum-initial-group-size',
    'x-quorum-target-group-size',
    'x-dead-letter-strategy',
    'x-max-in-memory-length',
    'x-max-in-memory-bytes',
  ]),
  stream: new Set([
    ...OF_EVERY_TYPE,
    'x-max-age',
    'x-stream-max-segment-size-bytes',
    'x-stream-filter-size-bytes',
    'x-initial-cluster-size',
  ]),
};

const MODULES: Readonly<Record<QueueType, string>> = {
  classic: 'rabbit_classic_queue',
  quorum: 'rabbit_quorum_queue',
  stream: 'rabbit_stream_queue',
};

/** The type in a queue's arguments, checked before; classic when they name none. */
export function queueTypeOf(table: FieldTable): QueueType {
  const field = table.get('x-queue-type');
  const text = field?.tag === 'S' ? Buffer.from(field.value).toString('utf8') : undefined;
  return text === 'quorum' || text === 'stream' ? text : 'classic';
}

/** Whether arguments name the classic type, or none. */
export function saysClassic(table: FieldTable): boolean {
  const field = table.get('x-queue-type');
  return (
    field === undefined || (field.tag === 'S' && Buffer.from(field.value).toString('utf8') === 'classic')
  );
}

/** False for arguments that only queues of other types know. */
export function isArgumentOf(type: QueueType, name: string): boolean {
  return KNOWN_ARGUMENTS[type].has(name) || !Object.values(KNOWN_ARGUMENTS).some((names) => names.has(name));
}

/** Refuses arguments and properties that the queue's type does not go with; 406 with RabbitMQ's texts. */
export function checkQueueType(table: FieldTable, context: QueueContext, queue: QueueProperties): void {
  const type = queueTypeOf(table);
  const subject = `for queue '${context.queue}' in vhost '${context.vhost}'`;
  for (const name of table.keys()) {
    if (isArgumentOf(type, name)) continue;
    throw new ReplyError(406, `invalid arg '${name}' ${subject} of queue type ${MODULES[type]}`);
  }
  const fault = type === 'classic' ? undefined : faultOf(queue);
  if (fault !== undefined) throw new ReplyError(406, `invalid property '${fault}' ${subject}`);
}

/** The property that only classic queues go with. */
function faultOf({ durable, exclusive, autoDelete }: QueueProperties): string | undefined {
  if (!durable) return 'non-durable';
  if (exclusive) return 'exclusive-owner';
  return autoDelete ? 'auto-delete' : undefined;
}

/**
 * The arguments of a declaration, with the type that its virtual host gives to queues that name none. What does not go with
 * that type stays a classic queue.
 */
export function withDefaultType(
  table: FieldTable,
  byDefault: QueueType | undefined,
  queue: QueueProperties,
): FieldTable {
  if (byDefault === undefined || table.has('x-queue-type')) return table;
  if (byDefault !== 'classic' && faultOf(queue) !== undefined) return table;
  return new Map([...table, ['x-queue-type', { tag: 'S', value: Buffer.from(byDefault) }]]);
}

/** Refuses a queue that the broker is to name, when its type does not go with that. */
export function checkServerNamed(table: FieldTable): void {
  const type = queueTypeOf(table);
  if (type === 'classic') return;
  throw new ReplyError(406, `Cannot declare a server-named queue for type ${MODULES[type]}`);
}
