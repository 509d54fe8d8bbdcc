export type Json = Record<string, unknown>;

/*
 * The reference: interprets a policy rule by rule, without compiling anything. Alternatives are expanded to one flat policy
 * each, bodies to a list of paths with their scalars.
 */
const OPERATORS = [
  'exists',
  'equals-ignore-case',
  'anything-but',
  'prefix',
  'suffix',
  'wildcard',
  'numeric',
  'cidr',
];

function expand(policy: Json, above: string[]): [path: string, rules: unknown[]][][] {
  let out: [string, unknown[]][][] = [[]];
  for (const [key, value] of Object.entries(policy)) {
    let parts: [string, unknown[]][][];
    const isChoice =
      key === '$or' &&
      Array.isArray(value) &&
      value.length >= 2 &&
      value.every(
        (one) =>
          typeof one === 'object' &&
          one !== null &&
          !Array.isArray(one) &&
          !Object.keys(one as Json).some((name) => OPERATORS.includes(name)),
      );
    if (isChoice) parts = (value as Json[]).flatMap((one) => expand(one, above));
    else if (Array.isArray(value)) parts = [[[[...above, key].join('.'), value]]];
    else parts = expand(value as Json, [...above, key]);
    out = out.flatMap((one) => parts.map((part) => [...one, ...part]));
  }
  return out;
}

export function flatten(value: unknown, path: string[], out: [string, unknown][]): void {
  if (Array.isArray(value)) for (const one of value) flatten(one, path, out);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) flatten(part, [...path, key], out);
  } else out.push([path.join('.'), value]);
}

function ruleHolds(rule: unknown, found: unknown[], anyKey: boolean): boolean {
  if (typeof rule !== 'object' || rule === null) return found.includes(rule);
  const [[operator, operand]] = Object.entries(rule) as [[string, unknown]];
  if (operator === 'exists') {
    return operand === true ? found.some((one) => one !== null && one !== '') : found.length === 0 && anyKey;
  }
  return found.some((one) => {
    if (one === null) return false;
    switch (operator) {
      case 'anything-but':
        if (Array.isArray(operand)) return !(operand as unknown[]).includes(one);
        if (typeof operand === 'object' && operand !== null)
          return !(typeof one === 'string' && one.startsWith((operand as { prefix: string }).prefix));
        return one !== operand;
      case 'prefix':
        return typeof one === 'string' && one.startsWith(operand as string);
      case 'suffix':
        return typeof one === 'string' && one.endsWith(operand as string);
      case 'equals-ignore-case':
        return typeof one === 'string' && one.toLowerCase() === (operand as string).toLowerCase();
      case 'wildcard': {
        const pattern = (operand as string).replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
        return typeof one === 'string' && new RegExp(`^${pattern}$`, 's').test(one);
      }
      case 'numeric': {
        const terms = operand as [string, number, string?, number?];
        const holds = (sign: string, bound: number): boolean =>
          sign === '='
            ? one === bound
            : sign === '<'
              ? (one as number) < bound
              : sign === '<='
                ? (one as number) <= bound
                : sign === '>'
                  ? (one as number) > bound
                  : (one as number) >= bound;
        return (
          typeof one === 'number' &&
          holds(terms[0], terms[1]) &&
          (terms[2] === undefined || holds(terms[2], terms[3] as number))
        );
      }
      default:
        return false;
    }
  });
}

/** Whether the pairs, of a body's paths or of attributes, pass the policy. */
export function reference(policy: Json, pairs: [string, unknown][], anyKey: boolean): boolean {
  return expand(policy, []).some((flat) =>
    flat.every(([path, rules]) => {
      const found = pairs.filter(([name]) => name === path).map(([, value]) => value);
      return rules.some((rule) => ruleHolds(rule, found, anyKey));
    }),
  );
}
