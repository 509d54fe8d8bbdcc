import { isIP } from 'node:net';
import { AttributeFault } from './attribute-fault.js';
import { alternativesOf, isObject } from './filter-policy.js';
import type { FilterScope } from './filter-policy.js';

const POLICY_BYTES_MAX = 262_144;
const KEYS_MAX = 5;
/** Values of all keys multiplied, each times its depth. */
const COMBINATIONS_MAX = 150;
const DEPTH_MAX = 100;
const WILDCARDS_MAX = 3;

type Json = Readonly<Record<string, unknown>>;

function refuse(what: string): never {
  throw new AttributeFault(`FilterPolicy: ${what}`);
}

/**
 * Checks the text of a FilterPolicy and gives its normal form, `''` when it filters nothing. Throws AttributeFault with
 * AWS's texts, less the position AWS's parser adds to some.
 */
export function checkFilterPolicy(text: string, scope: FilterScope): string {
  if (text === '') return '';
  if (Buffer.byteLength(text) > POLICY_BYTES_MAX) refuse('Filter policy is too large');
  const policy = parse(text);
  if (!isObject(policy)) refuse('Filter is not an object');
  const keys = Object.keys(policy).length;
  if (keys === 0) return '';
  if (keys > KEYS_MAX) refuse(`Filter policy can not have more than ${KEYS_MAX} keys`);
  const rules: unknown[] = [];
  const combinations = collect(policy, { depth: 1, combinations: 1, scope, rules });
  if (combinations > COMBINATIONS_MAX) refuse('Filter policy is too complex');
  for (const rule of rules) checkRule(rule);
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse('failed to parse JSON.');
  }
}

interface Walk {
  readonly depth: number;
  readonly combinations: number;
  readonly scope: FilterScope;
  readonly rules: unknown[];
}

/** Gathers the rules of a policy and counts its combinations: alternatives add, everything else multiplies. */
function collect(policy: Json, walk: Walk): number {
  let { combinations } = walk;
  if (walk.depth > DEPTH_MAX) refuse('Filter policy is too complex');
  for (const [key, value] of Object.entries(policy)) {
    if (isObject(value)) {
      if (walk.scope === 'attributes') {
        collect(value, { ...walk, scope: 'body', combinations: 1, rules: [] });
        throw new AttributeFault(
          'Filter policy scope MessageAttributes does not support nested filter policy',
        );
      }
      combinations = collect(value, { ...walk, depth: walk.depth + 1, combinations });
      continue;
    }
    if (!Array.isArray(value)) refuse(`"${key}" must be an object or an array`);
    const list = value as readonly unknown[];
    if (list.length === 0) refuse('Empty arrays are not allowed');
    const alternatives = alternativesOf(key, list);
    if (alternatives === undefined) {
      walk.rules.push(...list);
      combinations *= list.length * walk.depth;
    } else {
      const before = combinations;
      combinations = 0;
      for (const one of alternatives) combinations += collect(one, { ...walk, combinations: before });
    }
    if (combinations > Number.MAX_SAFE_INTEGER) refuse('Filter policy is too complex');
  }
  return combinations;
}

function checkRule(rule: unknown): void {
  if (isScalar(rule)) return;
  if (!isObject(rule)) return refuse('Match value must be String, number, true, false, or null');
  const entries = Object.entries(rule);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) return refuse('Only one key allowed in match expression');
  const [operator, operand] = entry;
  switch (operator) {
    case 'equals-ignore-case':
    case 'prefix':
    case 'suffix':
      if (typeof operand !== 'string') refuse(`${operator} match pattern must be a string`);
      return;
    case 'wildcard':
      checkWildcard(operand);
      return;
    case 'anything-but':
      checkAnythingBut(operand);
      return;
    case 'exists':
      if (typeof operand !== 'boolean') refuse('exists match pattern must be either true or false.');
      return;
    case 'numeric':
      checkNumeric(operand);
      return;
    case 'cidr':
      checkCidr(operand);
      return;
    default:
      return refuse(`Unrecognized match type ${operator}`);
  }
}

function isScalar(value: unknown): boolean {
  return (
    value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
  );
}

function checkWildcard(operand: unknown): void {
  if (typeof operand !== 'string') return refuse('wildcard match pattern must be a string');
  if (operand.includes('**')) refuse('Consecutive wildcard characters are not allowed');
  if (operand.split('*').length - 1 > WILDCARDS_MAX) {
    refuse(`At most ${WILDCARDS_MAX} wildcard characters are allowed in a pattern`);
  }
}

function checkAnythingBut(operand: unknown): void {
  if (Array.isArray(operand)) {
    if (operand.length === 0) refuse('Empty arrays are not allowed');
    for (const one of operand as readonly unknown[]) {
      if (!isScalar(one)) refuse('Inside anything but list, start|null|boolean is not supported.');
    }
    return;
  }
  if (isObject(operand)) {
    const entries = Object.entries(operand);
    const other = entries.find(([name]) => name !== 'prefix');
    if (other !== undefined) refuse(`Unsupported anything-but pattern: ${other[0]}`);
    if (entries.length !== 1) refuse('Only one key allowed in match expression');
    if (typeof operand['prefix'] !== 'string') refuse('prefix match pattern must be a string');
    return;
  }
  if (!isScalar(operand)) refuse('Match value must be String, number, true, false, or null');
}

function checkNumeric(operand: unknown): void {
  const terms: unknown[] = Array.isArray(operand) ? [...(operand as readonly unknown[])] : [operand];
  if (terms.length === 0) refuse('Invalid member in numeric match: ]');
  const [operator, value, second, top] = terms;
  if (typeof operator !== 'string') return refuse(`Invalid member in numeric match: ${shown(operator)}`);
  if (!['<', '<=', '=', '>', '>='].includes(operator)) {
    refuse(`Unrecognized numeric range operator: ${operator}`);
  }
  if (typeof value !== 'number') {
    return refuse(`Value of ${operator === '=' ? 'equals' : operator} must be numeric`);
  }
  if (terms.length === 2) return;
  if (operator !== '>' && operator !== '>=') refuse('Too many elements in numeric expression');
  if (typeof second !== 'string') return refuse(`Bad value in numeric range: ${shown(second)}`);
  if (second !== '<' && second !== '<=') refuse(`Bad numeric range operator: ${second}`);
  if (typeof top !== 'number') return refuse(`Value of ${second} must be numeric`);
  if (top <= value) refuse('Bottom must be less than top');
  if (terms.length > 4) refuse('Too many terms in numeric range expression');
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 100);
}

function checkCidr(operand: unknown): void {
  // The text is that of prefixes; so it is on AWS.
  if (typeof operand !== 'string') return refuse('prefix match pattern must be a string');
  const parts = operand.split('/');
  const [address = '', bits = ''] = parts;
  if (parts.length !== 2) refuse("Malformed CIDR, one '/' required");
  if (!/^-?\d{1,9}$/.test(bits)) refuse('Malformed CIDR, mask bits must be an integer');
  const version = isIP(address);
  if (version === 0 || address.includes('%')) refuse(`Nonstandard IP address: ${address}`);
  if (Number(bits) < 0) refuse('Malformed CIDR, mask bits must not be negative');
  if (version === 4 && Number(bits) > 32) refuse('IPv4 mask bits must be <= 32');
  if (version === 6 && Number(bits) > 128) refuse('IPv6 mask bits must be <= 128');
}
