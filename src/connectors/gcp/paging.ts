import { GCP_LIMITS } from './config.js';
import { badArgument } from './errors.js';

/** The page of a list call. */
export interface Page<T> {
  readonly items: readonly T[];
  /** '' = the last page. */
  readonly nextPageToken: string;
}

/**
 * Cuts a page out of everything, which is sorted by `keyOf` in code unit order. A token is the last key of the page before,
 * so that creations and deletions in between neither repeat nor hide the others.
 */
export function pageOf<T>(
  all: readonly T[],
  keyOf: (item: T) => string,
  request: { readonly pageSize: number; readonly pageToken: string },
): Page<T> {
  const { pageSize, pageToken } = request;
  if (pageSize < 0) throw badArgument('page_size');
  const size = Math.min(pageSize === 0 ? GCP_LIMITS.pageSizeDefault : pageSize, GCP_LIMITS.pageSizeMax);
  const after = pageToken === '' ? '' : readToken(pageToken);
  const start = after === '' ? 0 : all.findIndex((item) => keyOf(item) > after);
  if (start < 0) return { items: [], nextPageToken: '' };
  const items = all.slice(start, start + size);
  const last = items.at(-1);
  const more = last !== undefined && start + size < all.length;
  return { items, nextPageToken: more ? Buffer.from(keyOf(last)).toString('base64url') : '' };
}

function readToken(token: string): string {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length === 0 || bytes.toString('base64url') !== token) throw badArgument('page_token');
  return bytes.toString();
}
