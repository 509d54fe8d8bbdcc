import { EXCHANGE_TYPES } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import { requirePermission } from '../channel/operations/access.js';
import type { Api } from './api.js';
import { notFound } from './http-error.js';
import { Input } from './json-input.js';
import { listed } from './lists.js';
import { CLUSTER_NAME, clusterName, putGlobalParameter } from './parameter-routes.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { administratorsOf } from './user-routes.js';
import type { Json } from './views.js';
import { NODE } from './views.js';

/** Queue of the aliveness test. */
const TEST_QUEUE = 'aliveness-test';

/** The broker as a whole: overview, node, health. */
export function overviewRoutes(api: Api): readonly Route[] {
  const ok = { body: { status: 'ok' } };
  return [
    route('GET', 'overview', (call) => ({ body: overview(api, call) })),
    route('GET', 'cluster-name', () => ({ body: { name: clusterName(api) } })),
    route(
      'PUT',
      'cluster-name',
      administratorsOf(api)(async ({ input }) => {
        await putGlobalParameter(api, CLUSTER_NAME, new Input({ value: input.text('name') }));
        return {};
      }),
    ),
    route('GET', 'nodes', (call) => {
      api.requireMonitor(call.identity);
      return { body: listed([node(api)], call.query) };
    }),
    route('GET', 'nodes/:', (call) => {
      api.requireMonitor(call.identity);
      if (call.parameters[0] !== NODE) throw notFound();
      return { body: node(api) };
    }),
    route('GET', 'extensions', () => ({ body: [{ javascript: 'dispatcher.js' }] })),
    route('GET', 'feature-flags', () => ({ body: [] })),
    route('GET', 'deprecated-features', () => ({ body: [] })),
    route('GET', 'deprecated-features/used', () => ({ body: [] })),
    route('GET', 'auth', () => ({ body: { oauth_enabled: false } })),
    route('GET', 'auth/attempts/:', () => ({ body: [] })),
    route('GET', 'aliveness-test/:', (call) => aliveness(api, call)),
    route('GET', 'health/checks/alarms', () => alarms(api)),
    route('GET', 'health/checks/local-alarms', () => alarms(api)),
    route('GET', 'health/checks/certificate-expiration/:/:', () => ok),
    route('GET', 'health/checks/port-listener/:', (call) => {
      const port = Number(call.parameters[0]);
      const open = api.listeners().some((listener) => listener.port === port);
      return open
        ? { body: { status: 'ok', port } }
        : failed({
            reason: 'No active listener',
            missing: port,
            ports: api.listeners().map((one) => one.port),
          });
    }),
    route('GET', 'health/checks/protocol-listener/:', (call) => {
      const [protocol = ''] = call.parameters;
      const names = api.listeners().map(({ name }) => protocolOf(name));
      // Also as `amqp091`, which is what newer tools call it.
      const wanted = /^amqp(091|0-9-1)?$/.test(protocol) ? 'amqp' : protocol.replace('amqp/ssl', 'amqps');
      return names.includes(wanted)
        ? { body: { status: 'ok', protocol } }
        : failed({ reason: 'No active listener', missing: protocol, protocols: names });
    }),
    route('GET', 'health/checks/virtual-hosts', () => ok),
    route('GET', 'health/checks/node-is-mirror-sync-critical', () => ok),
    route('GET', 'health/checks/node-is-quorum-critical', () => ok),
    route('GET', 'health/checks/ready-to-serve-clients', () => ok),
    route('GET', 'healthchecks/node', () => ok),
    route('GET', 'rebalance/queues', () => ({ body: {} })),
  ];
}

function failed(body: Json): ApiAnswer {
  return { status: 503, body: { status: 'failed', ...body } };
}

function protocolOf(name: string): string {
  return name === 'amqp-management' ? 'http' : name;
}

/** What keeps publishers waiting now. */
function alarms(api: Api): ApiAnswer {
  const blocked = api.views.connections().some(({ session }) => session.publisher.blocked);
  if (!blocked) return { body: { status: 'ok' } };
  return failed({
    reason: 'There are alarms in effect in the cluster',
    alarms: [{ node: NODE, resource: 'disk' }],
  });
}

/** Declares a queue, publishes to it, takes the message again. */
async function aliveness(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const vhost = api.vhost(call.parameters[0], call.identity);
  const client = api.client(vhost, call.identity);
  requirePermission(client, 'read', 'queue', TEST_QUEUE);
  await client.call('queue.declare', {
    ticket: 0,
    queue: TEST_QUEUE,
    passive: false,
    durable: false,
    exclusive: false,
    autoDelete: false,
    nowait: true,
    arguments: new Map(),
  });
  const queue = vhost.queues.get(TEST_QUEUE);
  if (queue === undefined) throw notFound();
  await client.publish('', TEST_QUEUE, {}, Buffer.from('test_message'));
  const taken = await api.context.broker.receive({
    channel: queue.channel,
    max: 1,
    waitMs: 1000,
    handOut: { kind: 'auto' },
  });
  return taken.length > 0 ? { body: { status: 'ok' } } : failed({ reason: 'the message did not come back' });
}

function overview(api: Api, { identity }: ApiCall): Json {
  const { context, views } = api;
  const vhosts = api.vhosts(identity);
  const connections = views.connections().filter((info) => api.seesConnection(info, identity));
  const seen = <T extends { readonly name: string }>(vhost: Vhost, all: Iterable<T>): readonly T[] =>
    [...all].filter(({ name }) => api.seesResource(vhost, identity, name));
  const queues = vhosts.flatMap((vhost) =>
    seen(vhost, vhost.queues.values()).map((queue) => views.queue(vhost, queue)),
  );
  const sum = (field: string): number => queues.reduce((total, queue) => total + Number(queue[field]), 0);
  const stat = (name: string): number =>
    queues.reduce((total, queue) => total + Number((queue['message_stats'] as Json)[name] ?? 0), 0);
  const rate = (name: string): number =>
    queues.reduce((total, queue) => {
      const details = (queue['message_stats'] as Json)[`${name}_details`] as { rate?: number } | undefined;
      return total + (details?.rate ?? 0);
    }, 0);
  const names = ['publish', 'deliver_get', 'deliver', 'ack'];
  const { serverVersion } = context.config;
  return {
    management_version: serverVersion,
    rates_mode: 'basic',
    product_name: 'RabbitMQ',
    product_version: serverVersion,
    rabbitmq_version: serverVersion,
    polymq_version: context.version,
    cluster_name: clusterName(api),
    erlang_version: '26.0',
    erlang_full_version: `Polymq ${context.version}`,
    release_series_support_status: 'supported',
    disable_stats: false,
    enable_queue_totals: false,
    is_op_policy_updating_enabled: false,
    exchange_types: EXCHANGE_TYPES.map((name) => ({ name, description: '', enabled: true })),
    message_stats: Object.fromEntries(
      names.flatMap((name) => [
        [name, stat(name)],
        [`${name}_details`, { rate: rate(name) }],
      ]),
    ),
    churn_rates: {},
    queue_totals: {
      messages: sum('messages'),
      messages_details: { rate: 0 },
      messages_ready: sum('messages_ready'),
      messages_ready_details: { rate: 0 },
      messages_unacknowledged: sum('messages_unacknowledged'),
      messages_unacknowledged_details: { rate: 0 },
    },
    object_totals: {
      channels: connections.reduce((total, { session }) => total + session.channels.count, 0),
      connections: connections.length,
      consumers: queues.reduce((total, queue) => total + Number(queue['consumers']), 0),
      exchanges: vhosts.reduce((total, vhost) => total + seen(vhost, vhost.exchanges.values()).length + 1, 0),
      queues: queues.length,
    },
    statistics_db_event_queue: 0,
    ...(api.monitors(identity) ? place(api) : {}),
  };
}

function place(api: Api): Json {
  const listeners = api.listeners().map(({ name, host, port }) => ({
    node: NODE,
    protocol: protocolOf(name),
    ip_address: host,
    port,
    socket_opts: {},
  }));
  return { node: NODE, listeners, contexts: [] };
}

function node(api: Api): Json {
  const { clock, version, config } = api.context;
  const memory = process.memoryUsage.rss();
  return {
    name: NODE,
    type: 'disc',
    running: true,
    being_drained: false,
    rates_mode: 'basic',
    uptime: clock.now() - api.startedAt,
    run_queue: 0,
    processors: 1,
    os_pid: String(process.pid),
    mem_used: memory,
    mem_limit: 0,
    mem_alarm: false,
    mem_calculation_strategy: 'rss',
    disk_free: 0,
    disk_free_limit: 0,
    disk_free_alarm: false,
    fd_total: 0,
    fd_used: 0,
    sockets_total: config.maxConnections,
    sockets_used: api.context.connections.size,
    proc_total: 0,
    proc_used: 0,
    partitions: [],
    cluster_links: [],
    enabled_plugins: [
      'rabbitmq_management',
      'rabbitmq_delayed_message_exchange',
      'rabbitmq_consistent_hash_exchange',
    ],
    applications: [{ name: 'polymq', description: 'Polymq', version }],
    auth_mechanisms: [],
    exchange_types: EXCHANGE_TYPES.map((name) => ({ name, description: '', enabled: true })),
    contexts: [],
    config_files: [],
    log_files: [],
    db_dir: '',
  };
}
