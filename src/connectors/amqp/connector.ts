import type { Socket } from 'node:net';
import type { Address, Connector, ConnectorContext, ConnectorStatus } from '../kit/connector.js';
import type { PeerConnection } from '../kit/tcp-listener.js';
import { TcpListener } from '../kit/tcp-listener.js';
import { withoutPlain } from '../kit/tls-gate.js';
import { ConnectorAccess } from './access/connector-access.js';
import { Limits } from './access/limits.js';
import type { Occupant } from './access/limits.js';
import { LocalAccess } from './access/local-access.js';
import { DirectReplies } from './channel/direct-replies.js';
import type { AmqpConfig } from './config.js';
import type { AmqpCounters, ConnectionContext } from './connection/context.js';
import { AmqpConnection } from './connection/connection.js';
import { ORIGIN_PROTOCOL } from './mapping/message-origin.js';
import { neutralView } from './mapping/neutral-view.js';
import type { ManagementServer } from './management/server.js';
import { QueueChannelMapping } from './mapping/queue-channel.js';
import { deadLetterRouter } from './topology/dead-letter-router.js';
import type { WebSocketListener } from './web-socket/listener.js';
import type { PeerSocket } from './connection/peer-socket.js';
import { Topology } from './topology/topology.js';

/** A port that clients connect to. */
interface Listener {
  readonly name: string;
  readonly listener: TcpListener;
}

/** AMQP 0-9-1 in the RabbitMQ dialect: a plain port, one for TLS, and what belongs to them. */
export class AmqpConnector implements Connector {
  readonly name = 'amqp';
  readonly #context: ConnectorContext;
  readonly #shared: ConnectionContext;
  readonly #local: LocalAccess;
  readonly #listeners: readonly Listener[];
  #management: ManagementServer | undefined;
  #webSockets: WebSocketListener | undefined;
  #addresses: readonly Address[] = [];
  readonly #counters: AmqpCounters = {
    published_messages_total: 0,
    returned_messages_total: 0,
    settled_deliveries_total: 0,
    refused_commands_total: 0,
  };
  readonly #working = new Set<Promise<void>>();
  #connectionIds = 0;
  #started = false;

  constructor(context: ConnectorContext, config: AmqpConfig) {
    this.#context = context;
    const mapping = new QueueChannelMapping({
      defaultVhost: config.defaultVhost,
      strict: config.strictNames,
    });
    const { broker, clock, ids, version, tls, identity, gate } = context;
    const supervise = (work: Promise<void>): void => this.#supervise(work);
    this.#local = new LocalAccess(broker, config.users);
    const limits = new Limits(broker, () => this.#occupants());
    this.#shared = {
      broker,
      clock,
      ids,
      version,
      tls,
      config,
      log: context.log.child({ connector: this.name }),
      topology: new Topology(broker, mapping, clock, supervise),
      access: new ConnectorAccess({ local: this.#local, identity, gate, mapping }),
      limits,
      replies: new DirectReplies(),
      counters: this.#counters,
      connections: new Map(),
      supervise,
    };
    this.#listeners = this.#listenersOf(config);
  }

  /** What most brokers have switched off is loaded only where it is on. */
  async #loadOptional(): Promise<void> {
    const { config } = this.#shared;
    const { host } = this.#context;
    if (config.webSocketEnable) {
      const { WebSocketListener } = await import('./web-socket/listener.js');
      this.#webSockets = new WebSocketListener({
        host,
        port: config.webSocketPort,
        context: this.#shared,
        accept: (stream, transport) => this.#accept(stream, transport),
      });
    }
    if (config.managementEnable) {
      const { Api } = await import('./management/api.js');
      const { ManagementServer } = await import('./management/server.js');
      const api = new Api(this.#shared, this.#local, () => this.#addresses);
      this.#management = new ManagementServer(api, host, config.managementPort);
    }
  }

  async #declare(): Promise<void> {
    const { exchanges, queues, bindings } = this.#shared.config;
    if (exchanges.length + queues.length + bindings.length === 0) return;
    const { declareTopology } = await import('./declared/topology.js');
    await declareTopology(this.#shared);
  }

  /** With a certificate, the plain port is open only when it is asked for. */
  #listenersOf({ port, tlsPort, maxConnections }: AmqpConfig): readonly Listener[] {
    const { host, clock, tls } = this.#context;
    const accept = (socket: Socket): PeerConnection => this.#accept(socket, socket);
    const common = { host, clock, log: this.#shared.log, connectionsMax: maxConnections, accept };
    const plain = { name: this.name, listener: new TcpListener({ ...common, port }) };
    if (tls === undefined) return [plain];
    const source = withoutPlain(tls);
    const secure = {
      name: 'amqps',
      listener: new TcpListener({ ...common, port: tlsPort, tls: { source, protocols: [] } }),
    };
    return tls.allowPlain ? [plain, secure] : [secure];
  }

  #accept(socket: PeerSocket, transport: Socket): PeerConnection {
    return new AmqpConnection(this.#shared, socket, ++this.#connectionIds, transport);
  }

  async start(): Promise<readonly Address[]> {
    const { topology } = this.#shared;
    if (!this.#started) {
      this.#started = true;
      this.#context.broker.registerTranslator(ORIGIN_PROTOCOL, neutralView);
      this.#context.broker.registerRouter(ORIGIN_PROTOCOL, deadLetterRouter(topology));
      this.#local.start();
      this.#shared.limits.start();
      topology.start();
      await this.#declare();
      await this.#loadOptional();
    }
    const { host } = this.#context;
    const addresses: Address[] = [];
    for (const { name, listener } of this.#listeners) {
      addresses.push({ name, host, port: await listener.start() });
    }
    if (this.#webSockets !== undefined) {
      const { port } = await this.#webSockets.start();
      addresses.push({ name: 'amqp-websocket', host, port });
    }
    if (this.#management !== undefined) {
      const { port } = await this.#management.listener.start();
      addresses.push({ name: 'amqp-management', host, port });
    }
    this.#addresses = addresses;
    return addresses;
  }

  admit(listener: string, socket: Socket): void {
    const own = this.#listeners.find(({ name }) => name === listener)?.listener;
    const other = listener === 'amqp-websocket' ? this.#webSockets : this.#management?.listener;
    const found = own ?? other;
    if (found === undefined) socket.destroy();
    else found.admit(socket);
  }

  async drain(graceMs: number): Promise<void> {
    await Promise.all([
      ...this.#listeners.map(({ listener }) => listener.drain(graceMs)),
      this.#webSockets?.drain(graceMs),
      this.#management?.listener.drain(graceMs),
    ]);
  }

  async stop(): Promise<void> {
    await Promise.all([
      ...this.#listeners.map(({ listener }) => listener.stop()),
      this.#webSockets?.stop(),
      this.#management?.listener.stop(),
    ]);
    await Promise.all(this.#working);
    this.#shared.topology.stop();
    this.#local.stop();
    this.#shared.limits.stop();
  }

  status(): ConnectorStatus {
    const connections = this.#listeners.reduce((sum, { listener }) => sum + listener.connections, 0);
    return {
      connections: connections + (this.#webSockets?.connections ?? 0),
      counters: { ...this.#counters },
    };
  }

  *#occupants(): Iterable<Occupant> {
    for (const connection of this.#shared.connections.values()) {
      const session = connection.info()?.session;
      if (session === undefined) continue;
      yield { vhost: session.vhost.name, user: session.identity.user, channels: session.channels.count };
    }
  }

  /** Owns work that outlives its connection: giving back messages, deleting exclusive queues. */
  #supervise(work: Promise<void>): void {
    const owned = work
      .catch((error: unknown) => this.#context.log.warn('amqp: work behind a connection failed', { error }))
      .then(() => void this.#working.delete(owned));
    this.#working.add(owned);
  }
}
