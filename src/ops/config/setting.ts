import { z } from 'zod';

/** How a setting's value is written as text, in an environment variable or behind a flag. */
export type SettingKind = 'number' | 'boolean' | 'text' | 'choice' | 'pairs' | 'declarations';

/** One setting: a leaf of the schema with all its names. */
export interface Setting {
  /** Place in the configuration object and in the YAML file, e.g. `connectors.aws.accountId`. */
  readonly key: string;
  readonly path: readonly string[];
  /** e.g. `CONNECTORS_AWS_ACCOUNT_ID`; follows from the place, unless the field's meta names another. */
  readonly environment: string;
  /** Further places and variables it is taken from, where its group has a second name. */
  readonly otherKeys: readonly string[];
  readonly otherEnvironments: readonly string[];
  /** e.g. `--connectors-aws-account-id`. */
  readonly flag: string;
  readonly kind: SettingKind;
  readonly choices: readonly string[];
  /** Of `pairs`: what the two halves of `a=b` are called in the list's elements. */
  readonly pairNames: readonly [string, string];
  readonly description: string;
  /** What may be written, in words; '' when the kind says it all. */
  readonly bounds: string;
  readonly defaultValue: unknown;
  /** Its value is never shown. */
  readonly secret: boolean;
  readonly field: z.ZodType;
}

/** All settings of a schema of nested objects, in the order they are written. */
export function settingsOf(schema: z.ZodObject): readonly Setting[] {
  return leavesOf(schema, [], []);
}

/** A setting's default as it would be written, '' when there is none. */
export function textOfDefault(setting: Setting): string {
  const { defaultValue } = setting;
  if (typeof defaultValue === 'string') return defaultValue;
  return typeof defaultValue === 'number' || typeof defaultValue === 'boolean' ? String(defaultValue) : '';
}

/** A text without the names and passwords that addresses in it carry (`https://user:password@…`). */
export function withoutPasswords(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/"'@,]+@/gi, '$1********@');
}

type Path = readonly string[];

/** `others`: further places that the group is known under. */
function leavesOf(schema: z.ZodObject, above: Path, others: readonly Path[]): Setting[] {
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const path = [...above, name];
    const inner = unwrap(field as z.ZodType);
    const below = others.map((other) => [...other, name]);
    if (!(inner instanceof z.ZodObject)) return [settingOf(field as z.ZodType, path, below)];
    const also = inner.meta()?.['alsoAt'];
    return leavesOf(inner, path, typeof also === 'string' ? [...below, also.split('.')] : below);
  });
}

function wordsOf(path: Path): string {
  return path.map((name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2')).join('_');
}

function settingOf(field: z.ZodType, path: Path, others: readonly Path[]): Setting {
  const inner = unwrap(field);
  const meta = { ...inner.meta(), ...field.meta() };
  const words = wordsOf(path);
  const fallback = field.safeParse(undefined);
  return {
    key: path.join('.'),
    path,
    environment: typeof meta['environment'] === 'string' ? meta['environment'] : words.toUpperCase(),
    otherKeys: others.map((other) => other.join('.')),
    otherEnvironments: others.map((other) => wordsOf(other).toUpperCase()),
    flag: `--${words.toLowerCase().replaceAll('_', '-')}`,
    // A list of structures, for which text is JSON.
    kind: meta['declarations'] === true ? 'declarations' : kindOf(inner),
    choices: inner instanceof z.ZodEnum ? inner.options.map(String) : [],
    pairNames: pairNamesOf(inner),
    description: meta.description ?? '',
    bounds: boundsOf(inner),
    defaultValue: fallback.success ? fallback.data : undefined,
    secret: meta['secret'] === true,
    field,
  };
}

function unwrap(field: z.ZodType): z.ZodType {
  let inner = field;
  while (
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodReadonly
  ) {
    inner = inner.def.innerType as z.ZodType;
  }
  return inner;
}

function kindOf(inner: z.ZodType): SettingKind {
  if (inner instanceof z.ZodNumber) return 'number';
  if (inner instanceof z.ZodBoolean) return 'boolean';
  if (inner instanceof z.ZodEnum) return 'choice';
  if (inner instanceof z.ZodArray) return 'pairs';
  return 'text';
}

function pairNamesOf(inner: z.ZodType): readonly [string, string] {
  const element = inner instanceof z.ZodArray ? inner.element : undefined;
  const [first = 'name', second = 'value'] = element instanceof z.ZodObject ? Object.keys(element.shape) : [];
  return [first, second];
}

function boundsOf(inner: z.ZodType): string {
  if (inner instanceof z.ZodEnum) return inner.options.join(' | ');
  if (!(inner instanceof z.ZodNumber)) return '';
  const { minValue: min, maxValue: max } = inner;
  const low = min !== null && min > Number.MIN_SAFE_INTEGER ? min : undefined;
  const high = max !== null && max < Number.MAX_SAFE_INTEGER ? max : undefined;
  if (low !== undefined && high !== undefined) return `${low}–${high}`;
  if (low !== undefined) return `≥ ${low}`;
  return high === undefined ? '' : `≤ ${high}`;
}
