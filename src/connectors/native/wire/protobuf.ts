import { readField } from './field-decoding.js';
import { measureField, writeField } from './field-encoding.js';
import { DEFAULTS, VARINT, WIRE_KINDS, type Kind, type Slot, type Values } from './field-slot.js';
import { Sink, Source, WireError, varintSize } from './varint.js';

/**
 * Protobuf (proto3) messages from a declaration. Small and quick for what this contract uses: scalars, string maps, nested
 * and repeated messages. Maps become `Map`s, because their keys come from users and `__proto__` is a legal one; bytes are
 * views of the input.
 */

/** One field: what decoding gives (`Out`) and what encoding takes (`In`). */
export interface Field<Out, In = Out> {
  readonly number: number;
  readonly kind: Kind;
  readonly type?: MessageType<Fields>;
  /** Types only; never there. */
  readonly out?: Out;
  readonly in?: In;
}

// A declaration may hold fields of any type: only their names and kinds matter at run time.
export type Fields = Readonly<Record<string, Field<unknown>>>;
type OutOf<F> = F extends Field<infer Out, infer _In> ? Out : never;
type InOf<F> = F extends Field<infer _Out, infer In> ? In : never;
/** A decoded message: every field is there, absent ones with proto3's default. */
export type Decoded<F> = { -readonly [K in keyof F]: OutOf<F[K]> };
/** A message to encode: what is left out is the default. */
export type Encodable<F> = { readonly [K in keyof F]?: InOf<F[K]> | undefined };

export const string = (number: number): Field<string> => ({ number, kind: 'string' });
export const bytes = (number: number): Field<Uint8Array> => ({ number, kind: 'bytes' });
export const bool = (number: number): Field<boolean> => ({ number, kind: 'bool' });
export const int32 = (number: number): Field<number> => ({ number, kind: 'int32' });
/** int64 with all its bits, for nanoseconds. */
export const int64 = (number: number): Field<bigint> => ({ number, kind: 'int64' });
/** int64 or uint64 as a number, exact within ±2⁵³: sequences and counts. */
export const count = (number: number): Field<number> => ({ number, kind: 'count' });
export const counts = (number: number): Field<readonly number[]> => ({ number, kind: 'counts' });
export const stringMap = (number: number): Field<ReadonlyMap<string, string>> => ({ number, kind: 'map' });
export const nested = <F extends Fields>(
  number: number,
  type: MessageType<F>,
): Field<Decoded<F> | undefined, Encodable<F> | undefined> => ({
  number,
  kind: 'message',
  type: type,
});
export const repeated = <F extends Fields>(
  number: number,
  type: MessageType<F>,
): Field<readonly Decoded<F>[], readonly Encodable<F>[]> => ({
  number,
  kind: 'messages',
  type: type,
});

export function message<F extends Fields>(fields: F): MessageType<F> {
  return new MessageType(fields);
}

/** A message type: a pair of pure functions between values and bytes. */
export class MessageType<F extends Fields> {
  readonly #slots: readonly Slot[];
  readonly #byNumber: (Slot | undefined)[] = [];
  readonly #empty: Values = {};

  constructor(fields: F) {
    this.#slots = Object.entries(fields).map(([name, field]) => {
      const tag = (field.number << 3) | WIRE_KINDS[field.kind];
      return { name, kind: field.kind, type: field.type, tag, tagSize: varintSize(tag, 0) };
    });
    for (const slot of this.#slots) {
      this.#byNumber[slot.tag >>> 3] = slot;
      this.#empty[slot.name] = DEFAULTS[slot.kind];
    }
  }

  encode(value: Encodable<F>): Buffer {
    const sizes: number[] = [];
    const sink = new Sink(this.measure(value, sizes), sizes);
    this.write(value, sink);
    return sink.bytes;
  }

  /** Throws WireError for bytes that are no such message. Fields of no known number are stepped over. */
  decode(input: Uint8Array): Decoded<F> {
    const source = new Source(input);
    return this.read(source, source.bytes.length, { ...this.#empty }) as Decoded<F>;
  }

  /** Length of the encoding; every inner length is pushed to `sizes`, in the order `write` needs them. */
  measure(value: Values, sizes: number[]): number {
    let total = 0;
    for (const slot of this.#slots) {
      const part = value[slot.name];
      if (part === undefined || part === DEFAULTS[slot.kind]) continue;
      total += measureField(slot, part, sizes);
    }
    return total;
  }

  write(value: Values, sink: Sink): void {
    for (const slot of this.#slots) {
      const part = value[slot.name];
      if (part === undefined || part === DEFAULTS[slot.kind]) continue;
      writeField(slot, part, sink);
    }
  }

  read(source: Source, end: number, into: Values): Values {
    while (source.at < end) {
      source.varint(end);
      const tag = source.low;
      if (source.high !== 0 || tag < 8) throw new WireError('field number out of range');
      const slot = this.#byNumber[tag >>> 3];
      // Packed lists may also come one by one.
      if (slot !== undefined && (slot.tag === tag || (slot.kind === 'counts' && (tag & 7) === VARINT))) {
        into[slot.name] = readField(slot, into[slot.name], source, tag, end);
      } else source.skip(tag, end);
    }
    return into;
  }

  /** Its fields, for codecs of other forms. */
  get slots(): readonly Slot[] {
    return this.#slots;
  }

  empty(): Values {
    return { ...this.#empty };
  }
}
