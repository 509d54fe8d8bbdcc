import type { AvroNode } from './avro-node.js';
import { SchemaFault } from './schema-fault.js';

/** A long has 64 bits, seven a byte. */
const VARINT_BYTES_MAX = 10;

/**
 * Walks over a value in Avro's binary encoding without making it; throws `SchemaFault` when the bytes end before it does or it
 * claims more than they can hold. The library's reader goes on behind the end, as often as a count in the data says.
 */
export function checkAvroBinary(type: AvroNode, data: Uint8Array): void {
  new Walk(data).value(type);
}

class Walk {
  readonly #data: Uint8Array;
  #at = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  value(type: AvroNode): void {
    switch (type.typeName) {
      case 'null':
        return;
      case 'boolean':
        this.#skip(1);
        return;
      case 'float':
        this.#skip(4);
        return;
      case 'double':
        this.#skip(8);
        return;
      case 'fixed':
        this.#skip(type.size);
        return;
      case 'string':
      case 'bytes':
        this.#skip(this.#long());
        return;
      case 'record':
      case 'error':
        for (const field of type.fields) this.value(field.type);
        return;
      case 'array':
        this.#blocks(() => this.value(type.itemsType));
        return;
      case 'map':
        this.#blocks(() => {
          this.#skip(this.#long());
          this.value(type.valuesType);
        });
        return;
      case 'union:wrapped': {
        const branch = type.types[this.#long()];
        if (branch === undefined)
          throw new SchemaFault('the data names a branch that its union does not have');
        this.value(branch);
        return;
      }
      default:
        // Numbers and enums: one long each.
        this.#long();
    }
  }

  /** Items come in blocks until one is empty. A negative count is followed by the block's size. */
  #blocks(item: () => void): void {
    for (let count = this.#long(); count !== 0; count = this.#long()) {
      if (count < 0) this.#long();
      const items = Math.abs(count);
      // Each takes a byte at least.
      if (items > this.#data.length - this.#at) {
        throw new SchemaFault('the data claims more items than it can hold');
      }
      for (let left = items; left > 0; left--) item();
    }
  }

  #skip(bytes: number): void {
    if (bytes < 0 || bytes > this.#data.length - this.#at) throw new SchemaFault('the data is cut off');
    this.#at += bytes;
  }

  /** Exact where it matters: up to 2^53. */
  #long(): number {
    let value = 0;
    for (let i = 0, scale = 1; i < VARINT_BYTES_MAX; i++, scale *= 128) {
      const byte = this.#data[this.#at];
      if (byte === undefined) throw new SchemaFault('the data is cut off');
      this.#at++;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new SchemaFault('the data has a number of more than 64 bits');
  }
}
