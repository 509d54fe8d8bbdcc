import type { DeadLetterReason, QueueSettings } from '../../../core/queue/types.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { ReplyError } from '../wire/reply.js';
import { erlangType } from './publish-properties.js';

/** Ten years, RabbitMQ's bound of durations. */
const DURATION_MS_MAX = 315_360_000_000;

const OVERFLOW: Readonly<Record<string, QueueSettings['overflow']>> = {
  'drop-head': 'drop-head',
  'reject-publish': 'reject',
  'reject-publish-dlx': 'reject-dead-letter',
};

const DEAD_LETTER_REASONS: readonly DeadLetterReason[] = ['max-receives', 'expired', 'rejected', 'overflow'];

/** Arguments that a second declaration must repeat, in the order they are compared. Others are accepted and not looked at. */
export const COMPARED_QUEUE_ARGUMENTS: readonly string[] = [
  'x-expires',
  'x-message-ttl',
  'x-dead-letter-exchange',
  'x-dead-letter-routing-key',
  'x-max-length',
  'x-max-length-bytes',
  'x-overflow',
  'x-max-priority',
  'x-queue-mode',
  'x-queue-version',
  'x-queue-type',
  'x-single-active-consumer',
  'x-delivery-limit',
];

export interface QueueContext {
  readonly vhost: string;
  readonly queue: string;
}

/** Where a queue's dead letters go, as the route of `DeadLetterSettings`. */
export interface DeadLetterRoute extends QueueContext {
  readonly exchange: string;
  /** Absent: the message's own keys. */
  readonly routingKey?: string | undefined;
}

/** Checks the arguments of a queue and translates those the core knows; 406 with RabbitMQ's texts. */
export function queueSettings(table: FieldTable, context: QueueContext): Partial<QueueSettings> {
  const check = new ArgumentCheck(table, context);
  const ttl = check.integer('x-message-ttl', 0, DURATION_MS_MAX);
  check.integer('x-expires', 1, DURATION_MS_MAX);
  const maxLength = check.integer('x-max-length', 0);
  const maxLengthBytes = check.integer('x-max-length-bytes', 0);
  const maxPriority = check.integer('x-max-priority', 0, 255);
  const deliveryLimit = check.integer('x-delivery-limit', -1);
  const overflow = check.overflow();
  check.queueType();
  check.flag('x-single-active-consumer');
  const exchange = check.text('x-dead-letter-exchange');
  const routingKey = check.text('x-dead-letter-routing-key');
  if (routingKey !== undefined && exchange === undefined) {
    throw check.invalid('x-dead-letter-routing-key', 'routing_key_but_no_dlx_defined');
  }
  const settings: { -readonly [K in keyof QueueSettings]?: QueueSettings[K] } = { expiredLeaseTo: 'origin' };
  // The core's 0 means no bound; a TTL of 0 is one millisecond.
  if (ttl !== undefined) settings.messageTtlMs = Math.max(ttl, 1);
  if (maxLength !== undefined) settings.maxLength = maxLength;
  if (maxLengthBytes !== undefined) settings.maxLengthBytes = maxLengthBytes;
  if (maxPriority !== undefined) settings.maxPriority = maxPriority;
  if (overflow !== undefined) settings.overflow = overflow;
  const maxReceiveCount = deliveryLimit === undefined || deliveryLimit < 0 ? undefined : deliveryLimit + 1;
  if (exchange !== undefined) {
    const route: DeadLetterRoute = { ...context, exchange, routingKey };
    settings.deadLetter = {
      target: { route: `amqp:${JSON.stringify(route)}` },
      reasons: DEAD_LETTER_REASONS,
      maxReceiveCount,
    };
  } else if (maxReceiveCount !== undefined) {
    const route: DeadLetterRoute = { ...context, exchange: '', routingKey: '' };
    settings.deadLetter = {
      target: { route: `amqp:${JSON.stringify(route)}` },
      reasons: [],
      maxReceiveCount,
    };
  }
  return settings;
}

class ArgumentCheck {
  readonly #table: FieldTable;
  readonly #context: QueueContext;

  constructor(table: FieldTable, context: QueueContext) {
    this.#table = table;
    this.#context = context;
  }

  invalid(name: string, why: string): ReplyError {
    const { vhost, queue } = this.#context;
    return new ReplyError(406, `invalid arg '${name}' for queue '${queue}' in vhost '${vhost}': ${why}`);
  }

  integer(name: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
    const field = this.#table.get(name);
    if (field === undefined) return undefined;
    const value = integerOf(field);
    if (value === undefined) throw this.invalid(name, `"expected integer, got ${erlangType(field)}"`);
    if (value < min) throw this.invalid(name, value === 0 ? `{value_zero,0}` : `{value_negative,${value}}`);
    if (value > max) {
      throw this.invalid(
        name,
        name === 'x-max-priority' ? `{max_value_exceeded,${value}}` : `{value_too_large,${value}}`,
      );
    }
    return value;
  }

  text(name: string): string | undefined {
    const field = this.#table.get(name);
    if (field === undefined) return undefined;
    if (field.tag !== 'S') {
      const { vhost, queue } = this.#context;
      throw new ReplyError(
        406,
        `invalid type '${erlangType(field)}' for arg '${name}' in queue '${queue}' in vhost '${vhost}'`,
      );
    }
    return Buffer.from(field.value).toString('utf8');
  }

  overflow(): QueueSettings['overflow'] | undefined {
    const text = this.text('x-overflow');
    if (text === undefined) return undefined;
    const overflow = Object.hasOwn(OVERFLOW, text) ? OVERFLOW[text] : undefined;
    if (overflow === undefined) throw this.invalid('x-overflow', 'invalid_overflow');
    return overflow;
  }

  flag(name: string): void {
    const field = this.#table.get(name);
    if (field !== undefined && field.tag !== 't')
      throw this.invalid(name, `{unacceptable_type,${erlangType(field)}}`);
  }

  queueType(): void {
    const text = this.text('x-queue-type');
    if (text === undefined || text === 'classic' || text === 'quorum') return;
    throw this.invalid('x-queue-type', `"unsupported queue type '${text}'"`);
  }
}

/** The whole number in a field of an integer type. */
export function integerOf(field: FieldValue): number | undefined {
  switch (field.tag) {
    case 'b':
    case 'B':
    case 's':
    case 'u':
    case 'I':
    case 'i':
      return field.value;
    case 'l':
    case 'L':
      return Number(field.value);
    default:
      return undefined;
  }
}
