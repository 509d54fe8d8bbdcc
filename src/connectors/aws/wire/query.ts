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
 * Parses `application/x-www-form-urlencoded` bytes: later values of a name win. Undefined when there are too many
 * parameters or an escape is malformed UTF-8.
 */
export function parseForm(form: Buffer, into = new Map<string, string>()): Map<string, string> | undefined {
  let pairs = 0;
  // Never looked for twice: a form without any would be searched to its end for each of its pairs.
  let equals = form.indexOf(EQUALS);
  if (form.length === 0) return into;
  for (let start = 0, end = 0; start <= form.length; start = end + 1) {
    end = form.indexOf(AMPERSAND, start);
    if (end < 0) end = form.length;
    if (++pairs > QUERY_PARAMETERS_MAX) return undefined;
    if (end === start) continue;
    if (equals >= 0 && equals < start) equals = form.indexOf(EQUALS, start);
    const hasValue = equals >= 0 && equals < end;
    const name = decoded(form, start, hasValue ? equals : end);
    const value = hasValue ? decoded(form, equals + 1, end) : '';
    if (name === undefined || value === undefined) return undefined;
    into.set(name, value);
  }
  return into;
}

const AMPERSAND = 0x26;
const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;
const EQUALS = 0x3d;

/** Values of hexadecimal digits by their bytes; of other bytes, a number no byte has. */
const HEX_VALUES = Int16Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? 0x100 : value;
});

/** Where text is put together that is not much longer than the messages of most. */
const SCRATCH = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Text of `form[from..to)` without its escapes; undefined when they are malformed. Byte by byte: nearly all of it is ASCII, and what
 * the runtime has for this costs a string for every blank of a message.
 */
function decoded(form: Buffer, from: number, to: number): string | undefined {
  const out = to - from > SCRATCH.length ? Buffer.allocUnsafe(to - from) : SCRATCH;
  let size = 0;
  for (let at = from; at < to; at++) {
    let byte = form[at] as number;
    if (byte === PLUS) byte = SPACE;
    else if (byte === PERCENT) {
      if (at + 2 >= to) return undefined;
      byte =
        ((HEX_VALUES[form[at + 1] as number] as number) << 4) |
        (HEX_VALUES[form[at + 2] as number] as number);
      at += 2;
    }
    if (byte > 0x7f) return unescape(form.toString('utf8', from, to));
    out[size++] = byte;
  }
  return out.toString('latin1', 0, size);
}

/** The same for any text. */
function unescape(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
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
