import type { RegistryEntry } from '../../../core/registry/types.js';
import { percentEncode } from '../../../base/percent.js';
import type { Vhost } from '../topology/vhost.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import type { Input } from './json-input.js';
import { limitValues } from './limit-routes.js';
import { listed } from './lists.js';
import { policiesOf, policyOf } from './policy-routes.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { administratorsOf } from './user-routes.js';
import type { Json } from './views.js';

/** The components of RabbitMQ's parameters there are without plug-ins such as the shovel. */
const POLICY = 'policy';
const OPERATOR_POLICY = 'operator_policy';
const VHOST_LIMITS = 'vhost-limits';

const GLOBAL_KIND = 'amqp.global-parameter';

/** The parameter that is the cluster's name, as in RabbitMQ: definitions files bring one. */
export const CLUSTER_NAME = 'cluster_name';
const CLUSTER_NAME_DEFAULT = 'polymq';

interface GlobalParameter {
  readonly name: string;
  readonly value: unknown;
}

/** Parameters of components and of the whole broker: list, look, set, take away. */
export function parameterRoutes(api: Api): readonly Route[] {
  return [...componentRoutes(api), ...globalRoutes(api)];
}

function componentRoutes(api: Api): readonly Route[] {
  const admin = administratorsOf(api);
  const list = (call: ApiCall, vhosts: readonly Vhost[]): ApiAnswer => ({
    body: listed(
      vhosts.flatMap((vhost) => ofComponent(api, vhost, call.parameters[0])),
      call.query,
    ),
  });
  const one = (call: ApiCall): Json => {
    const [component, vhost, name] = call.parameters;
    const found = parametersOf(api, api.vhost(vhost, call.identity)).find(
      (parameter) => parameter['component'] === component && parameter['name'] === name,
    );
    if (found === undefined) throw notFound();
    return found;
  };
  return [
    route(
      'GET',
      'parameters',
      admin((call) => list(call, api.vhosts(call.identity))),
    ),
    route(
      'GET',
      'parameters/:',
      admin((call) => list(call, api.vhosts(call.identity))),
    ),
    route(
      'GET',
      'parameters/:/:',
      admin((call) => list(call, [api.vhost(call.parameters[1], call.identity)])),
    ),
    route(
      'GET',
      'parameters/:/:/:',
      admin((call) => ({ body: one(call) })),
    ),
    route(
      'PUT',
      'parameters/:/:/:',
      admin(async (call) => {
        const [component = '', vhostName, name = ''] = call.parameters;
        const vhost = api.vhost(vhostName, call.identity);
        const known = parametersOf(api, vhost).some(
          (parameter) => parameter['component'] === component && parameter['name'] === name,
        );
        const status = known ? 204 : 201;
        await putParameter(api, vhost, { component, name, input: call.input });
        return { status };
      }),
    ),
    route(
      'DELETE',
      'parameters/:/:/:',
      admin(async (call) => {
        one(call);
        const [component, vhostName, name = ''] = call.parameters;
        const vhost = api.vhost(vhostName, call.identity);
        const { limits, topology } = api.context;
        if (component === VHOST_LIMITS) await limits.put('vhost', vhost.name, {});
        else await topology.policies.remove(vhost, 'operator', name);
        return {};
      }),
    ),
  ];
}

/** Without a component, all but policies, which have a list of their own. */
function ofComponent(api: Api, vhost: Vhost, component: string | undefined): readonly Json[] {
  if (component === POLICY) return policiesOf(vhost, 'user').map((policy) => policyParameter(POLICY, policy));
  const all = parametersOf(api, vhost);
  return component === undefined ? all : all.filter((one) => one['component'] === component);
}

function policyParameter(component: string, { vhost, name, ...value }: Json): Json {
  return { value, vhost, component, name };
}

/** What RabbitMQ keeps as parameters of a virtual host, a definitions file, too. */
export function parametersOf(api: Api, vhost: Vhost): readonly Json[] {
  const policies = policiesOf(vhost, 'operator').map((policy) => policyParameter(OPERATOR_POLICY, policy));
  const limits = api.context.limits.of('vhost', vhost.name);
  if (limits === undefined) return policies;
  return [...policies, { value: limits.values, vhost: vhost.name, component: VHOST_LIMITS, name: 'limits' }];
}

export function isKnownComponent(component: string): boolean {
  return component === OPERATOR_POLICY || component === VHOST_LIMITS;
}

export async function putParameter(
  api: Api,
  vhost: Vhost,
  { component, name, input }: { readonly component: string; readonly name: string; readonly input: Input },
): Promise<void> {
  if (!isKnownComponent(component)) {
    throw badRequest(`Validation failed\n\ncomponent ${component} not found\n`);
  }
  const value = input.object('value');
  if (component === VHOST_LIMITS) {
    await api.context.limits.put('vhost', vhost.name, limitValues('vhost', value.values));
    return;
  }
  const policy = policyOf(name, value, 'operator');
  await api.context.topology.policies.put(vhost, 'operator', policy);
}

function globalRoutes(api: Api): readonly Route[] {
  const admin = administratorsOf(api);
  const { registry } = api.context.broker;
  const found = (call: ApiCall): RegistryEntry<GlobalParameter> | undefined =>
    registry.get<GlobalParameter>(GLOBAL_KIND, percentEncode(call.parameters[0] ?? ''));
  return [
    route(
      'GET',
      'global-parameters',
      admin((call) => ({ body: listed(globalParameters(api), call.query) })),
    ),
    route(
      'GET',
      'global-parameters/:',
      admin((call) => {
        const entry = found(call);
        if (entry === undefined) throw notFound();
        return { body: entry.value };
      }),
    ),
    route(
      'PUT',
      'global-parameters/:',
      admin(async (call) => {
        const status = found(call) === undefined ? 201 : 204;
        await putGlobalParameter(api, call.parameters[0] ?? '', call.input);
        return { status };
      }),
    ),
    route(
      'DELETE',
      'global-parameters/:',
      admin(async (call) => {
        const entry = found(call);
        if (entry === undefined) throw notFound();
        await api.context.broker.change([{ do: 'remove', kind: GLOBAL_KIND, key: entry.key }]);
        return {};
      }),
    ),
  ];
}

/** What the cluster is called by tools; nothing depends on it. */
export function clusterName(api: Api): string {
  const value = api.context.broker.registry.get<GlobalParameter>(GLOBAL_KIND, CLUSTER_NAME)?.value.value;
  return typeof value === 'string' ? value : CLUSTER_NAME_DEFAULT;
}

/** They say nothing to the broker: tools keep what they like in them. */
export function globalParameters(api: Api): readonly Json[] {
  return api.context.broker.registry
    .list<GlobalParameter>(GLOBAL_KIND)
    .map(({ value: { name, value } }) => ({ name, value }));
}

export async function putGlobalParameter(api: Api, name: string, { values }: Input): Promise<void> {
  if (values['value'] === undefined) throw badRequest('[{key_missing,value}]');
  const value: GlobalParameter = { name, value: values['value'] };
  await api.context.broker.change([{ do: 'put', kind: GLOBAL_KIND, key: percentEncode(name), value }]);
}
