/**
 * What an operation takes and gives, as far as the Query protocol has to know it. The JSON protocol carries the same
 * structures as they are. Names are the service model's.
 */
export type Shape = ScalarShape | StructureShape | ListShape | MapShape;

/** Text, number, boolean or base64: always text on the Query wire. */
export interface ScalarShape {
  readonly kind: 'scalar';
}

export interface StructureShape {
  readonly kind: 'structure';
  readonly fields: Readonly<Record<string, Shape>>;
  /** The same as a list, made once: it is gone through with every structure that is read or written. */
  readonly entries: readonly (readonly [string, Shape])[];
}

/** With `flat` (SQS), elements carry that name and stand directly in their parent; else (SNS) they are `member`s. */
export interface ListShape {
  readonly kind: 'list';
  readonly item: Shape;
  readonly flat?: string;
}

/** With `flat` (SQS), entries carry that name; else (SNS) they are `entry`s. `key` and `value` name the two halves. */
export interface MapShape {
  readonly kind: 'map';
  readonly value: Shape;
  readonly keyName: string;
  readonly valueName: string;
  readonly flat?: string;
}

export const scalar: ScalarShape = { kind: 'scalar' };

export function structure(fields: Readonly<Record<string, Shape>>): StructureShape {
  return { kind: 'structure', fields, entries: Object.entries(fields) };
}

/** A structure of texts, numbers and booleans. */
export function scalars(...names: readonly string[]): StructureShape {
  return structure(Object.fromEntries(names.map((name) => [name, scalar])));
}

export function flatList(flat: string, item: Shape = scalar): ListShape {
  return { kind: 'list', item, flat };
}

export function memberList(item: Shape = scalar): ListShape {
  return { kind: 'list', item };
}

export function flatMap(flat: string, value: Shape = scalar): MapShape {
  return { kind: 'map', value, keyName: 'Name', valueName: 'Value', flat };
}

export function entryMap(value: Shape = scalar): MapShape {
  return { kind: 'map', value, keyName: 'key', valueName: 'value' };
}
