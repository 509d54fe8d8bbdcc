import type { Sink } from './sink.js';
import type { Source } from './varint.js';

/** How a field is written. */
export type Kind =
  'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'count' | 'counts' | 'map' | 'message' | 'messages';

/** The values of a message, by field name. */
export type Values = Record<string, unknown>;

/** What the fields of a message need to know of another message type. */
export interface Nested {
  /** Writes the fields, the last one first. */
  write(value: Values, sink: Sink): void;
  read(source: Source, end: number, into: Values): Values;
  empty(): Values;
}

/** A codec by hand in the place of a declared one: of all it does, or of writing alone. */
export type OwnCodec = Pick<Nested, 'write'> &
  (Nested | { readonly read?: undefined; readonly empty?: undefined });

/** One field as the codec works with it. */
export interface Slot {
  readonly name: string;
  readonly kind: Kind;
  readonly type: Nested | undefined;
  readonly tag: number;
}

export const NO_MAP: ReadonlyMap<string, string> = new Map();
export const NO_LIST: readonly never[] = Object.freeze([]);
export const NO_BYTES = new Uint8Array(0);
export const DEFAULTS: Readonly<Record<Kind, unknown>> = {
  string: '',
  bytes: NO_BYTES,
  bool: false,
  int32: 0,
  int64: 0n,
  count: 0,
  counts: NO_LIST,
  map: NO_MAP,
  message: undefined,
  messages: NO_LIST,
};
export const VARINT = 0;
export const DELIMITED = 2;
export const WIRE_KINDS: Readonly<Record<Kind, number>> = {
  string: DELIMITED,
  bytes: DELIMITED,
  bool: VARINT,
  int32: VARINT,
  int64: VARINT,
  count: VARINT,
  counts: DELIMITED,
  map: DELIMITED,
  message: DELIMITED,
  messages: DELIMITED,
};
