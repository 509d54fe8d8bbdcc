import type { LogSettings } from '../../../core/log/types.js';
import { NOTHING } from '../../../core/queue/bounds.js';
import type { DeadLetterReason, QueueSettings } from '../../../core/queue/types.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { ReplyError } from '../wire/reply.js';
import { erlangType } from './publish-properties.js';
import type { QueueContext } from './queue-type.js';
import { QUEUE_TYPES, queueTypeOf } from './queue-type.js';

/** Ten years, RabbitMQ's bound of durations. */
export const DURATION_MS_MAX = 315_360_000_000;

const OVERFLOW: Readonly<Record<string, QueueSettings['overflow']>> = {
  'drop-head': 'drop-head',
  'reject-publish': 'reject',
  'reject-publish-dlx': 'reject-dead-letter',
};

export const OVERFLOW_VALUES: readonly string[] = Object.keys(OVERFLOW);

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
  'x-max-age',
  'x-stream-max-segment-size-bytes',
  'x-queue-type',
  'x-single-active-consumer',
  'x-delivery-limit',
];

/** Where a queue's dead letters go, as the route of `DeadLetterSettings`. */
export interface DeadLetterRoute extends QueueContext {
  readonly exchange: string;
  /** Absent: the message's own keys. */
  readonly routingKey?: string | undefined;
}

/** Refuses arguments with values that are none; 406 with RabbitMQ's texts. */
export function checkQueueArguments(table: FieldTable, context: QueueContext): void {
  queueSettings(table, context);
  if (queueTypeOf(table) === 'stream') streamSettings(table, context);
}

/** Translates the arguments of a queue that the core knows; 406 with RabbitMQ's texts. */
export function queueSettings(table: FieldTable, context: QueueContext): Partial<QueueSettings> {
  const check = new ArgumentCheck(table, context);
  const ttl = check.integer('x-message-ttl', 0, DURATION_MS_MAX);
  check.integer('x-expires', 1, DURATION_MS_MAX);
  const maxLength = check.integer('x-max-length', 0);
  const maxLengthBytes = check.integer('x-max-length-bytes', 0);
  const maxPriority = check.integer('x-max-priority', 0, 255);
  const deliveryLimit = check.integer('x-delivery-limit', Number.MIN_SAFE_INTEGER);
  const overflow = check.overflow();
  check.integer('x-consumer-timeout', 0);
  check.oneOf('x-queue-type', QUEUE_TYPES, 'queue type');
  check.oneOf('x-queue-mode', ['default', 'lazy'], 'queue mode');
  check.version();
  check.flag('x-single-active-consumer');
  const exchange = check.exchange('x-dead-letter-exchange');
  const routingKey = check.text('x-dead-letter-routing-key');
  if (routingKey !== undefined && exchange === undefined) {
    throw check.invalid('x-dead-letter-routing-key', 'routing_key_but_no_dlx_defined');
  }
  const settings: { -readonly [K in keyof QueueSettings]?: QueueSettings[K] } = { expiredLeaseTo: 'origin' };
  if (ttl !== undefined) settings.messageTtlMs = boundOf(ttl);
  if (maxLength !== undefined) settings.maxLength = boundOf(maxLength);
  if (maxLengthBytes !== undefined) settings.maxLengthBytes = boundOf(maxLengthBytes);
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

/** The core's 0 means no bound. */
function boundOf(value: number): number {
  return value === 0 ? NOTHING : value;
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
    if (field.tag !== 'S') throw this.invalid(name, `{unacceptable_type,${erlangType(field)}}`);
    return Buffer.from(field.value).toString('utf8');
  }

  /** The name of an exchange. */
  exchange(name: string): string | undefined {
    const field = this.#table.get(name);
    if (field === undefined || field.tag === 'S') return this.text(name);
    const { vhost, queue } = this.#context;
    throw new ReplyError(
      406,
      `invalid type '${erlangType(field)}' for arg '${name}' in queue '${queue}' in vhost '${vhost}'`,
    );
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

  oneOf(name: string, values: readonly string[], what: string): void {
    const text = this.text(name);
    if (text === undefined || values.includes(text)) return;
    throw this.invalid(name, `"unsupported ${what} '${text}'"`);
  }

  version(): void {
    const version = this.integer('x-queue-version', 0);
    if (version === undefined || version === 1 || version === 2) return;
    throw this.invalid('x-queue-version', `"unsupported queue version '${version}'"`);
  }

  /** Milliseconds of a text such as `7D` or `1h`. */
  age(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const age = ageMs(text);
    if (age === undefined) throw this.invalid(name, 'invalid_max_age');
    return age;
  }
}

const AGE_UNITS_MS: Readonly<Record<string, number>> = {
  Y: 365 * 86_400_000,
  M: 30 * 86_400_000,
  D: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
};

/** Milliseconds of RabbitMQ's short durations: a number and one of Y, M, D, h, m, s. */
export function ageMs(text: string): number | undefined {
  const match = /^(\d{1,9})([YMDhms])$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (AGE_UNITS_MS[match[2] ?? ''] ?? 0);
}

/** The settings of a stream's log. Its arguments were checked by `queueSettings`; 406 for an age that is none. */
export function streamSettings(table: FieldTable, context: QueueContext): Partial<LogSettings> {
  const check = new ArgumentCheck(table, context);
  check.integer('x-stream-max-segment-size-bytes', 0);
  const retentionMs = check.age('x-max-age');
  const retentionBytes = check.integer('x-max-length-bytes', 0);
  return {
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(retentionBytes === undefined ? {} : { retentionBytes }),
  };
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
