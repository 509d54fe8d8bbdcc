import { HttpError, badRequest } from './http-error.js';
import type { Json } from './views.js';

const PAGE_SIZE_DEFAULT = 100;
const PAGE_SIZE_MAX = 500;
/** Expressions of clients are compiled: longer ones are refused. */
const EXPRESSION_CHARS_MAX = 200;

/** What lists are ordered by where nothing else says it, or behind what does. */
const ORDER = ['vhost', 'name'];
const ORDER_OF_BINDINGS = [
  'vhost',
  'source',
  'destination_type',
  'destination',
  'routing_key',
  'properties_key',
];
const ORDER_OF_PERMISSIONS = ['vhost', 'user', 'exchange'];

/** An item, or, as in RabbitMQ, an empty list where it has none of the columns. */
type Row = Json | readonly never[];

/** A list as a client asked for it: `sort` and `sort_reverse` order, `columns` choose fields. Most know no pages, as in RabbitMQ. */
export function listed(items: readonly Json[], query: URLSearchParams): readonly Row[] {
  return columnsOf(sort(items, query, ORDER), query);
}

export function listedBindings(items: readonly Json[], query: URLSearchParams): readonly Row[] {
  return columnsOf(sort(items, query, ORDER_OF_BINDINGS), query);
}

export function listedPermissions(items: readonly Json[], query: URLSearchParams): readonly Row[] {
  return columnsOf(sort(items, query, ORDER_OF_PERMISSIONS), query);
}

/** A list that has pages, too: with `page`, and `page_size`, `name` filters (`use_regex`) and one page is shown. */
export function paged(items: readonly Json[], query: URLSearchParams): unknown {
  const page = pageOf(query);
  const sorted = sort(items, query, ORDER);
  if (page === undefined) return columnsOf(sorted, query);
  const { number, size } = page;
  const filtered = filter(sorted, query);
  const before = (number - 1) * size;
  if (before > filtered.length) {
    const text = `Page out of range, page: ${number} page size: ${size}, len: ${filtered.length}`;
    throw new HttpError(400, 'page_out_of_range', text);
  }
  const cut = filtered.slice(before, before + size);
  return {
    filtered_count: filtered.length,
    item_count: cut.length,
    items: columnsOf(cut, query),
    page: number,
    page_count: Math.ceil(filtered.length / size),
    page_size: size,
    total_count: items.length,
  };
}

function pageOf(query: URLSearchParams): { readonly number: number; readonly size: number } | undefined {
  const [page, pageSize] = [query.get('page'), query.get('page_size')];
  if (page === null) return undefined;
  const number = whole(page);
  const size = pageSize === null ? PAGE_SIZE_DEFAULT : whole(pageSize);
  if (number >= 1 && size >= 1 && size <= PAGE_SIZE_MAX) return { number, size };
  const text = `Invalid pagination parameters: page number ${number}, page size ${pageSize === null ? 'undefined' : size}`;
  throw new HttpError(400, 'invalid_pagination_parameters', text);
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalidPages();
  return Number(text);
}

function invalidPages(): HttpError {
  return badRequest('Pagination parameters are invalid');
}

/** In either case, letters great and small are the same. */
function filter(items: readonly Json[], query: URLSearchParams): readonly Json[] {
  const name = query.get('name') ?? '';
  if (name === '') return items;
  if (query.get('use_regex') !== 'true') {
    return items.filter((item) => String(item['name']).toLowerCase().includes(name.toLowerCase()));
  }
  if (name.length > EXPRESSION_CHARS_MAX) throw badRequest('name is too long');
  const expression = expressionOf(name);
  return items.filter((item) => expression.test(String(item['name'])));
}

function expressionOf(text: string): RegExp {
  try {
    return new RegExp(text, 'i');
  } catch {
    throw invalidPages();
  }
}

function sort(items: readonly Json[], query: URLSearchParams, order: readonly string[]): readonly Json[] {
  const by = query.get('sort') ?? '';
  const paths = [...(by === '' ? [] : [by]), ...order].map((column) => column.split('.'));
  const keyed = items.map((item) => ({ item, keys: paths.map((path) => at(item, path)) }));
  keyed.sort((a, b) => compareKeys(a.keys, b.keys));
  const sorted = keyed.map(({ item }) => item);
  return query.get('sort_reverse') === 'true' ? sorted.reverse() : sorted;
}

function compareKeys(a: readonly unknown[], b: readonly unknown[]): number {
  for (let i = 0; i < a.length; i++) {
    const order = compare(a[i] ?? 0, b[i] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
}

/** Erlang's order of terms: numbers, then booleans, then texts. What is not there is a 0. */
function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const kinds = rank(a) - rank(b);
  if (kinds !== 0) return kinds;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

function rank(value: unknown): number {
  if (typeof value === 'number') return 0;
  return typeof value === 'boolean' ? 1 : typeof value === 'object' ? 2 : 3;
}

function at(item: unknown, path: readonly string[]): unknown {
  let value = item;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Json)[part];
  }
  return value;
}

function columnsOf(items: readonly Json[], query: URLSearchParams): readonly Row[] {
  const columns = query.get('columns') ?? '';
  if (columns === '') return items;
  const paths = columns.split(',').map((column) => column.split('.'));
  return items.map((item) => {
    const out: Record<string, unknown> = {};
    for (const path of paths) put(out, path, at(item, path));
    return Object.keys(out).length === 0 ? [] : out;
  });
}

function put(out: Record<string, unknown>, path: readonly string[], value: unknown): void {
  if (value === undefined) return;
  let into = out;
  for (const part of path.slice(0, -1)) into = (into[part] ??= {}) as Record<string, unknown>;
  into[path.at(-1) ?? ''] = value;
}
