import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { ageMs, DURATION_MS_MAX, integerOf, OVERFLOW_VALUES } from './queue-arguments.js';
import { isArgumentOf } from './queue-type.js';
import type { PolicyDefinition, PolicyValue, QueueType } from '../topology/types.js';

interface Setting {
  /** Ends the sentence "… is not a valid". */
  readonly what: string;
  readonly isValid: (value: unknown) => boolean;
  /** What holds when an argument (or an operator policy) says something else. */
  readonly merge: 'smaller' | 'argument';
  /** Whether an operator may set it. */
  readonly operator?: true;
  /** Queues of these types do not know it, though it stands for no argument. */
  readonly notFor?: readonly QueueType[];
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isListOfTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const atLeast =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (value: unknown): boolean =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
const oneOf =
  (...values: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === 'string' && values.includes(value);

const bound = (what: string, isValid: Setting['isValid']): Setting => ({ what, isValid, merge: 'smaller' });
const operatorBound = (what: string, isValid: Setting['isValid']): Setting => ({
  ...bound(what, isValid),
  operator: true,
});
const choice = (what: string, isValid: Setting['isValid']): Setting => ({ what, isValid, merge: 'argument' });
const mirroring = (what: string, isValid: Setting['isValid']): Setting => ({
  ...choice(what, isValid),
  notFor: ['quorum', 'stream'],
});

/** Everything RabbitMQ's policies know. What is about mirrors and places of queues is accepted and has no effect here. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  'alternate-exchange': choice('alternate exchange name', isText),
  'consumer-timeout': bound('consumer timeout', atLeast(0)),
  'dead-letter-exchange': choice('dead letter exchange name', isText),
  'dead-letter-routing-key': choice('dead letter routing key', isText),
  'dead-letter-strategy': choice('dead letter strategy', oneOf('at-most-once', 'at-least-once')),
  'delivery-limit': operatorBound('delivery limit', atLeast(0)),
  expires: operatorBound('queue expiry', atLeast(1, DURATION_MS_MAX)),
  'ha-mode': mirroring('ha-mode value', oneOf('all', 'exactly', 'nodes')),
  'ha-params': mirroring('ha-params value', (value) => atLeast(1)(value) || isListOfTexts(value)),
  'ha-promote-on-failure': mirroring('ha-promote-on-failure value', oneOf('always', 'when-synced')),
  'ha-promote-on-shutdown': mirroring('ha-promote-on-shutdown value', oneOf('always', 'when-synced')),
  'ha-sync-batch-size': mirroring('ha-sync-batch-size value', atLeast(1)),
  'ha-sync-mode': mirroring('ha-sync-mode value', oneOf('automatic', 'manual')),
  'initial-cluster-size': choice('cluster size', atLeast(1)),
  'max-age': bound('max age', (value) => typeof value === 'string' && ageMs(value) !== undefined),
  'max-in-memory-bytes': operatorBound('maximum memory in bytes', atLeast(0)),
  'max-in-memory-length': operatorBound('maximum memory in length', atLeast(0)),
  'max-length': operatorBound('maximum length', atLeast(0)),
  'max-length-bytes': operatorBound('maximum length in bytes', atLeast(0)),
  'message-ttl': operatorBound('message TTL', atLeast(0, DURATION_MS_MAX)),
  overflow: choice('overflow value', oneOf(...OVERFLOW_VALUES)),
  'queue-leader-locator': choice('queue leader locator', isText),
  'queue-master-locator': choice('queue master locator', isText),
  'queue-mode': choice('queue-mode value', oneOf('default', 'lazy')),
  'queue-version': choice('queue version', (value) => value === 1 || value === 2),
  'stream-filter-size-bytes': choice('filter size', atLeast(16, 255)),
  'stream-max-segment-size-bytes': choice('segment size', atLeast(0)),
  'target-group-size': choice('group size', atLeast(1)),
};

const settingOf = (key: string): Setting | undefined =>
  Object.hasOwn(SETTINGS, key) ? SETTINGS[key] : undefined;

/** What is wrong with a definition, in RabbitMQ's words; undefined when nothing is. */
export function definitionFault(
  definition: Readonly<Record<string, unknown>>,
  operator: boolean,
): string | undefined {
  const entries = Object.entries(definition);
  if (entries.length === 0) return 'no policy provided';
  const unknown = entries.filter(([key]) => {
    const setting = settingOf(key);
    return setting === undefined || (operator && setting.operator !== true && !key.startsWith('ha-'));
  });
  if (unknown.length > 0) {
    const shown = unknown.map(([key, value]) => `{${erlangTerm(key)},${erlangTerm(value)}}`);
    return `[${shown.join(',')}] are not recognised policy settings`;
  }
  for (const [key, value] of entries) {
    const { what, isValid } = settingOf(key) as Setting;
    if (!isValid(value)) return `${erlangTerm(value)} is not a valid ${what}`;
  }
  return undefined;
}

/** How RabbitMQ shows a JSON value in its texts. */
export function erlangTerm(value: unknown): string {
  return typeof value === 'string' ? `<<"${value}">>` : JSON.stringify(value);
}

/** Whether a queue of the type takes the policy: one that says anything the type does not know passes it by. */
export function appliesToType(definition: PolicyDefinition, type: QueueType): boolean {
  return Object.keys(definition).every(
    (key) => settingOf(key)?.notFor?.includes(type) !== true && isArgumentOf(type, `x-${key}`),
  );
}

/** What a user's and an operator's policy say together: of two bounds the smaller one, else the user's. */
export function mergedDefinition(user: PolicyDefinition, operator: PolicyDefinition): PolicyDefinition {
  const merged: Record<string, PolicyValue> = { ...operator };
  for (const [key, value] of Object.entries(user)) {
    const other = merged[key];
    merged[key] =
      other === undefined || settingOf(key)?.merge !== 'smaller' ? value : smaller(key, value, other);
  }
  return merged;
}

function smaller(key: string, a: PolicyValue, b: PolicyValue): PolicyValue {
  const size = (value: PolicyValue): number =>
    key === 'max-age' && typeof value === 'string' ? (ageMs(value) ?? Infinity) : Number(value);
  return size(b) < size(a) ? b : a;
}

/**
 * The arguments a queue lives by: those it was declared with and what its policies add. Of two bounds the smaller one holds,
 * else the argument.
 */
export function effectiveArguments(declared: FieldTable, definition: PolicyDefinition): FieldTable {
  const keys = Object.keys(definition).filter((key) => !key.startsWith('ha-'));
  if (keys.length === 0) return declared;
  const table = new Map(declared);
  for (const key of keys) {
    const value = definition[key] as PolicyValue;
    const argument = declared.get(`x-${key}`);
    if (argument === undefined) {
      table.set(`x-${key}`, fieldOf(value));
    } else if (settingOf(key)?.merge === 'smaller') {
      const own = plain(argument);
      // A negative limit is none (x-delivery-limit).
      const isBound = own !== undefined && !(typeof own === 'number' && own < 0);
      table.set(`x-${key}`, fieldOf(isBound ? smaller(key, own, value) : value));
    }
  }
  // A dead-letter key alone says nothing: a policy may name it for queues that have an exchange.
  if (!table.has('x-dead-letter-exchange')) table.delete('x-dead-letter-routing-key');
  return table;
}

function fieldOf(value: PolicyValue): FieldValue {
  switch (typeof value) {
    case 'number':
      return { tag: 'l', value: BigInt(value) };
    case 'string':
      return { tag: 'S', value: Buffer.from(value) };
    default:
      return { tag: 'A', value: value.map(fieldOf) };
  }
}

function plain(field: FieldValue): PolicyValue | undefined {
  return field.tag === 'S' ? Buffer.from(field.value).toString('utf8') : integerOf(field);
}
