import { parse } from 'yaml';
import { z } from 'zod';
import { AccessPolicy, compilePattern, type AccessRule } from '../../core/access/policy.js';
import type { Access, ResourceKind } from '../../core/access/resource.js';

const pattern = z.string().refine(isPattern, 'is no regular expression');

/** One rule of a policy file, in the form and with the names of the native API's own policies. */
const rule = z.strictObject({
  ClientID: pattern,
  Channel: pattern,
  Events: z.boolean().default(false),
  EventsStore: z.boolean().default(false),
  Queues: z.boolean().default(false),
  Commands: z.boolean().default(false),
  Queries: z.boolean().default(false),
  Read: z.boolean().default(false),
  Write: z.boolean().default(false),
});

const KINDS = {
  Events: 'events',
  EventsStore: 'log',
  Queues: 'queue',
  Commands: 'commands',
  Queries: 'queries',
} as const satisfies Record<string, ResourceKind>;
const ACCESSES = { Read: 'read', Write: 'write' } as const satisfies Record<string, Access>;

/** Rules of one policy. */
const RULES_MAX = 10_000;

/**
 * The policy in a JSON or YAML text: a list of rules. Names are taken whatever their case, as the native server does.
 * Throws an error with one line for each fault.
 */
export function readPolicy(name: string, text: string): AccessPolicy {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new Error(`${name}: neither JSON nor YAML (${why})`, { cause: error });
  }
  const read = z
    .array(rule)
    .max(RULES_MAX)
    .safeParse(Array.isArray(raw) ? raw.map(withKnownNames) : raw);
  if (read.success) return new AccessPolicy(read.data.map(ruleOf));
  const faults = read.error.issues.map(({ path: [place, field], message }) =>
    place === undefined
      ? `${name}: must be a list of rules`
      : `${name}: rule ${Number(place) + 1}${field === undefined ? '' : `, ${String(field)}`}: ${message}`,
  );
  throw new Error(faults.join('\n'));
}

function ruleOf(read: z.output<typeof rule>): AccessRule {
  const chosen = <T>(names: Record<string, T>): T[] =>
    Object.entries(names).flatMap(([name, value]) =>
      read[name as keyof typeof read] === true ? [value] : [],
    );
  return {
    clientId: read.ClientID,
    channel: read.Channel,
    kinds: chosen<ResourceKind>(KINDS),
    accesses: chosen<Access>(ACCESSES),
  };
}

function withKnownNames(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry;
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [knownName(name), value]));
}

function knownName(name: string): string {
  const plain = name.replaceAll('_', '').toLowerCase();
  return Object.keys(rule.shape).find((known) => known.toLowerCase() === plain) ?? name;
}

function isPattern(text: string): boolean {
  try {
    compilePattern(text);
    return true;
  } catch {
    return false;
  }
}
