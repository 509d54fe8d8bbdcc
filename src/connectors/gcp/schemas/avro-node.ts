import type { Type } from 'avsc';

/** A compiled Avro type as its walkers see it; the parts that a kind of type does not have are not there. */
export interface AvroNode {
  /** e.g. `record`, `array`, `union:wrapped`, `abstract:long`. */
  readonly typeName: string;
  readonly name?: string;
  /** What values of it are called in a union. */
  readonly branchName?: string;
  readonly fields: readonly AvroField[];
  readonly itemsType: AvroNode;
  readonly valuesType: AvroNode;
  readonly types: readonly AvroNode[];
  readonly symbols: readonly string[];
  readonly size: number;
}

interface AvroField {
  readonly name: string;
  readonly type: AvroNode;
  /** Undefined = it has none. */
  defaultValue(): unknown;
}

export function avroNode(type: Type): AvroNode {
  // The library's classes have these, but its types hide them behind classes that nothing else may stand for.
  return type as unknown as AvroNode;
}
