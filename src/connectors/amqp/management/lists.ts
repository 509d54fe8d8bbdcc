import { badRequest } from './http-error.js';
import type { Json } from './views.js';

const PAGE_SIZE_MAX = 500;
/** Expressions of clients are compiled: longer ones are refused. */
const EXPRESSION_CHARS_MAX = 200;

/**
 * A list as a client asked for it: `name` filters (`use_regex`), `sort` and `sort_reverse` order, `page` and `page_size` cut,
 * `columns` choose fields. Without `page` it is a plain array.
 */
export function listed(items: readonly Json[], query: URLSearchParams): unknown {
  const page = query.get('page');
  const sorted = sort(items, query);
  if (page === null) return columnsOf(sorted, query);
  const number = whole('page', page);
  const size = whole('page_size', query.get('page_size') ?? '100');
  if (number < 1 || size < 1 || size > PAGE_SIZE_MAX) throw badRequest('page or page_size is out of range');
  const filtered = filter(sorted, query);
  const pages = Math.max(1, Math.ceil(filtered.length / size));
  if (number > pages) throw badRequest('page_out_of_range');
  const cut = filtered.slice((number - 1) * size, number * size);
  return {
    filtered_count: filtered.length,
    item_count: cut.length,
    items: columnsOf(cut, query),
    page: number,
    page_count: pages,
    page_size: size,
    total_count: items.length,
  };
}

function whole(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`${name} is not a number`);
  return Number(text);
}

function filter(items: readonly Json[], query: URLSearchParams): readonly Json[] {
  const name = query.get('name') ?? '';
  if (name === '') return items;
  if (query.get('use_regex') !== 'true') {
    return items.filter((item) => String(item['name']).toLowerCase().includes(name.toLowerCase()));
  }
  if (name.length > EXPRESSION_CHARS_MAX) throw badRequest('name is too long');
  const expression = new RegExp(name);
  return items.filter((item) => expression.test(String(item['name'])));
}

function sort(items: readonly Json[], query: URLSearchParams): readonly Json[] {
  const by = query.get('sort') ?? '';
  if (by === '') return items;
  const sign = query.get('sort_reverse') === 'true' ? -1 : 1;
  const value = (item: Json): unknown => at(item, by.split('.'));
  return [...items].sort((a, b) => sign * compare(value(a), value(b)));
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [x, y] = [String(a), String(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function at(item: unknown, path: readonly string[]): unknown {
  let value = item;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Json)[part];
  }
  return value;
}

function columnsOf(items: readonly Json[], query: URLSearchParams): readonly Json[] {
  const columns = query.get('columns') ?? '';
  if (columns === '') return items;
  const paths = columns.split(',').map((column) => column.split('.'));
  return items.map((item) => {
    const out: Record<string, unknown> = {};
    for (const path of paths) put(out, path, at(item, path));
    return out;
  });
}

function put(out: Record<string, unknown>, path: readonly string[], value: unknown): void {
  if (value === undefined) return;
  let into = out;
  for (const part of path.slice(0, -1)) into = (into[part] ??= {}) as Record<string, unknown>;
  into[path.at(-1) ?? ''] = value;
}
