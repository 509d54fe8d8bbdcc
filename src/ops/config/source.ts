import type { Setting } from './setting.js';

/** Where values come from; the first source that has a value wins. */
export interface Source {
  readonly name: SourceName;
  /** The raw value, or undefined when this source says nothing. */
  valueOf(setting: Setting): unknown;
  /** How the setting is called there, for error messages; `path`: a place in its value. */
  nameOf(setting: Setting, path?: readonly PropertyKey[]): string;
  /** Things this source says that are no settings. */
  readonly faults: readonly string[];
}

export type SourceName = 'flag' | 'environment' | 'file' | 'default';

/** Values given on the command line, by setting key. */
export function flagSource(values: ReadonlyMap<string, unknown>): Source {
  return {
    name: 'flag',
    valueOf: (setting) => values.get(setting.key),
    nameOf: (setting, path = []) => setting.flag + textOfPath(path),
    faults: [],
  };
}

/** Values a program gives, by setting key. */
export function valuesSource(name: SourceName, values: ReadonlyMap<string, unknown>): Source {
  return {
    name,
    valueOf: (setting) => values.get(setting.key),
    nameOf: (setting, path = []) => setting.key + textOfPath(path),
    faults: [],
  };
}

/** Environment variables. An empty one counts as not set, as compose files write it. */
export function environmentSource(environment: Readonly<Record<string, string | undefined>>): Source {
  /** The first name that is set. */
  const nameOf = (setting: Setting): string | undefined =>
    [setting.environment, ...setting.otherEnvironments].find((name) => (environment[name] ?? '') !== '');
  return {
    name: 'environment',
    valueOf: (setting) => environment[nameOf(setting) ?? ''],
    nameOf: (setting, path = []) => (nameOf(setting) ?? setting.environment) + textOfPath(path),
    faults: [],
  };
}

/** `[1].attributes` */
export function textOfPath(path: readonly PropertyKey[]): string {
  return path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
}
