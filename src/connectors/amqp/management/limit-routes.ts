import type { LimitKind, LimitsRecord } from '../access/limits.js';
import { LIMIT_NAMES } from '../access/limits.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import { listed } from './lists.js';
import type { ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { administratorsOf } from './user-routes.js';
import type { Json } from './views.js';

/** Bounds of virtual hosts and users: list, look, set, take away. */
export function limitRoutes(api: Api): readonly Route[] {
  return [...routesOf(api, 'vhost'), ...routesOf(api, 'user')];
}

function routesOf(api: Api, kind: LimitKind): readonly Route[] {
  const admin = administratorsOf(api);
  const { limits } = api.context;
  const named = (call: ApiCall): string => {
    const [name = ''] = call.parameters;
    if (kind === 'vhost') return api.vhost(name, call.identity).name;
    if (api.users.user(name) === undefined) throw notFound();
    return name;
  };
  const json = ({ of, values }: LimitsRecord): Json => ({ [kind]: of, value: values });
  return [
    route(
      'GET',
      `${kind}-limits`,
      admin((call) => ({ body: listed(limits.all(kind).map(json), call.query) })),
    ),
    route(
      'GET',
      `${kind}-limits/:`,
      admin((call) => {
        const found = limits.of(kind, named(call));
        return { body: listed(found === undefined ? [] : [json(found)], call.query) };
      }),
    ),
    route(
      'PUT',
      `${kind}-limits/:/:`,
      admin(async (call) => {
        const [, limit = ''] = call.parameters;
        const of = named(call);
        const value = limitValues(kind, { [limit]: call.input.values['value'] });
        await limits.put(kind, of, { ...limits.of(kind, of)?.values, ...value });
        return {};
      }),
    ),
    route(
      'DELETE',
      `${kind}-limits/:/:`,
      admin(async (call) => {
        const [, limit = ''] = call.parameters;
        const of = named(call);
        const rest = Object.entries(limits.of(kind, of)?.values ?? {}).filter(([name]) => name !== limit);
        await limits.put(kind, of, Object.fromEntries(rest));
        return {};
      }),
    ),
  ];
}

/** Checked bounds; 400 names what there is no bound for, or is no whole number. */
export function limitValues(
  kind: LimitKind,
  input: Readonly<Record<string, unknown>>,
): LimitsRecord['values'] {
  const values: Record<string, number> = {};
  for (const [name, value] of Object.entries(input)) {
    if (!(LIMIT_NAMES[kind] as readonly string[]).includes(name)) {
      throw badRequest(
        `Validation failed\n\nUnrecognised terms [{<<"${name}">>,${String(value)}}] in ${kind}-limits\n`,
      );
    }
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
      throw badRequest(`Validation failed\n\n${name} should be a whole number\n`);
    }
    values[name] = value;
  }
  return values;
}
