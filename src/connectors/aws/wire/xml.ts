import type { AwsFault } from './fault.js';
import { faultSide } from './fault.js';
import type { ListShape, MapShape, Shape, StructureShape } from './shape.js';

// Everything XML 1.0 has no way to write: controls, lone surrogates, U+FFFE and U+FFFF.
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ESCAPED = /[&<>"\r]/g;
const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // A raw carriage return is read back as a line feed, and then no checksum fits.
  '\r': '&#xD;',
};

/** Nearly all there is: ids, numbers, names and URLs. */
const PLAIN_CHARS_MAX = 256;
const PLAIN = /^[\w.:/ -]*$/;

/** Text of an element or attribute. What XML cannot say becomes U+FFFD; message bodies never hold such. */
export function escapeXml(text: string): string {
  if (text.length <= PLAIN_CHARS_MAX && PLAIN.test(text)) return text;
  return text.replace(NOT_XML, '\ufffd').replace(ESCAPED, (character) => ENTITY[character] ?? character);
}

export interface XmlAnswer {
  readonly operation: string;
  readonly namespace: string;
  readonly requestId: string;
  /** Absent: the operation gives nothing and its answer has no result element. */
  readonly output: StructureShape | undefined;
  readonly result: unknown;
}

/** An answer of the Query protocol. */
export function writeXmlAnswer(answer: XmlAnswer): string {
  const { operation, output } = answer;
  const result =
    output === undefined
      ? ''
      : element(`${operation}Result`, writeStructure(asObject(answer.result), output));
  return (
    `<?xml version="1.0"?><${operation}Response xmlns="${answer.namespace}">${result}` +
    `<ResponseMetadata><RequestId>${answer.requestId}</RequestId></ResponseMetadata></${operation}Response>`
  );
}

/** A refusal in the Query protocol. SQS has a detail in it, which is always empty; others have none. */
export function writeXmlFault(
  fault: AwsFault,
  {
    namespace,
    requestId,
    detailed,
  }: Pick<XmlAnswer, 'namespace' | 'requestId'> & { readonly detailed: boolean },
): string {
  return (
    `<?xml version="1.0"?><ErrorResponse xmlns="${namespace}"><Error><Type>${faultSide(fault)}</Type>` +
    `<Code>${escapeXml(fault.kind.code)}</Code><Message>${escapeXml(fault.queryMessage)}</Message>${detailed ? '<Detail/>' : ''}</Error>` +
    `<RequestId>${requestId}</RequestId></ErrorResponse>`
  );
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** AWS closes what is empty where it opens it. */
function element(name: string, content: string): string {
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`;
}

function writeStructure(value: Readonly<Record<string, unknown>>, shape: StructureShape): string {
  let out = '';
  for (const [name, field] of shape.entries) {
    const part = value[name];
    if (part !== undefined) out += writeField(name, part, field);
  }
  return out;
}

function writeField(name: string, value: unknown, shape: Shape): string {
  switch (shape.kind) {
    case 'scalar':
      return element(name, escapeXml(String(value)));
    case 'structure':
      return element(name, writeStructure(asObject(value), shape));
    case 'list':
      return writeList(name, value as readonly unknown[], shape);
    case 'map':
      return writeMap(name, asObject(value), shape);
  }
}

function writeList(name: string, items: readonly unknown[], shape: ListShape): string {
  let out = '';
  for (const item of items) out += writeField(shape.flat ?? 'member', item, shape.item);
  return shape.flat === undefined ? element(name, out) : out;
}

function writeMap(name: string, map: Readonly<Record<string, unknown>>, shape: MapShape): string {
  const entryName = shape.flat ?? 'entry';
  let out = '';
  for (const [key, value] of Object.entries(map)) {
    out +=
      `<${entryName}><${shape.keyName}>${escapeXml(key)}</${shape.keyName}>` +
      `${writeField(shape.valueName, value, shape.value)}</${entryName}>`;
  }
  return shape.flat === undefined ? element(name, out) : out;
}
