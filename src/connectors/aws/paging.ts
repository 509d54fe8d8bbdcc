/** One page of a sorted list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; undefined on the last one. */
  readonly nextToken: string | undefined;
}

/**
 * Up to `max` items behind the one the token names. Tokens carry the last key, so they outlive changes of the list.
 * Undefined when the token is none of ours.
 */
export function pageOf<T>(
  sorted: readonly T[],
  keyOf: (item: T) => string,
  { token, max }: { readonly token: string | undefined; readonly max: number },
): Page<T> | undefined {
  let start = 0;
  if (token !== undefined && token !== '') {
    const after = Buffer.from(token, 'base64url').toString('utf8');
    if (Buffer.from(after, 'utf8').toString('base64url') !== token) return undefined;
    const next = sorted.findIndex((item) => keyOf(item) > after);
    start = next < 0 ? sorted.length : next;
  }
  const items = sorted.slice(start, start + max);
  const last = items[items.length - 1];
  const more = last !== undefined && start + max < sorted.length;
  return { items, nextToken: more ? Buffer.from(keyOf(last), 'utf8').toString('base64url') : undefined };
}
