import { LineCounter, isCollection, isMap, isNode, isScalar, parseDocument, type Node } from 'yaml';
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

/** A YAML file of nested objects. Keys that are no settings are faults. */
export function yamlSource(file: string, text: string, settings: readonly Setting[]): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const place = (node: unknown): string => {
    const offset = isNode(node) ? node.range?.[0] : undefined;
    return offset === undefined ? file : `${file}:${lines.linePos(offset).line}`;
  };
  const faults = document.errors.map(
    (error) => `${file}: ${error.message.split('\n')[0] ?? 'not valid YAML'}`,
  );
  const nodes = new Map<string, Node>();
  if (faults.length === 0 && document.contents !== null) {
    const known = new Set(settings.flatMap(keysOf));
    const groups = new Set([...known].flatMap(prefixesOf));
    const visit = (node: unknown, above: string): void => {
      if (!isMap(node)) {
        faults.push(
          `${place(node)}: ${above === '' ? 'the file' : above} must hold settings, one \`name: value\` a line`,
        );
        return;
      }
      for (const { key: name, value } of node.items) {
        const key = `${above === '' ? '' : `${above}.`}${isScalar(name) ? String(name.value) : '?'}`;
        if (known.has(key)) nodes.set(key, value as Node);
        else if (groups.has(key)) visit(value, key);
        else faults.push(`${place(name)}: ${key} is not a setting`);
      }
    };
    visit(document.contents, '');
  }
  /** The first of its keys that is there. */
  const keyOf = (setting: Setting): string => keysOf(setting).find((key) => nodes.has(key)) ?? setting.key;
  return {
    name: 'file',
    // A key without a value counts as not set.
    valueOf: (setting) => (nodes.get(keyOf(setting))?.toJS(document) as unknown) ?? undefined,
    nameOf: (setting, path = []) =>
      `${keyOf(setting)}${textOfPath(path)} (${place(nodeAt(nodes.get(keyOf(setting)), path))})`,
    faults,
  };
}

/** The node at a place in a value, or the nearest one around it. */
function nodeAt(node: unknown, path: readonly PropertyKey[]): unknown {
  let at = node;
  for (const step of path) {
    const inner = isCollection(at) ? at.get(step, true) : undefined;
    if (inner === undefined) break;
    at = inner;
  }
  return at;
}

/** `[1].attributes` */
function textOfPath(path: readonly PropertyKey[]): string {
  return path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
}

function keysOf(setting: Setting): readonly string[] {
  return [setting.key, ...setting.otherKeys];
}

function prefixesOf(key: string): string[] {
  const path = key.split('.');
  return path.slice(0, -1).map((_, index) => path.slice(0, index + 1).join('.'));
}
