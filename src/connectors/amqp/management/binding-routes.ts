import type { Binding, Destination } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { Api } from './api.js';
import { notFound } from './http-error.js';
import { listedBindings } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { defaultBinding, propertiesKey } from './views.js';

interface Ends {
  readonly vhost: Vhost;
  readonly source: string;
  readonly destination: Destination;
}

/** Bindings: list, look, make, remove. */
export function bindingRoutes(api: Api): readonly Route[] {
  const { views } = api;
  const all = (call: ApiCall, vhosts: readonly Vhost[]): ApiAnswer => ({
    body: listedBindings(
      vhosts.flatMap((vhost) =>
        bindingsOf(vhost)
          .filter((binding) => api.seesBinding(vhost, call.identity, binding))
          .map((binding) => views.binding(vhost, binding)),
      ),
      call.query,
    ),
  });
  return [
    route('GET', 'bindings', (call) => all(call, api.vhosts(call.identity))),
    route('GET', 'bindings/:', (call) => all(call, [api.vhost(call.parameters[0], call.identity)])),
    ...(['q', 'e'] as const).flatMap((kind) => {
      const path = `bindings/:/e/:/${kind}/:`;
      return [
        route('GET', path, (call) => {
          const ends = endsOf(api, call, kind);
          return {
            body: listedBindings(
              between(ends).map((binding) => views.binding(ends.vhost, binding)),
              call.query,
            ),
          };
        }),
        route('POST', path, (call) => bind(api, call, endsOf(api, call, kind))),
        route('GET', `${path}/:`, (call) => {
          const ends = endsOf(api, call, kind);
          return { body: views.binding(ends.vhost, named(ends, call)) };
        }),
        route('DELETE', `${path}/:`, (call) => unbind(api, call, endsOf(api, call, kind))),
      ];
    }),
  ];
}

function bindingsOf(vhost: Vhost): readonly Binding[] {
  return [
    ...[...vhost.queues.values()].map(defaultBinding),
    ...[...vhost.exchanges.keys()].flatMap((source) => [...vhost.bindingsFrom(source)]),
  ];
}

function endsOf(api: Api, call: ApiCall, kind: 'q' | 'e'): Ends {
  const [vhostName, source = '', name = ''] = call.parameters;
  const vhost = api.vhost(vhostName, call.identity);
  const destination: Destination = { kind: kind === 'q' ? 'queue' : 'exchange', name };
  const there = kind === 'q' ? vhost.queues.has(name) : vhost.exchanges.has(name);
  if (!there || (source !== '' && !vhost.exchanges.has(source))) throw notFound();
  if (!api.seesBinding(vhost, call.identity, { source, destination })) throw notFound();
  return { vhost, source, destination };
}

function between({ vhost, source, destination }: Ends): readonly Binding[] {
  const bindings = [...vhost.bindingsTo(destination)].filter((binding) => binding.source === source);
  const queue = destination.kind === 'queue' ? vhost.queues.get(destination.name) : undefined;
  return source === '' && queue !== undefined ? [defaultBinding(queue)] : bindings;
}

function named(ends: Ends, call: ApiCall): Binding {
  const key = call.parameters[3] ?? '';
  const found = between(ends).find((binding) => {
    const own = propertiesKey(ends.vhost.name, binding);
    return own === key || decodeURIComponent(own) === key;
  });
  if (found === undefined) throw notFound();
  return found;
}

async function bind(api: Api, call: ApiCall, ends: Ends): Promise<ApiAnswer> {
  const routingKey = call.input.text('routing_key', '');
  const table = call.input.table('arguments');
  const client = api.client(ends.vhost, call.identity);
  const common = { ticket: 0, routingKey, arguments: table, nowait: true };
  const { source, destination } = ends;
  if (destination.kind === 'queue') {
    await client.call('queue.bind', { ...common, queue: destination.name, exchange: source });
  } else {
    await client.call('exchange.bind', { ...common, destination: destination.name, source });
  }
  const made = between(ends).find((binding) => binding.routingKey === routingKey);
  const key = made === undefined ? '~' : propertiesKey(ends.vhost.name, made);
  // Relative to the request's own path, as RabbitMQ's: clients take the key from its second segment.
  return {
    status: 201,
    headers: ['Location', `${encodeURIComponent(destination.name)}/${encodeURIComponent(key)}`],
  };
}

async function unbind(api: Api, call: ApiCall, ends: Ends): Promise<ApiAnswer> {
  const binding = named(ends, call);
  const client = api.client(ends.vhost, call.identity);
  const common = { ticket: 0, routingKey: binding.routingKey, arguments: binding.arguments };
  const { source, destination } = ends;
  if (destination.kind === 'queue') {
    await client.call('queue.unbind', { ...common, queue: destination.name, exchange: source });
  } else {
    await client.call('exchange.unbind', { ...common, destination: destination.name, source, nowait: true });
  }
  return {};
}
