import { tagOf, varintLength, WIRE_LENGTH, writeVarint } from './protobuf.js';
import type { AttributeView } from './publish.js';

const ATTRIBUTES = tagOf(2, WIRE_LENGTH);
const ENTRY_KEY = tagOf(1, WIRE_LENGTH);
const ENTRY_VALUE = tagOf(2, WIRE_LENGTH);

/** An attribute as a Publish request would have brought it. Not the hot path. */
export function attributeView(name: string, text: string): AttributeView {
  const key = Buffer.from(name);
  const value = Buffer.from(text);
  const entry = Buffer.concat([lengthField(ENTRY_KEY, key), lengthField(ENTRY_VALUE, value)]);
  return { field: lengthField(ATTRIBUTES, entry), key, value };
}

function lengthField(tag: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(1 + varintLength(bytes.length));
  head[0] = tag;
  writeVarint(head, 1, bytes.length);
  return Buffer.concat([head, bytes]);
}
