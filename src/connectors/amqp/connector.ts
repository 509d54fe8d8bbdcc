import type { Address, Connector, ConnectorContext, ConnectorStatus } from '../kit/connector.js';
import { TcpListener } from '../kit/tcp-listener.js';
import { LocalAccess } from './access/local-access.js';
import { DirectReplies } from './channel/direct-replies.js';
import type { AmqpConfig } from './config.js';
import type { AmqpCounters } from './connection/context.js';
import { AmqpConnection } from './connection/connection.js';
import { ORIGIN_PROTOCOL } from './mapping/message-origin.js';
import { neutralView } from './mapping/neutral-view.js';
import { QueueChannelMapping } from './mapping/queue-channel.js';
import { deadLetterRouter } from './topology/dead-letter-router.js';
import { Topology } from './topology/topology.js';

/** AMQP 0-9-1 in the RabbitMQ dialect, on one TCP port. */
export class AmqpConnector implements Connector {
  readonly name = 'amqp';
  readonly #context: ConnectorContext;
  readonly #topology: Topology;
  readonly #access: LocalAccess;
  readonly #listener: TcpListener;
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
    this.#topology = new Topology(context.broker, mapping, context.clock, (work) => this.#supervise(work));
    this.#access = new LocalAccess(context.broker, config.users);
    const log = context.log.child({ connector: this.name });
    const { broker, clock, ids, version, host } = context;
    const shared = {
      broker,
      clock,
      ids,
      version,
      log,
      config,
      topology: this.#topology,
      access: this.#access,
      replies: new DirectReplies(),
      counters: this.#counters,
      supervise: (work: Promise<void>) => this.#supervise(work),
    };
    this.#listener = new TcpListener({
      host,
      port: config.port,
      clock,
      log,
      connectionsMax: config.maxConnections,
      accept: (socket) => new AmqpConnection(shared, socket, ++this.#connectionIds),
    });
  }

  async start(): Promise<readonly Address[]> {
    if (!this.#started) {
      this.#started = true;
      this.#context.broker.registerTranslator(ORIGIN_PROTOCOL, neutralView);
      this.#context.broker.registerRouter(ORIGIN_PROTOCOL, deadLetterRouter(this.#topology));
      this.#access.start();
      this.#topology.start();
    }
    const port = await this.#listener.start();
    return [{ name: this.name, host: this.#context.host, port }];
  }

  async drain(graceMs: number): Promise<void> {
    await this.#listener.drain(graceMs);
  }

  async stop(): Promise<void> {
    await this.#listener.stop();
    await Promise.all(this.#working);
    this.#topology.stop();
    this.#access.stop();
  }

  status(): ConnectorStatus {
    return { connections: this.#listener.connections, counters: { ...this.#counters } };
  }

  /** Owns work that outlives its connection: giving back messages, deleting exclusive queues. */
  #supervise(work: Promise<void>): void {
    const owned = work
      .catch((error: unknown) => this.#context.log.warn('amqp: ending a connection failed', { error }))
      .then(() => void this.#working.delete(owned));
    this.#working.add(owned);
  }
}
