import { readFileSync } from 'node:fs';
import { ConfigError, loadConfig, type Loaded } from '../ops/config/load.js';
import { environmentSource, flagSource, valuesSource, type Source } from '../ops/config/source.js';
import { CONNECTOR_SWITCHES, crossFaults, SETTINGS, settingsSchema, type Config } from './settings.js';

export interface ConfigInput {
  /** Values from the command line, by setting key. */
  readonly flags: ReadonlyMap<string, unknown>;
  /** File of `--config`; else POLYMQ_CONFIG. */
  readonly file?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Every connector is on unless a flag, a variable or the file says no. */
  readonly all: boolean;
}

/** The product's configuration: flags, then environment, then file, then defaults. Rejects with ConfigError. */
export async function readConfig(input: ConfigInput): Promise<Loaded<Config>> {
  const file = input.file ?? input.environment['POLYMQ_CONFIG'];
  const sources: Source[] = [flagSource(input.flags), environmentSource(input.environment)];
  if (file !== undefined && file !== '') {
    const text = textOf(file);
    const { yamlSource } = await import('../ops/config/yaml-source.js');
    sources.push(yamlSource(file, text, SETTINGS));
  }
  const switches = input.all ? Object.fromEntries(CONNECTOR_SWITCHES.map((key) => [key, true])) : {};
  return checked(
    loadConfig(settingsSchema, [...sources, valuesSource('default', new Map(Object.entries(switches)))]),
  );
}

/** Parts of the configuration given by a program: a nested object of which everything may be absent. */
export type ConfigOverrides = Overrides<Config>;
type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Overrides<T[K]> }
    : T;

/** Defaults with `overrides` on top; nothing is read from the machine. Throws ConfigError. */
export function configFrom(overrides: ConfigOverrides): Config {
  const values = new Map<string, unknown>();
  for (const { key, path } of SETTINGS) {
    const value = path.reduce<unknown>(
      (at, name) => (at as Record<string, unknown> | undefined)?.[name],
      overrides,
    );
    if (value !== undefined) values.set(key, value);
  }
  return checked(loadConfig(settingsSchema, [valuesSource('flag', values)])).config;
}

/** Variables that look like ours and are no setting: most likely misspelt. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const known = new Set(
    SETTINGS.flatMap(({ environment, otherEnvironments }) => [environment, ...otherEnvironments]),
  );
  return Object.keys(environment).filter(
    (name) => /^(CONNECTORS|STORE|SECURITY|AUTHENTICATION|AUTHORIZATION)_/.test(name) && !known.has(name),
  );
}

function checked(loaded: Loaded<Config>): Loaded<Config> {
  const faults = crossFaults(loaded.config);
  if (faults.length > 0) throw new ConfigError(faults);
  return loaded;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([
      `${file}: cannot be read (${error instanceof Error ? error.message : String(error)})`,
    ]);
  }
}
