import { clone, type DescField, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import type { FieldMask } from '@bufbuild/protobuf/wkt';
import { invalidArgument } from './errors.js';

/** What an update may change, and what it is called in errors. */
export interface MaskRule {
  /** Message name of the request, e.g. `UpdateTopicRequest`. */
  readonly request: string;
  /** Fields that may change, as the proto spells them. */
  readonly mutable: ReadonlySet<string>;
}

/**
 * `current` with the fields of the mask taken from `patch`; a field that `patch` does not have is cleared. Throws
 * `invalid-argument` for an empty mask and for unknown and immutable fields; nothing is changed then.
 */
export function masked<S extends DescMessage>(
  schema: S,
  values: { readonly current: MessageShape<S>; readonly patch: MessageShape<S> },
  mask: FieldMask | undefined,
  rule: MaskRule,
): MessageShape<S> {
  const paths = mask?.paths ?? [];
  if (paths.length === 0) {
    throw invalidArgument(
      `The update_mask in the ${rule.request} must be set, and must contain a non-empty paths list.`,
    );
  }
  for (const path of paths) checkPath(schema, path, rule);
  const result = clone(schema, values.current);
  for (const path of paths) copyPath(path.split('.'), reflect(schema, values.patch), reflect(schema, result));
  return result;
}

function checkPath(schema: DescMessage, path: string, rule: MaskRule): void {
  const [first = '', ...rest] = path.split('.');
  let field = fieldOf(schema, first);
  if (field === undefined) throw unknownField(schema, path, rule);
  if (!rule.mutable.has(first)) {
    throw invalidArgument(
      `Invalid update_mask provided in the ${rule.request}: the '${path}' field in the ${schema.name} is not mutable.`,
    );
  }
  for (const name of rest) {
    field = field.fieldKind === 'message' ? fieldOf(field.message, name) : undefined;
    if (field === undefined) throw unknownField(schema, path, rule);
  }
}

function unknownField(schema: DescMessage, path: string, rule: MaskRule): Error {
  return invalidArgument(
    `Invalid update_mask provided in the ${rule.request}: '${path}' is not a known ${schema.name} field. Note that ` +
      `field paths must be of the form 'push_config' rather than 'pushConfig'.`,
  );
}

function copyPath(path: readonly string[], from: ReflectMessage | undefined, to: ReflectMessage): void {
  const [name = '', ...rest] = path;
  const field = fieldOf(to.desc, name);
  if (field === undefined) return;
  const isSet = from?.isSet(field) === true;
  if (rest.length > 0 && field.fieldKind === 'message') {
    if (!isSet && !to.isSet(field)) return;
    // `get` gives a message of its own when there is none.
    const inner = to.get(field);
    copyPath(rest, isSet ? from.get(field) : undefined, inner);
    to.set(field, inner);
    return;
  }
  if (!isSet) to.clear(field);
  else if (field.fieldKind === 'list') {
    to.clear(field);
    for (const item of from.get(field)) to.get(field).add(item);
  } else if (field.fieldKind === 'map') {
    to.clear(field);
    for (const [key, value] of from.get(field)) to.get(field).set(key, value);
  } else to.set(field, from.get(field));
}

function fieldOf(schema: DescMessage, name: string): DescField | undefined {
  return schema.fields.find((field) => field.name === name);
}
