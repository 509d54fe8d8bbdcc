import { DELIMITED, type Slot, type Values } from './field-slot.js';
import { highOf, highOfBig, lowOf, lowOfBig, varintSize, type Sink } from './varint.js';

const delimited = (length: number): number => varintSize(length, 0) + length;
const numberSize = (value: number): number => varintSize(lowOf(value), highOf(value));

function measureText(text: string, sizes: number[]): number {
  const length = Buffer.byteLength(text);
  sizes.push(length);
  return delimited(length);
}

/** Length of a field with its tag; inner lengths are pushed to `sizes`. */
export function measureField(slot: Slot, value: unknown, sizes: number[]): number {
  switch (slot.kind) {
    case 'string':
      return slot.tagSize + measureText(value as string, sizes);
    case 'bytes': {
      const length = (value as Uint8Array).byteLength;
      return length === 0 ? 0 : slot.tagSize + delimited(length);
    }
    case 'bool':
      return slot.tagSize + 1;
    case 'int32':
    case 'count':
      return slot.tagSize + numberSize(value as number);
    case 'int64':
      return slot.tagSize + varintSize(lowOfBig(value as bigint), highOfBig(value as bigint));
    case 'counts': {
      const list = value as readonly number[];
      if (list.length === 0) return 0;
      let length = 0;
      for (const each of list) length += numberSize(each);
      sizes.push(length);
      return slot.tagSize + delimited(length);
    }
    case 'map': {
      let total = 0;
      for (const [key, text] of value as ReadonlyMap<string, string>) {
        const place = sizes.push(0) - 1;
        const length = 2 + measureText(key, sizes) + measureText(text, sizes);
        sizes[place] = length;
        total += slot.tagSize + delimited(length);
      }
      return total;
    }
    case 'message':
      return measureMessage(slot, value as Values, sizes);
    case 'messages': {
      let total = 0;
      for (const each of value as readonly Values[]) total += measureMessage(slot, each, sizes);
      return total;
    }
  }
}

function measureMessage(slot: Slot, value: Values, sizes: number[]): number {
  const place = sizes.push(0) - 1;
  const length = slot.type?.measure(value, sizes) ?? 0;
  sizes[place] = length;
  return slot.tagSize + delimited(length);
}

const KEY_TAG = (1 << 3) | DELIMITED;
const VALUE_TAG = (2 << 3) | DELIMITED;

function writeText(tag: number, text: string, sink: Sink): void {
  const length = sink.size();
  sink.varint(tag, 0);
  sink.varint(length, 0);
  sink.text(text, length);
}

function writeNumber(value: number, sink: Sink): void {
  sink.varint(lowOf(value), highOf(value));
}

/** Writes a field with its tag, with the lengths that were measured. */
export function writeField(slot: Slot, value: unknown, sink: Sink): void {
  const { tag } = slot;
  switch (slot.kind) {
    case 'string':
      writeText(tag, value as string, sink);
      return;
    case 'bytes': {
      const raw = value as Uint8Array;
      if (raw.byteLength === 0) return;
      sink.varint(tag, 0);
      sink.varint(raw.byteLength, 0);
      sink.raw(raw);
      return;
    }
    case 'bool':
      sink.varint(tag, 0);
      sink.varint(1, 0);
      return;
    case 'int32':
    case 'count':
      sink.varint(tag, 0);
      writeNumber(value as number, sink);
      return;
    case 'int64':
      sink.varint(tag, 0);
      sink.varint(lowOfBig(value as bigint), highOfBig(value as bigint));
      return;
    case 'counts': {
      const list = value as readonly number[];
      if (list.length === 0) return;
      sink.varint(tag, 0);
      sink.varint(sink.size(), 0);
      for (const each of list) writeNumber(each, sink);
      return;
    }
    case 'map':
      for (const [key, text] of value as ReadonlyMap<string, string>) {
        sink.varint(tag, 0);
        sink.varint(sink.size(), 0);
        writeText(KEY_TAG, key, sink);
        writeText(VALUE_TAG, text, sink);
      }
      return;
    case 'message':
      writeMessage(slot, value as Values, sink);
      return;
    case 'messages':
      for (const each of value as readonly Values[]) writeMessage(slot, each, sink);
      return;
  }
}

function writeMessage(slot: Slot, value: Values, sink: Sink): void {
  sink.varint(slot.tag, 0);
  sink.varint(sink.size(), 0);
  slot.type?.write(value, sink);
}
