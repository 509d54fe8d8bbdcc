import { readField } from './field-decoding.js';
import { writeField } from './field-encoding.js';
import {
  DEFAULTS,
  VARINT,
  WIRE_KINDS,
  type Kind,
  type Nested,
  type OwnCodec,
  type Slot,
  type Values,
} from './field-slot.js';
import { Sink } from './sink.js';
import { Source, WireError } from './varint.js';

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

/** `own`: a codec made by hand for the same fields, for a message of which there are very many. */
export function message<F extends Fields>(fields: F, own?: OwnCodec): MessageType<F> {
  return new MessageType(fields, own);
}

/** One for all types: a message is encoded in one go. */
const sink = new Sink();

/** A message type: a pair of pure functions between values and bytes. */
export class MessageType<F extends Fields> implements Nested {
  readonly fields: F;
  readonly #own: OwnCodec | undefined;
  readonly #slots: readonly Slot[];
  readonly #byNumber: (Slot | undefined)[] = [];
  readonly #empty: Values = {};

  constructor(fields: F, own?: OwnCodec) {
    this.fields = fields;
    this.#own = own;
    this.#slots = Object.entries(fields).map(([name, field]) => {
      const tag = (field.number << 3) | WIRE_KINDS[field.kind];
      return { name, kind: field.kind, type: field.type, tag };
    });
    for (const slot of this.#slots) {
      this.#byNumber[slot.tag >>> 3] = slot;
      this.#empty[slot.name] = DEFAULTS[slot.kind];
    }
  }

  encode(value: Encodable<F>): Buffer {
    return Buffer.from(this.lend(value));
  }

  /** The same without a copy: good until the next message of any type is encoded. */
  lend(value: Encodable<F>): Buffer {
    sink.begin();
    this.write(value, sink);
    return sink.view();
  }

  /** Throws WireError for bytes that are no such message. Fields of no known number are stepped over. */
  decode(input: Uint8Array): Decoded<F> {
    const source = new Source(input);
    return this.read(source, source.bytes.length, this.empty()) as Decoded<F>;
  }

  write(value: Values, to: Sink): void {
    if (this.#own !== undefined) {
      this.#own.write(value, to);
      return;
    }
    for (let at = this.#slots.length - 1; at >= 0; at--) {
      const slot = this.#slots[at] as Slot;
      const part = value[slot.name];
      if (part === undefined || part === DEFAULTS[slot.kind]) continue;
      writeField(slot, part, to);
    }
  }

  read(source: Source, end: number, into: Values): Values {
    if (this.#own?.read !== undefined) return this.#own.read(source, end, into);
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
    return this.#own?.empty?.() ?? { ...this.#empty };
  }
}
