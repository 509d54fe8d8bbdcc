import type { z } from 'zod';
import { settingsOf, withoutPasswords, type Setting } from './setting.js';
import type { Source, SourceName } from './source.js';

/** The configuration cannot be used: one line per fault, each naming its setting. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

export interface Loaded<T> {
  readonly config: T;
  /** Where each setting's value came from, by key. */
  readonly origins: ReadonlyMap<string, SourceName>;
}

/** Reads every setting from the first source that has it, checks all, and throws ConfigError with every fault found. */
export function loadConfig<S extends z.ZodObject>(
  schema: S,
  sources: readonly Source[],
): Loaded<z.output<S>> {
  const faults = sources.flatMap((source) => source.faults);
  const origins = new Map<string, SourceName>();
  const values: Record<string, unknown> = {};
  for (const setting of settingsOf(schema)) {
    const source = sources.find((candidate) => candidate.valueOf(setting) !== undefined);
    origins.set(setting.key, source?.name ?? 'default');
    const raw = source?.valueOf(setting);
    const read = readValue(setting, raw);
    if ('faults' in read) {
      for (const { path, text } of read.faults)
        faults.push(`${source?.nameOf(setting, path) ?? setting.environment}: ${text}`);
    } else place(values, setting.path, read.value);
  }
  if (faults.length > 0) throw new ConfigError(faults);

  // Rules between settings, which single values cannot break.
  const whole = schema.safeParse(values);
  if (!whole.success) {
    throw new ConfigError(whole.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  }
  return { config: whole.data, origins };
}

interface Fault {
  /** Where in the value, when that is a structure. */
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

type Read = { readonly value: unknown } | { readonly faults: readonly Fault[] };

function fault(text: string): Read {
  return { faults: [{ path: [], text }] };
}

function readValue(setting: Setting, raw: unknown): Read {
  const value = typeof raw === 'string' ? fromText(setting, raw) : raw;
  if (value === undefined && raw !== undefined)
    return fault(`must be ${wordsOf(setting)}, not ${shown(setting, raw)}`);
  if (setting.kind === 'text' && raw !== undefined && typeof raw !== 'string') {
    return fault(`must be text; put ${shown(setting, raw)} in quotes`);
  }
  const parsed = setting.field.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  const { issues } = parsed.error;
  if (setting.kind === 'declarations')
    return { faults: issues.map(({ path, message }) => ({ path, text: message })) };
  const why = issues.map((issue) => issue.message).join('; ');
  if (raw === undefined) return fault(`is required (${why})`);
  return fault(
    setting.kind === 'number' || setting.kind === 'choice'
      ? `must be ${wordsOf(setting)}, not ${shown(setting, raw)}`
      : `${why} (got ${shown(setting, raw)})`,
  );
}

function shown(setting: Setting, raw: unknown): string {
  return setting.secret ? 'the given value' : withoutPasswords(JSON.stringify(raw));
}

function wordsOf(setting: Setting): string {
  switch (setting.kind) {
    case 'number':
      return `a whole number${setting.bounds === '' ? '' : ` (${setting.bounds})`}`;
    case 'boolean':
      return 'true or false';
    case 'pairs':
      return `a list such as ${Array<string>(2).fill(setting.pairNames.join('=')).join(',')}`;
    case 'declarations':
      return 'a list, as JSON';
    case 'choice':
      return `one of ${setting.choices.join(', ')}`;
    case 'text':
      return 'text';
  }
}

const TRUE = new Set(['true', '1', 'yes', 'on']);
const FALSE = new Set(['false', '0', 'no', 'off']);

/** The value a text stands for, or undefined when it stands for none. */
function fromText(setting: Setting, text: string): unknown {
  switch (setting.kind) {
    case 'number':
      return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
    case 'boolean': {
      const word = text.trim().toLowerCase();
      if (TRUE.has(word)) return true;
      return FALSE.has(word) ? false : undefined;
    }
    case 'pairs':
      return pairsOf(text, setting.pairNames);
    case 'declarations':
      return jsonOf(text);
    case 'choice':
    case 'text':
      return text;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** `a=b,c=d` as objects; what stands behind the first equals sign is the second half. */
function pairsOf(text: string, [first, second]: readonly [string, string]): unknown {
  const pairs: unknown[] = [];
  for (const item of text.split(',')) {
    const pair = item.trim();
    const equals = pair.indexOf('=');
    if (equals < 0) return undefined;
    pairs.push({ [first]: pair.slice(0, equals), [second]: pair.slice(equals + 1) });
  }
  return pairs;
}

function place(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = into;
  for (const name of path.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>;
  const last = path.at(-1);
  if (last !== undefined && value !== undefined) at[last] = value;
}
