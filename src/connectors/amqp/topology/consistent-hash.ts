import { valueKey } from './headers-match.js';
import { ReplyError } from '../wire/reply.js';
import type { FieldTable } from '../wire/field-table.js';
import type { Properties } from '../wire/properties.js';
import type { Binding } from './types.js';

/** What a consistent-hash exchange may look at besides the routing key, by the names RabbitMQ's arguments have. */
const HASHED_PROPERTIES: Readonly<Record<string, (properties: Properties) => string>> = {
  correlation_id: ({ correlationId }) => correlationId ?? '',
  message_id: ({ messageId }) => messageId ?? '',
  timestamp: ({ timestamp }) => String(timestamp ?? ''),
};

/** Checks the arguments of a consistent-hash exchange; 406 with RabbitMQ's texts. */
export function checkHashArguments(table: FieldTable): void {
  const property = textOf(table, 'hash-property');
  if (property === undefined) return;
  if (table.has('hash-header')) {
    throw new ReplyError(406, 'hash-header and hash-property are mutually exclusive');
  }
  if (!Object.hasOwn(HASHED_PROPERTIES, property)) {
    throw new ReplyError(406, `Unsupported property: ${property}`);
  }
}

/** The weight a binding key stands for; 406 with RabbitMQ's texts when it is none. */
export function weightOf(routingKey: string): number {
  if (!/^[+-]?\d{1,9}$/.test(routingKey)) {
    throw new ReplyError(
      406,
      `The binding key must be an integer: <<${routingKey === '' ? '' : `"${routingKey}"`}>>`,
    );
  }
  const weight = Number(routingKey);
  if (weight < 1) throw new ReplyError(406, 'The binding key must be greater than 0');
  return weight;
}

/** What is hashed of a message: its routing key, or what the exchange's arguments name. */
export function hashedText(table: FieldTable, routingKey: string, properties: () => Properties): string {
  const header = textOf(table, 'hash-header');
  if (header !== undefined) {
    const field = properties().headers?.get(header);
    return field === undefined ? '' : valueKey(field);
  }
  const property = textOf(table, 'hash-property');
  return property === undefined ? routingKey : (HASHED_PROPERTIES[property]?.(properties()) ?? '');
}

/**
 * One of the bindings for a text, always the same one, each as often as its weight says. A binding that comes or goes moves
 * only the texts it gains or loses (weighted rendezvous hashing).
 */
export function chooseByHash(bindings: Iterable<Binding>, text: string): Binding | undefined {
  let best: Binding | undefined;
  let highest = -Infinity;
  for (const binding of bindings) {
    const { kind, name } = binding.destination;
    const score = Number(binding.routingKey) / -Math.log(unit(`${kind} ${name}\0${text}`));
    if (score > highest) [best, highest] = [binding, score];
  }
  return best;
}

/** A number between 0 and 1, both excluded, from a text: FNV-1a, then murmur's finish so that like texts lie far apart. */
function unit(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 0x1_0000_0000;
}

function textOf(table: FieldTable, name: string): string | undefined {
  const field = table.get(name);
  return field?.tag === 'S' ? Buffer.from(field.value).toString('utf8') : undefined;
}
