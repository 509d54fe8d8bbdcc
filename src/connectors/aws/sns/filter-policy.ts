import { BlockList, isIP } from 'node:net';

/** What a filter looks at: a scalar of JSON. */
export type Leaf = string | number | boolean | null;

/** Which part of a message a policy is about. */
export type FilterScope = 'attributes' | 'body';

/** A compiled filter policy. It holds no state: one serves any number of messages. */
export interface FilterPolicy {
  readonly scope: FilterScope;
  /** Names of attributes or dotted paths into the body; conditions refer to them by index. */
  readonly paths: readonly string[];
  readonly root: Group;
}

/** All conditions and, of each choice, one alternative must hold. */
interface Group {
  readonly conditions: readonly Condition[];
  readonly choices: readonly (readonly Group[])[];
}

/** One key of a policy: any of its rules must hold for any of the values found. */
interface Condition {
  readonly path: number;
  readonly exact: ReadonlySet<Leaf>;
  readonly tests: readonly Test[];
  readonly whenPresent: boolean;
  readonly whenAbsent: boolean;
}

/** Values that are null never come here; numbers are `comparable`. */
type Test = (value: string | number | boolean) => boolean;

type Json = Readonly<Record<string, unknown>>;

/** Names of the operators: objects with such a key are rules, not alternatives of `$or`. */
const OPERATORS: ReadonlySet<string> = new Set([
  'exists',
  'equals-ignore-case',
  'anything-but',
  'prefix',
  'suffix',
  'wildcard',
  'numeric',
  'cidr',
]);

/** The alternatives of a key, when it is a `$or` that means more than its name: two objects or more, none of them a rule. */
export function alternativesOf(key: string, value: unknown): readonly Json[] | undefined {
  if (key !== '$or' || !Array.isArray(value) || value.length < 2) return undefined;
  const list = value as readonly unknown[];
  const alternatives = list.filter(isObject);
  if (alternatives.length < list.length) return undefined;
  return alternatives.some((one) => Object.keys(one).some((name) => OPERATORS.has(name)))
    ? undefined
    : alternatives;
}

/** AWS compares numbers to the millionth, cut off. Below its bounds only: what is greater has no such digits. */
const COMPARED_BELOW = 1e9;
const MILLIONTHS = 1e6;

/** A number as filters compare it. */
export function comparable(value: number): number {
  if (Number.isInteger(value) || Math.abs(value) >= COMPARED_BELOW) return value;
  return Math.floor(value * MILLIONTHS) / MILLIONTHS;
}

function comparableLeaf(value: Leaf): Leaf {
  return typeof value === 'number' ? comparable(value) : value;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Compiles the text of a policy that was checked before (`checkFilterPolicy`). */
export function compileFilter(text: string, scope: FilterScope): FilterPolicy {
  const paths: string[] = [];
  return { scope, paths, root: compileGroup(JSON.parse(text) as Json, '', paths) };
}

function compileGroup(policy: Json, above: string, paths: string[]): Group {
  const conditions: Condition[] = [];
  const choices: (readonly Group[])[] = [];
  for (const [key, value] of Object.entries(policy)) {
    const alternatives = alternativesOf(key, value);
    if (alternatives !== undefined) {
      choices.push(alternatives.map((one) => compileGroup(one, above, paths)));
      continue;
    }
    const path = above === '' ? key : `${above}.${key}`;
    if (isObject(value)) {
      const inner = compileGroup(value, path, paths);
      conditions.push(...inner.conditions);
      choices.push(...inner.choices);
    } else {
      conditions.push(compileCondition(value as readonly unknown[], indexOf(paths, path)));
    }
  }
  return { conditions, choices };
}

function indexOf(paths: string[], path: string): number {
  const known = paths.indexOf(path);
  return known >= 0 ? known : paths.push(path) - 1;
}

function compileCondition(rules: readonly unknown[], path: number): Condition {
  const exact = new Set<Leaf>();
  const tests: Test[] = [];
  let whenPresent = false;
  let whenAbsent = false;
  for (const rule of rules) {
    if (!isObject(rule)) exact.add(comparableLeaf(rule as Leaf));
    else if ('exists' in rule) {
      if (rule['exists'] === true) whenPresent = true;
      else whenAbsent = true;
    } else {
      tests.push(compileRule(rule));
    }
  }
  return { path, exact, tests, whenPresent, whenAbsent };
}

function compileRule(rule: Json): Test {
  const [operator = '', operand] = Object.entries(rule)[0] ?? [];
  switch (operator) {
    case 'anything-but':
      return anythingBut(operand);
    case 'prefix':
      return textTest(operand, (value, wanted) => value.startsWith(wanted));
    case 'suffix':
      return textTest(operand, (value, wanted) => value.endsWith(wanted));
    case 'equals-ignore-case': {
      const wanted = String(operand).toLowerCase();
      return (value) => typeof value === 'string' && value.toLowerCase() === wanted;
    }
    case 'wildcard':
      return wildcard(String(operand));
    case 'numeric':
      return numericRange(operand as readonly unknown[]);
    case 'cidr':
      return inNetwork(String(operand));
    default:
      return () => false;
  }
}

function textTest(operand: unknown, holds: (value: string, wanted: string) => boolean): Test {
  const wanted = String(operand);
  return (value) => typeof value === 'string' && holds(value, wanted);
}

function anythingBut(operand: unknown): Test {
  if (isObject(operand)) {
    const prefix = String(operand['prefix']);
    return (value) => typeof value !== 'string' || !value.startsWith(prefix);
  }
  const list = (Array.isArray(operand) ? operand : [operand]) as readonly Leaf[];
  const unwanted = new Set(list.map(comparableLeaf));
  return (value) => !unwanted.has(value);
}

function numericRange(terms: readonly unknown[]): Test {
  const bounds: ((value: number) => boolean)[] = [];
  for (let i = 0; i + 1 < terms.length; i += 2)
    bounds.push(comparison(String(terms[i]), comparable(Number(terms[i + 1]))));
  return (value) => typeof value === 'number' && bounds.every((holds) => holds(value));
}

function comparison(operator: string, bound: number): (value: number) => boolean {
  switch (operator) {
    case '<':
      return (value) => value < bound;
    case '<=':
      return (value) => value <= bound;
    case '>':
      return (value) => value > bound;
    case '>=':
      return (value) => value >= bound;
    default:
      return (value) => value === bound;
  }
}

function inNetwork(cidr: string): Test {
  const [address = '', bits = ''] = cidr.split('/');
  const version = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  const network = new BlockList();
  network.addSubnet(address, Number(bits), version);
  return (value) => typeof value === 'string' && isIP(value) > 0 && network.check(value, versionOf(value));
}

function versionOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** `*` stands for any text. Parts are looked for from left to right, so it never takes longer than the text is. */
function wildcard(pattern: string): Test {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  return (value) => {
    if (typeof value !== 'string') return false;
    if (last === undefined) return value === first;
    if (!value.startsWith(first) || value.length < first.length + last.length || !value.endsWith(last)) {
      return false;
    }
    const end = value.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = value.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

/**
 * Whether the values that were found under the paths of a filter, by index, satisfy it; numbers are `comparable`. `anyKey`: the
 * message has some key.
 */
export function satisfies(
  filter: FilterPolicy,
  values: readonly (readonly Leaf[] | undefined)[],
  anyKey: boolean,
): boolean {
  return groupHolds(filter.root, values, anyKey);
}

function groupHolds(
  group: Group,
  values: readonly (readonly Leaf[] | undefined)[],
  anyKey: boolean,
): boolean {
  for (const condition of group.conditions) {
    if (!conditionHolds(condition, values[condition.path], anyKey)) return false;
  }
  for (const alternatives of group.choices) {
    if (!alternatives.some((one) => groupHolds(one, values, anyKey))) return false;
  }
  return true;
}

function conditionHolds(condition: Condition, values: readonly Leaf[] | undefined, anyKey: boolean): boolean {
  if (values === undefined || values.length === 0) return condition.whenAbsent && anyKey;
  for (const value of values) {
    if (condition.exact.has(value)) return true;
    if (value === null) continue;
    if (condition.whenPresent && value !== '') return true;
    for (const test of condition.tests) if (test(value)) return true;
  }
  return false;
}
