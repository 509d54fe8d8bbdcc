import { definitionFault, erlangTerm } from '../mapping/policy-definition.js';
import { isObject } from '../mapping/json-headers.js';
import type { ApplyTo, Policy, PolicySide } from '../topology/policy-set.js';
import { APPLY_TO } from '../topology/policy-set.js';
import type { PolicyDefinition } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { Identity } from '../access/access-policy.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import type { Input } from './json-input.js';
import { listed } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import type { Json } from './views.js';

/** Policies, of users and of operators: list, look, set, take away. */
export function policyRoutes(api: Api): readonly Route[] {
  return [...routesOf(api, 'policies', 'user'), ...routesOf(api, 'operator-policies', 'operator')];
}

function routesOf(api: Api, path: string, side: PolicySide): readonly Route[] {
  const list = (call: ApiCall, vhosts: readonly Vhost[]): ApiAnswer => ({
    body: listed(
      vhosts.flatMap((vhost) => policiesOf(vhost, side)),
      call.query,
    ),
  });
  return [
    route('GET', path, (call) => list(call, api.vhosts(call.identity))),
    route('GET', `${path}/:`, (call) => list(call, [api.vhost(call.parameters[0], call.identity)])),
    route('GET', `${path}/:/:`, (call) => {
      const { vhost, policy } = known(api, side, call);
      return { body: policyJson(vhost.name, policy) };
    }),
    route('PUT', `${path}/:/:`, async (call) => {
      const { vhost, name } = place(api, side, call);
      const status = vhost.policies.get(side, name) === undefined ? 201 : 204;
      await api.context.topology.policies.put(vhost, side, policyOf(name, call.input, side));
      return { status };
    }),
    route('DELETE', `${path}/:/:`, async (call) => {
      place(api, side, call);
      const { vhost, policy } = known(api, side, call);
      await api.context.topology.policies.remove(vhost, side, policy.name);
      return {};
    }),
  ];
}

function place(api: Api, side: PolicySide, call: ApiCall): { readonly vhost: Vhost; readonly name: string } {
  requireMaker(api, side, call.identity);
  const [vhostName, name = ''] = call.parameters;
  return { vhost: api.vhost(vhostName, call.identity), name };
}

/** Users' policies are for policymakers, operators' for administrators. */
function requireMaker(api: Api, side: PolicySide, identity: Identity): void {
  if (side === 'user' && identity.tags.includes('policymaker')) return;
  api.requireAdministrator(identity);
}

function known(
  api: Api,
  side: PolicySide,
  call: ApiCall,
): { readonly vhost: Vhost; readonly policy: Policy } {
  const [vhostName, name = ''] = call.parameters;
  const vhost = api.vhost(vhostName, call.identity);
  const policy = vhost.policies.get(side, name);
  if (policy === undefined) throw notFound();
  return { vhost, policy };
}

export function policiesOf(vhost: Vhost, side: PolicySide): readonly Json[] {
  return vhost.policies.all(side).map((policy) => policyJson(vhost.name, policy));
}

function policyJson(vhost: string, { name, pattern, applyTo, definition, priority }: Policy): Json {
  return { vhost, name, pattern, 'apply-to': applyTo, definition, priority };
}

/** A policy of a request or of a definitions file; 400 in RabbitMQ's words. */
export function policyOf(name: string, { values }: Input, side: PolicySide): Policy {
  const missing = ['pattern', 'definition'].filter((key) => values[key] === undefined);
  if (missing.length > 0) throw badRequest(`[${missing.map((key) => `{key_missing,${key}}`).join(',')}]`);
  const pattern = patternOf(values['pattern']);
  const definition = definitionOf(values['definition']);
  const fault = definitionFault(definition, side === 'operator');
  if (fault !== undefined) throw refused(fault);
  return {
    name,
    pattern,
    definition: definition as PolicyDefinition,
    priority: priorityOf(values['priority'] ?? 0),
    applyTo: applyToOf(values['apply-to'] ?? 'all'),
  };
}

const refused = (why: string): Error => badRequest(`Validation failed\n\n${why}\n`);

function patternOf(value: unknown): string {
  if (typeof value !== 'string') throw refused(`pattern should be a binary but was ${erlangTerm(value)}`);
  try {
    new RegExp(value);
  } catch (caught) {
    const why = (caught as Error).message;
    throw refused(`pattern should be regular expression but is invalid: ${why}`);
  }
  return value;
}

/** Tools of the command line write JSON as text. */
function definitionOf(value: unknown): Readonly<Record<string, unknown>> {
  let definition = value;
  if (typeof value === 'string') {
    try {
      definition = JSON.parse(value);
    } catch {
      throw refused(`definition is no JSON: ${value}`);
    }
  }
  if (!isObject(definition)) throw refused('definition is not an object');
  return definition;
}

function priorityOf(value: unknown): number {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
  throw refused(`priority should be a number, actually was ${erlangTerm(value)}`);
}

function applyToOf(value: unknown): ApplyTo {
  const found = APPLY_TO.find((one) => one === value);
  if (found !== undefined) return found;
  throw refused(`apply-to '${String(value)}' unrecognised; should be one of ${APPLY_TO.join(', ')}`);
}
