import { LineCounter, isCollection, isMap, isNode, isScalar, parseDocument, type Node } from 'yaml';
import type { Setting } from './setting.js';
import { textOfPath, type Source } from './source.js';

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

function keysOf(setting: Setting): readonly string[] {
  return [setting.key, ...setting.otherKeys];
}

function prefixesOf(key: string): string[] {
  const path = key.split('.');
  return path.slice(0, -1).map((_, index) => path.slice(0, index + 1).join('.'));
}
