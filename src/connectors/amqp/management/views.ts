import type { ConnectionContext } from '../connection/context.js';
import type { ConnectionInfo } from '../connection/connection-info.js';
import type { AmqpChannel } from '../channel/amqp-channel.js';
import type { Consumer } from '../channel/consumer.js';
import { tableToJson } from '../mapping/json-headers.js';
import { bindingKey } from '../topology/records.js';
import type { Binding, Exchange, Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import { EMPTY_TABLE } from '../wire/field-table.js';
import type { Rates } from './rates.js';

export type Json = Readonly<Record<string, unknown>>;

/** The node's name in every answer. */
export const NODE = 'polymq@localhost';

interface ConsumerPlace {
  readonly connection: ConnectionInfo;
  readonly channel: AmqpChannel;
  readonly consumer: Consumer;
}

/** Counters and their rates, in the names of RabbitMQ's message_stats. Zeros are told, too: tools expect them. */
function messageStats(rates: Rates, key: string, counters: Readonly<Record<string, number>>): Json {
  const names = Object.keys(counters);
  const perSecond = rates.of(key, Object.values(counters));
  return Object.fromEntries<unknown>(
    names.flatMap((name, i) => [
      [name, counters[name]],
      [`${name}_details`, { rate: perSecond[i] ?? 0 }],
    ]),
  );
}

/** How the broker's objects look in the management API. Fields as RabbitMQ 3.13's, those that tools read. */
export class Views {
  readonly #context: ConnectionContext;
  readonly #rates: Rates;

  constructor(context: ConnectionContext, rates: Rates) {
    this.#context = context;
    this.#rates = rates;
  }

  queue(vhost: Vhost, queue: Queue): Json {
    const { name, durable, autoDelete, type } = queue;
    return {
      name,
      vhost: vhost.name,
      durable: durable && queue.owner === undefined,
      auto_delete: autoDelete,
      exclusive: queue.owner !== undefined,
      arguments: tableToJson(queue.arguments),
      type,
      node: NODE,
      state: 'running',
      policy: queue.policies.user ?? null,
      operator_policy: queue.policies.operator ?? null,
      effective_policy_definition: queue.policies.definition,
      exclusive_consumer_tag: null,
      single_active_consumer_tag: null,
      consumers: queue.consumers,
      consumer_utilisation: queue.consumers > 0 ? 1 : 0,
      consumer_capacity: queue.consumers > 0 ? 1 : 0,
      ...this.#depth(queue),
    };
  }

  #depth(queue: Queue): Json {
    const { broker } = this.#context;
    const key = `queue ${queue.channel}`;
    if (queue.type === 'stream') {
      const stats = broker.logStats(queue.channel);
      const messages = stats?.events ?? 0;
      const counters = { publish: stats?.lastSequence ?? 0, deliver_get: 0, ack: 0 };
      return this.#figures(key, { ready: messages, unacked: 0, bytes: stats?.bytes ?? 0, counters });
    }
    const stats = broker.queueStats(queue.channel);
    const { delivered = 0, acknowledged = 0, sent = 0 } = stats ?? {};
    return this.#figures(key, {
      ready: (stats?.ready ?? 0) + (stats?.delayed ?? 0),
      unacked: stats?.inFlight ?? 0,
      bytes: stats?.bytes ?? 0,
      counters: {
        publish: sent,
        deliver_get: delivered,
        deliver: delivered,
        deliver_no_ack: 0,
        get: 0,
        get_no_ack: 0,
        get_empty: 0,
        redeliver: 0,
        ack: acknowledged,
      },
    });
  }

  #figures(
    key: string,
    of: { ready: number; unacked: number; bytes: number; counters: Readonly<Record<string, number>> },
  ): Json {
    const depth = [of.ready + of.unacked, of.ready, of.unacked];
    const [all = 0, ready = 0, unacked = 0] = this.#rates.of(`${key} depth`, depth);
    return {
      messages: depth[0],
      messages_details: { rate: all },
      messages_ready: of.ready,
      messages_ready_details: { rate: ready },
      messages_unacknowledged: of.unacked,
      messages_unacknowledged_details: { rate: unacked },
      messages_persistent: depth[0],
      messages_ram: 0,
      message_bytes: of.bytes,
      message_bytes_ready: of.bytes,
      message_bytes_unacknowledged: 0,
      message_bytes_persistent: of.bytes,
      message_bytes_ram: 0,
      message_stats: messageStats(this.#rates, key, of.counters),
      disk_reads: 0,
      disk_writes: 0,
      memory: 0,
      head_message_timestamp: null,
      garbage_collection: {},
    };
  }

  exchange(vhost: Vhost, exchange: Exchange): Json {
    const { name, type, durable, autoDelete, internal } = exchange;
    return {
      name,
      vhost: vhost.name,
      type,
      durable,
      auto_delete: autoDelete,
      internal,
      arguments: tableToJson(exchange.arguments),
      policy: exchange.policies.user ?? null,
      user_who_performed_action: 'rmq-internal',
      message_stats: {},
    };
  }

  /** The default exchange, which is there without being anywhere. */
  defaultExchange(vhost: Vhost): Json {
    return this.exchange(vhost, {
      name: '',
      type: 'direct',
      durable: true,
      autoDelete: false,
      internal: false,
      arguments: EMPTY_TABLE,
      policies: vhost.policies.ofExchange(''),
      alternate: undefined,
    });
  }

  binding(vhost: Vhost, binding: Binding): Json {
    const { source, destination, routingKey } = binding;
    return {
      source,
      vhost: vhost.name,
      destination: destination.name,
      destination_type: destination.kind,
      routing_key: routingKey,
      arguments: tableToJson(binding.arguments),
      properties_key: propertiesKey(vhost.name, binding),
    };
  }

  connection(info: ConnectionInfo): Json {
    const { session } = info;
    const properties = tableToJson(session.clientProperties) as Readonly<Record<string, unknown>>;
    const octets = this.#rates.of(`connection ${info.id}`, [info.bytesRead, info.bytesWritten]);
    return {
      name: connectionName(info),
      user_provided_name: properties['connection_name'] ?? '',
      vhost: session.vhost.name,
      user: session.identity.user,
      user_who_performed_action: session.identity.user,
      node: NODE,
      type: 'network',
      protocol: 'AMQP 0-9-1',
      state: info.blocked ? 'blocked' : 'running',
      host: info.host,
      port: info.port,
      peer_host: info.peerHost,
      peer_port: info.peerPort,
      ssl: info.secure,
      auth_mechanism: session.mechanism,
      channels: session.channels.count,
      channel_max: session.channelMax,
      frame_max: info.frameMax,
      timeout: info.heartbeatSeconds,
      client_properties: properties,
      connected_at: info.connectedAt,
      recv_oct: info.bytesRead,
      recv_oct_details: { rate: octets[0] },
      send_oct: info.bytesWritten,
      send_oct_details: { rate: octets[1] },
      recv_cnt: 0,
      send_cnt: 0,
      send_pend: info.sendPending,
    };
  }

  channel(info: ConnectionInfo, channel: AmqpChannel): Json {
    return {
      name: `${connectionName(info)} (${channel.number})`,
      number: channel.number,
      connection_details: connectionDetails(info),
      vhost: info.session.vhost.name,
      user: info.session.identity.user,
      user_who_performed_action: info.session.identity.user,
      node: NODE,
      state: channel.flowing ? 'running' : 'flow',
      consumer_count: channel.consumers.size,
      prefetch_count: channel.prefetch,
      global_prefetch_count: channel.sharedPrefetch,
      confirm: channel.confirms !== undefined,
      transactional: channel.transaction !== undefined,
      messages_unacknowledged: channel.unackedCount,
      messages_unconfirmed: channel.confirms === undefined ? 0 : channel.publishesInFlight,
      messages_uncommitted: 0,
      acks_uncommitted: 0,
      message_stats: {},
    };
  }

  consumer({ connection, channel, consumer }: ConsumerPlace): Json {
    const { tag, queue, noAck, exclusive, prefetch, single } = consumer.options;
    const limited = prefetch < this.#context.config.maxUnacked;
    return {
      consumer_tag: tag,
      queue: { name: queue.name, vhost: connection.session.vhost.name },
      channel_details: {
        name: `${connectionName(connection)} (${channel.number})`,
        number: channel.number,
        user: connection.session.identity.user,
        connection_name: connectionName(connection),
        peer_host: connection.peerHost,
        peer_port: connection.peerPort,
        node: NODE,
      },
      ack_required: !noAck,
      exclusive,
      prefetch_count: limited ? prefetch : 0,
      active: true,
      activity_status: single ? 'single_active' : 'up',
      arguments: tableToJson(consumer.options.arguments),
      consumer_timeout: consumer.options.ackTimeoutMs,
    };
  }

  connections(): readonly ConnectionInfo[] {
    return [...this.#context.connections.values()].flatMap((connection) => connection.info() ?? []);
  }

  consumers(): readonly ConsumerPlace[] {
    return this.connections().flatMap((connection) =>
      connection.session.channels
        .all()
        .flatMap((channel) =>
          [...channel.consumers.values()].map((consumer) => ({ connection, channel, consumer })),
        ),
    );
  }
}

export function connectionName({ host, port, peerHost, peerPort }: ConnectionInfo): string {
  return `${peerHost}:${peerPort} -> ${host}:${port}`;
}

function connectionDetails(info: ConnectionInfo): Json {
  return { name: connectionName(info), peer_host: info.peerHost, peer_port: info.peerPort };
}

/** What names a binding among those of the same ends: its key, and a digest of its arguments. */
export function propertiesKey(vhost: string, binding: Binding): string {
  const key = encodeURIComponent(binding.routingKey).replaceAll('~', '%7E');
  if (binding.arguments.size === 0) return key === '' ? '~' : key;
  return `${key}~${bindingKey(vhost, binding).split('/').at(-1) ?? ''}`;
}

/** Every queue's binding to the default exchange, which nobody made. */
export function defaultBinding(queue: Queue): Binding {
  return {
    source: '',
    destination: { kind: 'queue', name: queue.name },
    routingKey: queue.name,
    arguments: EMPTY_TABLE,
    durable: queue.durable,
  };
}
