import { isUtf8 } from 'node:buffer';
import { DELIMITED, NO_LIST, NO_MAP, type Slot, type Values } from './field-slot.js';
import { WireError, type Source } from './varint.js';

const KEY_TAG = (1 << 3) | DELIMITED;
const VALUE_TAG = (2 << 3) | DELIMITED;

export function readText(source: Source, limit: number): string {
  const end = source.part(limit);
  const raw = source.bytes.subarray(source.at, end);
  const text = raw.toString('utf8');
  source.at = end;
  // Decoding puts U+FFFD for bytes that are no UTF-8; proto3 wants those refused, and data is never changed silently.
  if (text.includes('\ufffd') && !isUtf8(raw)) throw new WireError('text is not valid UTF-8');
  return text;
}

/** Reads a field behind its tag; gives its new value, given the one before. */
export function readField(slot: Slot, before: unknown, source: Source, tag: number, limit: number): unknown {
  switch (slot.kind) {
    case 'string':
      return readText(source, limit);
    case 'bytes': {
      const end = source.part(limit);
      const view = source.bytes.subarray(source.at, end);
      source.at = end;
      return view;
    }
    case 'bool':
      source.varint(limit);
      return source.low !== 0 || source.high !== 0;
    case 'int32':
      source.varint(limit);
      return source.low | 0;
    case 'int64':
      source.varint(limit);
      return source.big;
    case 'count':
      source.varint(limit);
      return source.number;
    case 'counts':
      return readCounts(before as readonly number[], source, tag, limit);
    case 'map':
      return readEntry(before as Map<string, string>, source, limit);
    case 'message': {
      const end = source.part(limit);
      return slot.type?.read(source, end, (before as Values | undefined) ?? slot.type.empty());
    }
    case 'messages': {
      const end = source.part(limit);
      const list = before === NO_LIST ? [] : (before as unknown[]);
      list.push(slot.type?.read(source, end, slot.type.empty()));
      return list;
    }
  }
}

function readCounts(
  before: readonly number[],
  source: Source,
  tag: number,
  limit: number,
): readonly number[] {
  const list = before === NO_LIST ? [] : (before as number[]);
  const end = (tag & 7) === DELIMITED ? source.part(limit) : undefined;
  do {
    if (end !== undefined && source.at >= end) break;
    source.varint(end ?? limit);
    list.push(source.number);
  } while (end !== undefined);
  return list;
}

export function readEntry(
  before: ReadonlyMap<string, string>,
  source: Source,
  limit: number,
): Map<string, string> {
  const end = source.part(limit);
  const map = before === NO_MAP ? new Map<string, string>() : (before as Map<string, string>);
  let key = '';
  let value = '';
  while (source.at < end) {
    source.varint(end);
    const tag = source.low;
    if (source.high !== 0 || tag < 8) throw new WireError('field number out of range');
    if (tag === KEY_TAG) key = readText(source, end);
    else if (tag === VALUE_TAG) value = readText(source, end);
    else source.skip(tag, end);
  }
  return map.set(key, value);
}
