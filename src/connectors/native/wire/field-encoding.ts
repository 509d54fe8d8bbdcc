import { DELIMITED, type Slot, type Values } from './field-slot.js';
import type { Sink } from './sink.js';
import { highOf, highOfBig, lowOf, lowOfBig } from './varint.js';

const KEY_TAG = (1 << 3) | DELIMITED;
const VALUE_TAG = (2 << 3) | DELIMITED;

export function writeNumber(value: number, sink: Sink): void {
  if (value >= 0 && value < 0x1000_0000) sink.small(value);
  else sink.varint(lowOf(value), highOf(value));
}

let lastBig = 0n;
let lastLow = 0;
let lastHigh = 0;

/** A 64-bit integer. Those of a batch are mostly the time it came, one and the same. */
export function writeBig(value: bigint, sink: Sink): void {
  if (value !== lastBig) {
    lastBig = value;
    lastLow = lowOfBig(value);
    lastHigh = highOfBig(value);
  }
  sink.varint(lastLow, lastHigh);
}

/** The entries of a string map, each a field of its own. */
export function writeMap(tag: number, map: ReadonlyMap<string, string>, sink: Sink): void {
  if (map.size === 0) return;
  for (const [key, text] of [...map].reverse()) {
    const end = sink.length;
    sink.text(text);
    sink.small(VALUE_TAG);
    sink.text(key);
    sink.small(KEY_TAG);
    sink.small(sink.length - end);
    sink.small(tag);
  }
}

/** Writes a field with its tag. */
export function writeField(slot: Slot, value: unknown, sink: Sink): void {
  const { tag } = slot;
  switch (slot.kind) {
    case 'string':
      sink.text(value as string);
      break;
    case 'bytes':
      if ((value as Uint8Array).byteLength === 0) return;
      sink.block(value as Uint8Array);
      break;
    case 'bool':
      sink.small(1);
      break;
    case 'int32':
    case 'count':
      writeNumber(value as number, sink);
      break;
    case 'int64':
      writeBig(value as bigint, sink);
      break;
    case 'counts': {
      const list = value as readonly number[];
      if (list.length === 0) return;
      const end = sink.length;
      for (let at = list.length - 1; at >= 0; at--) writeNumber(list[at] ?? 0, sink);
      sink.small(sink.length - end);
      break;
    }
    case 'map':
      writeMap(tag, value as ReadonlyMap<string, string>, sink);
      return;
    case 'message':
      writeMessage(slot, value as Values, sink);
      return;
    case 'messages': {
      const list = value as readonly Values[];
      for (let at = list.length - 1; at >= 0; at--) writeMessage(slot, list[at] ?? {}, sink);
      return;
    }
  }
  sink.small(tag);
}

function writeMessage(slot: Slot, value: Values, sink: Sink): void {
  const end = sink.length;
  slot.type?.write(value, sink);
  sink.small(sink.length - end);
  sink.small(slot.tag);
}
