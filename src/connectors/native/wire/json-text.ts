/** A parsed value. Integers that a double may not hold are texts. */
export type JsonValue =
  null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** From so many digits on, a double may not hold an integer. */
const LONG = /\d{16}/;
const LONG_INTEGERS = /-?\d{16,}(?![\d.eE])/g;

/** JSON.parse that keeps long integers whole, as texts. Throws SyntaxError. */
export function parseJson(text: string): JsonValue {
  return JSON.parse(LONG.test(text) ? quoteLongIntegers(text) : text) as JsonValue;
}

/** Puts long integers that stand outside of texts in quotes. What is no JSON stays none. */
function quoteLongIntegers(text: string): string {
  let out = '';
  let at = 0;
  for (;;) {
    const begin = text.indexOf('"', at);
    const end = begin < 0 ? text.length : begin;
    out += text.slice(at, end).replace(LONG_INTEGERS, '"$&"');
    if (begin < 0) return out;
    at = endOfText(text, begin);
    out += text.slice(begin, at);
  }
}

/** Behind the closing quote of the text that begins at `begin`. */
function endOfText(text: string, begin: number): number {
  for (let at = begin + 1; ;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** Writes a value as JSON: maps as objects, bigints as plain integers. `indent` is put before every level; '' = one line. */
export function writeJson(value: unknown, indent = '', depth = ''): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = depth + indent;
  const [open, close, parts] = Array.isArray(value)
    ? (['[', ']', value.map((each) => writeJson(each, indent, inner))] as const)
    : (['{', '}', entries(value, indent, inner)] as const);
  if (parts.length === 0) return open + close;
  if (indent === '') return `${open}${parts.join(',')}${close}`;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${depth}${close}`;
}

function entries(value: object, indent: string, inner: string): string[] {
  const pairs = value instanceof Map ? [...(value as ReadonlyMap<string, unknown>)] : Object.entries(value);
  const colon = indent === '' ? ':' : ': ';
  return pairs
    .filter(([, each]) => each !== undefined)
    .map(([key, each]) => `${JSON.stringify(key)}${colon}${writeJson(each, indent, inner)}`);
}
