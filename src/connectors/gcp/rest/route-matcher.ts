import type { RestRoute } from './routes.js';

/** A route that a request was found to be, and the value of its path variable. */
export interface RouteMatch<T> {
  readonly target: T;
  readonly value: string;
}

interface Template {
  /** `*` stands for any one segment. */
  readonly segments: readonly string[];
  /** The variable's segments: from, and up to but not with. */
  readonly from: number;
  readonly to: number;
}

interface Candidate<T> extends Template {
  readonly target: T;
}

const VARIABLE = /^(.*)\{([\w.]+)=([^}]+)\}([^:]*)(?::(\w+))?$/;

/** The parts of a path template. */
function parseTemplate(
  path: string,
): Template & { readonly verb: string; readonly field: readonly string[] } {
  const match = VARIABLE.exec(path);
  if (match === null) throw new TypeError(`no path template: ${path}`);
  const [, before = '', field = '', pattern = '', behind = '', verb = ''] = match;
  const lead = split(before);
  const inner = split(pattern);
  return {
    segments: [...lead, ...inner, ...split(behind)],
    from: lead.length,
    to: lead.length + inner.length,
    verb,
    field: field.split('.'),
  };
}

/** The field that a route's path variable fills. */
export function variableField(route: RestRoute): readonly string[] {
  return parseTemplate(route.path).field;
}

/** Finds the route of a request by method and path. */
export class RouteMatcher<T extends { readonly route: RestRoute }> {
  /** By HTTP method and custom verb. */
  readonly #candidates = new Map<string, Candidate<T>[]>();

  constructor(targets: readonly T[]) {
    for (const target of targets) {
      const { verb, segments, from, to } = parseTemplate(target.route.path);
      // A verb behind a literal segment is a part of it.
      const key = `${target.route.verb} ${verb}`;
      const list = this.#candidates.get(key) ?? [];
      this.#candidates.set(key, list);
      list.push({ segments, from, to, target });
    }
  }

  /** `path` is as it stood in the request line, without query. */
  match(method: string, path: string): RouteMatch<T> | undefined {
    const raw = split(path);
    const last = raw.at(-1) ?? '';
    const colon = last.lastIndexOf(':');
    const verb = colon < 0 ? '' : last.slice(colon + 1);
    if (colon >= 0) raw[raw.length - 1] = last.slice(0, colon);
    for (const candidate of this.#candidates.get(`${method} ${verb}`) ?? []) {
      if (!fits(candidate.segments, raw)) continue;
      const value = decode(raw.slice(candidate.from, candidate.to));
      if (value !== undefined) return { target: candidate.target, value };
    }
    return undefined;
  }
}

function split(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function fits(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every((segment, i) => segment === '*' || segment === segments[i])
  );
}

/** Percent-decoded; undefined when that cannot be. A slash that was encoded stays so: it is no separator. */
function decode(segments: readonly string[]): string | undefined {
  try {
    return segments.map((segment) => decodeURIComponent(segment.replace(/%2f/gi, '%252F'))).join('/');
  } catch {
    return undefined;
  }
}
