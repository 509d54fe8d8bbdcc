import type { DeadLetterReason } from '../../../core/queue/types.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { EMPTY_TABLE, stringField } from '../wire/field-table.js';
import { CONTENT_HEADER_FIXED_BYTES, FRAME_OVERHEAD } from '../wire/frames.js';
import { decodeProperties, encodeProperties } from '../wire/properties.js';
import type { MessageParts } from './message-origin.js';

/** RabbitMQ's words for why a message was dead-lettered. */
export const DEATH_REASONS: Readonly<Record<DeadLetterReason, string>> = {
  'max-receives': 'delivery_limit',
  expired: 'expired',
  rejected: 'rejected',
  overflow: 'maxlen',
};

/** Entries of `x-death` that are kept, newest first: a content header must fit in one frame. */
const DEATHS_MAX = 100;

/** One death: where, why, and how the message had got there. */
export interface Death {
  readonly queue: string;
  readonly reason: string;
  readonly exchange: string;
  readonly routingKeys: readonly string[];
  /** Unix ms. */
  readonly time: number;
  readonly originalExpiration: string | undefined;
}

export type DeathEntry = FieldValue & { readonly tag: 'F' };

/** The `x-death` entries in headers, newest first. What clients put there besides tables is left out. */
export function deathsOf(headers: FieldTable): readonly DeathEntry[] {
  const field = headers.get('x-death');
  if (field?.tag !== 'A') return [];
  return field.value.filter((item): item is DeathEntry => item.tag === 'F');
}

/** The deaths with `death` in front: a new entry, or that of the same queue and reason counted up. */
export function withDeath(deaths: readonly DeathEntry[], death: Death): readonly DeathEntry[] {
  const grouped = groupedByCause(deaths);
  const key = causeKey(death.queue, death.reason);
  const known = grouped.get(key);
  grouped.delete(key);
  const newest = known === undefined ? newEntry(death) : withCount(known, countOf(known) + 1);
  return [newest, ...grouped.values()].slice(0, DEATHS_MAX);
}

/**
 * One entry a queue and reason, in the order of their first; what others put there may have several (RabbitMQ before 3.5 had
 * one for each death, without a count).
 */
function groupedByCause(deaths: readonly DeathEntry[]): Map<string, DeathEntry> {
  const grouped = new Map<string, DeathEntry>();
  for (const entry of deaths) {
    const key = causeKey(textOf(entry, 'queue'), textOf(entry, 'reason'));
    const first = grouped.get(key);
    grouped.set(key, first === undefined ? entry : withCount(first, countOf(first) + countOf(entry)));
  }
  return grouped;
}

const causeKey = (queue = '', reason = ''): string => `${reason}\0${queue}`;

/** An entry without a count is one death; so is one whose count cannot be counted on. */
function countOf(entry: DeathEntry): number {
  const count = Number(entry.value.get('count')?.value ?? 1);
  return Number.isSafeInteger(count) ? count : 1;
}

function withCount(entry: DeathEntry, count: number): DeathEntry {
  return { tag: 'F', value: new Map([...entry.value, ['count', { tag: 'l', value: BigInt(count) }]]) };
}

function newEntry(death: Death): DeathEntry {
  const entry = new Map<string, FieldValue>([
    ['count', { tag: 'l', value: 1n }],
    ['reason', stringField(death.reason)],
    ['queue', stringField(death.queue)],
    ['time', { tag: 'T', value: BigInt(Math.floor(death.time / 1000)) }],
    ['exchange', stringField(death.exchange)],
    ['routing-keys', { tag: 'A', value: death.routingKeys.map(stringField) }],
  ]);
  if (death.originalExpiration !== undefined) {
    entry.set('original-expiration', stringField(death.originalExpiration));
  }
  return { tag: 'F', value: entry };
}

/**
 * The headers of a dead letter: `x-death`, the first death (kept for ever) and the last one. `keepCc` false: its new key
 * replaces all its keys.
 */
export function deathHeaders(
  headers: FieldTable,
  death: Death,
  deaths: readonly DeathEntry[],
  keepCc: boolean,
): FieldTable {
  const out = new Map(headers);
  if (!keepCc) out.delete('CC');
  out.set('x-death', { tag: 'A', value: deaths });
  for (const [key, value] of [
    ['exchange', death.exchange],
    ['queue', death.queue],
    ['reason', death.reason],
  ] as const) {
    if (!out.has(`x-first-death-${key}`)) out.set(`x-first-death-${key}`, stringField(value));
    out.set(`x-last-death-${key}`, stringField(value));
  }
  return out;
}

/**
 * The properties with as many deaths, the newest ones, as fit in a frame: a content header cannot be split. What a publisher
 * made too large stays too large.
 */
export function withFittingTrail(parts: MessageParts, frameMax: number): MessageParts {
  const room = frameMax - CONTENT_HEADER_FIXED_BYTES - FRAME_OVERHEAD;
  if (parts.properties.length <= room) return parts;
  const properties = decodeProperties(parts.properties);
  let deaths = deathsOf(properties.headers ?? EMPTY_TABLE);
  let bytes = parts.properties;
  while (bytes.length > room && deaths.length > 0) {
    // Half of them at a time: that there are too many is rare, and that there are very many is, too.
    deaths = deaths.slice(0, Math.floor(deaths.length / 2));
    const headers = new Map(properties.headers);
    if (deaths.length > 0) headers.set('x-death', { tag: 'A', value: deaths });
    else headers.delete('x-death');
    bytes = encodeProperties({ ...properties, headers });
  }
  return { ...parts, properties: bytes };
}

/**
 * Whether a message that died now goes round: it has died in `queue` before, and nobody rejected it since. Such a message
 * is dropped, or it would go round for ever.
 */
export function isCycle(deaths: readonly DeathEntry[], queue: string): boolean {
  const at = deaths.findIndex((entry) => textOf(entry, 'queue') === queue);
  return at >= 0 && deaths.slice(0, at + 1).every((entry) => textOf(entry, 'reason') !== 'rejected');
}

function textOf(entry: DeathEntry, key: string): string | undefined {
  const field = entry.value.get(key);
  return field?.tag === 'S' ? Buffer.from(field.value).toString('utf8') : undefined;
}
