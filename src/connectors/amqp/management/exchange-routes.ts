import type { Binding, Exchange } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import { Input, propertiesOf } from './json-input.js';
import { listedBindings, paged } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { defaultBinding } from './views.js';

/** Exchanges: list, look, declare, delete, publish. */
export function exchangeRoutes(api: Api): readonly Route[] {
  const { views } = api;
  const all = (call: ApiCall, vhosts: readonly Vhost[]): ApiAnswer => ({
    body: paged(
      vhosts.flatMap((vhost) => [
        views.defaultExchange(vhost),
        ...[...vhost.exchanges.values()]
          .filter(({ name }) => api.seesResource(vhost, call.identity, name))
          .map((exchange) => views.exchange(vhost, exchange)),
      ]),
      call.query,
    ),
  });
  const bindings = (call: ApiCall, side: 'source' | 'destination'): ApiAnswer => {
    const { vhost, name } = exchangeOf(api, call);
    const found: readonly Binding[] =
      side === 'destination'
        ? [...vhost.bindingsTo({ kind: 'exchange', name })]
        : name === ''
          ? [...vhost.queues.values()].map(defaultBinding)
          : [...vhost.bindingsFrom(name)];
    return {
      body: listedBindings(
        found
          .filter((binding) => api.seesBinding(vhost, call.identity, binding))
          .map((binding) => views.binding(vhost, binding)),
        call.query,
      ),
    };
  };
  return [
    route('GET', 'exchanges', (call) => all(call, api.vhosts(call.identity))),
    route('GET', 'exchanges/:', (call) => all(call, [api.vhost(call.parameters[0], call.identity)])),
    route('GET', 'exchanges/:/:', (call) => {
      const { vhost, exchange } = exchangeOf(api, call);
      const view = exchange === undefined ? views.defaultExchange(vhost) : views.exchange(vhost, exchange);
      return { body: { ...view, incoming: [], outgoing: [] } };
    }),
    route('PUT', 'exchanges/:/:', (call) => declare(api, call)),
    route('DELETE', 'exchanges/:/:', async (call) => {
      const { vhost, name } = exchangeOf(api, call);
      const ifUnused = call.query.get('if-unused') === 'true';
      await api
        .client(vhost, call.identity)
        .call('exchange.delete', { ticket: 0, exchange: name, ifUnused, nowait: true });
      return {};
    }),
    route('GET', 'exchanges/:/:/bindings/source', (call) => bindings(call, 'source')),
    route('GET', 'exchanges/:/:/bindings/destination', (call) => bindings(call, 'destination')),
    route('POST', 'exchanges/:/:/publish', (call) => publish(api, call)),
  ];
}

/** The default exchange goes by `amq.default`, because its name would be an empty segment. */
function exchangeOf(
  api: Api,
  call: ApiCall,
): { readonly vhost: Vhost; readonly name: string; readonly exchange: Exchange | undefined } {
  const [vhostName, given = ''] = call.parameters;
  const vhost = api.vhost(vhostName, call.identity);
  const name = given === 'amq.default' ? '' : given;
  const exchange = vhost.exchanges.get(name);
  if (exchange === undefined && name !== '') throw notFound();
  if (!api.seesResource(vhost, call.identity, name)) throw notFound();
  return { vhost, name, exchange };
}

async function declare(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const [vhostName, name = ''] = call.parameters;
  const vhost = api.vhost(vhostName, call.identity);
  const known = vhost.exchanges.has(name);
  const { input } = call;
  await api.client(vhost, call.identity).call('exchange.declare', {
    ticket: 0,
    exchange: name,
    type: input.text('type', 'direct'),
    passive: false,
    durable: input.flag('durable', true),
    autoDelete: input.flag('auto_delete', false),
    internal: input.flag('internal', false),
    nowait: true,
    arguments: input.table('arguments'),
  });
  return { status: known ? 204 : 201 };
}

async function publish(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const { vhost, name } = exchangeOf(api, call);
  const { input } = call;
  const encoding = input.text('payload_encoding', 'string');
  if (encoding !== 'string' && encoding !== 'base64') throw badRequest(`unsupported encoding: ${encoding}`);
  const body = Buffer.from(input.text('payload'), encoding === 'base64' ? 'base64' : 'utf8');
  const given = input.values['properties'];
  // Some languages write an empty object as an empty list.
  const properties = Array.isArray(given) ? {} : (given ?? {});
  const routingKey = input.text('routing_key');
  if (Buffer.byteLength(routingKey) > 255) throw badRequest('routing_key is longer than 255 bytes');
  if (body.length > api.context.config.maxMessageSize) throw badRequest('the payload is too large');
  const outcome = await api
    .client(vhost, call.identity)
    .publish(name, routingKey, propertiesOf(new Input(properties as Record<string, unknown>)), body);
  if (!outcome.stored) throw badRequest('rejected');
  return { body: { routed: outcome.routed } };
}
