import type { ListShape, MapShape, Shape, StructureShape } from './shape.js';

/** Most parameters of one request: ten batch entries with ten attributes and all their parts are under 500. */
export const QUERY_PARAMETERS_MAX = 5_000;
/** Deepest dotted name looked into. */
const DEPTH_MAX = 12;

/** A dotted parameter name as a tree: `A.1.Name=x` is A → 1 → Name → "x". */
interface Node {
  value: string | undefined;
  children: Map<string, Node> | undefined;
}

/**
 * Parses `application/x-www-form-urlencoded` text: later values of a name win. Undefined when there are too many
 * parameters or an escape is malformed UTF-8.
 */
export function parseForm(text: string, into = new Map<string, string>()): Map<string, string> | undefined {
  if (text === '') return into;
  const pairs = text.split('&', QUERY_PARAMETERS_MAX + 1);
  if (pairs.length > QUERY_PARAMETERS_MAX) return undefined;
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = unescape(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : unescape(pair.slice(equals + 1));
    if (name === undefined || value === undefined) return undefined;
    into.set(name, value);
  }
  return into;
}

function unescape(text: string): string | undefined {
  // By a pattern: what the runtime does for a string is several times as slow where there are many.
  const spaced = text.includes('+') ? text.replace(/\+/g, ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

/**
 * Gives form parameters the structure the JSON protocol has: lists become arrays, maps become objects without a
 * prototype. Lenient as AWS is: gaps in numbering, a bare `AttributeName=All` for a list of one, `member`-less lists.
 */
export function readQuery(
  parameters: ReadonlyMap<string, string>,
  shape: StructureShape,
): Record<string, unknown> {
  const root: Node = { value: undefined, children: undefined };
  for (const [name, value] of parameters) {
    let node = root;
    for (const part of name.split('.', DEPTH_MAX)) {
      node.children ??= new Map();
      let child = node.children.get(part);
      if (child === undefined) {
        child = { value: undefined, children: undefined };
        node.children.set(part, child);
      }
      node = child;
    }
    node.value = value;
  }
  return readStructure(root, shape);
}

function readStructure(node: Node, shape: StructureShape): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of shape.entries) {
    const wireName = 'flat' in field ? (field.flat ?? name) : name;
    const child = node.children?.get(wireName) ?? node.children?.get(name);
    if (child === undefined) continue;
    const value = readShape(child, field);
    if (value !== undefined) out[name] = value;
  }
  return out;
}

function readShape(node: Node, shape: Shape): unknown {
  switch (shape.kind) {
    case 'scalar':
      return node.value;
    case 'structure':
      return readStructure(node, shape);
    case 'list':
      return readList(node, shape);
    case 'map':
      return readMap(node, shape);
  }
}

function readList(node: Node, shape: ListShape): unknown[] | undefined {
  const holder = node.children?.get('member') ?? node;
  const items = numbered(holder).map((child) => readShape(child, shape.item));
  if (items.length > 0) return items.filter((item) => item !== undefined);
  return node.value === undefined || node.value === '' ? undefined : [node.value];
}

function readMap(node: Node, shape: MapShape): Record<string, unknown> | undefined {
  const holder = node.children?.get('entry') ?? node;
  const entries = numbered(holder);
  // Clients of old write `Attribute.Name=…&Attribute.Value=…` for a single one.
  if (entries.length === 0 && holder.children !== undefined) entries.push(holder);
  const out = Object.create(null) as Record<string, unknown>;
  let found = false;
  for (const entry of entries) {
    const key = half(entry, shape.keyName)?.value;
    const value = half(entry, shape.valueName);
    if (key === undefined) continue;
    out[key] = value === undefined ? emptyOf(shape.value) : readShape(value, shape.value);
    found = true;
  }
  return found ? out : undefined;
}

/** SQS says Name and Value (tags Key and Value), SNS name and value in lower case or not: all are understood everywhere. */
function half(entry: Node, name: string): Node | undefined {
  const children = entry.children;
  if (children === undefined) return undefined;
  const exact = children.get(name);
  if (exact !== undefined) return exact;
  const others = /^(key|name)$/i.test(name) ? ['Name', 'Key', 'key', 'name'] : ['Value', 'value'];
  for (const other of others) {
    const child = children.get(other);
    if (child !== undefined) return child;
  }
  return undefined;
}

function emptyOf(shape: Shape): unknown {
  return shape.kind === 'scalar' ? '' : {};
}

/** Children with numbers for names, in the order of the numbers. */
function numbered(node: Node): Node[] {
  if (node.children === undefined) return [];
  const found: { at: number; child: Node }[] = [];
  for (const [name, child] of node.children) {
    if (/^\d{1,9}$/.test(name)) found.push({ at: Number(name), child });
  }
  return found.sort((a, b) => a.at - b.at).map(({ child }) => child);
}
