import { SQS_FAULTS } from '../errors.js';
import { AwsFault } from '../wire/fault.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { isQueueAttributeName } from './queue-attributes.js';

const SYSTEM_NAMES: ReadonlySet<string> = new Set([
  'All',
  'SenderId',
  'SentTimestamp',
  'ApproximateReceiveCount',
  'ApproximateFirstReceiveTimestamp',
  'SequenceNumber',
  'MessageDeduplicationId',
  'MessageGroupId',
  'AWSTraceHeader',
  'DeadLetterQueueSourceArn',
]);

/** Which system attributes a receive asks for; undefined = none. */
export type SystemSelection = { readonly all: boolean; readonly names: ReadonlySet<string> } | undefined;

/** Reads both lists a client may name them in. Throws InvalidAttributeName. */
export function readSystemSelection(lists: readonly (readonly string[])[]): SystemSelection {
  const names = new Set<string>();
  for (const list of lists) {
    for (const name of list) {
      // The older list's type also names queue attributes; messages have none of them.
      if (!SYSTEM_NAMES.has(name) && !isQueueAttributeName(name)) {
        throw new AwsFault(SQS_FAULTS.invalidAttributeName, `Unknown Attribute ${name}.`);
      }
      names.add(name);
    }
  }
  return names.size === 0 ? undefined : { all: names.has('All'), names };
}

/** Which message attributes a receive asks for: everything, or exact names and prefixes. */
export type AttributeSelection =
  'all' | { readonly names: ReadonlySet<string>; readonly prefixes: readonly string[] };

/** Undefined = none. Names that no attribute can have just select nothing. */
export function readAttributeSelection(patterns: readonly string[]): AttributeSelection | undefined {
  if (patterns.length === 0) return undefined;
  const names = new Set<string>();
  const prefixes: string[] = [];
  for (const pattern of patterns) {
    if (pattern === 'All' || pattern === '.*' || pattern === '*') return 'all';
    if (pattern.endsWith('.*')) prefixes.push(pattern.slice(0, -2));
    else names.add(pattern);
  }
  return { names, prefixes };
}

export function isSelected(selection: AttributeSelection, { name }: MessageAttribute): boolean {
  if (selection === 'all') return true;
  return selection.names.has(name) || selection.prefixes.some((prefix) => name.startsWith(prefix));
}
