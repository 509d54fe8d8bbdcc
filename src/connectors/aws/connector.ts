import type { Address, Connector, ConnectorContext, ConnectorStatus } from '../kit/connector.js';
import { DEFAULT_HTTP_LIMITS, HttpListener } from '../kit/http-listener.js';
import { Authentication } from './authentication.js';
import type { AwsConfig } from './config.js';
import { AwsEndpoint } from './endpoint.js';
import type { AwsServices } from './operation.js';
import { TopicRegistry } from './sns/topic-registry.js';
import { sqsNeutralView } from './sqs/message-tags.js';
import { MoveTasks } from './sqs/move-tasks.js';
import { QueueRegistry } from './sqs/queue-registry.js';
import { ReceiveAttempts } from './sqs/receive-attempts.js';

/** Name of the connector, of its listener, and of the origin its messages carry. */
const NAME = 'aws';

/** SQS and SNS on one port. */
export class AwsConnector implements Connector {
  readonly name = NAME;
  readonly #services: AwsServices;
  readonly #listener: HttpListener;
  readonly #endpoint: AwsEndpoint;
  #address: Address | undefined;

  constructor(context: ConnectorContext, config: AwsConfig) {
    const { broker, clock, ids, log, host, tls } = context;
    const queues = new QueueRegistry(broker);
    this.#services = {
      broker,
      clock,
      ids,
      log,
      config,
      authentication: new Authentication(config.credentials, clock),
      queues,
      topics: new TopicRegistry(broker),
      attempts: new ReceiveAttempts(),
      moveTasks: new MoveTasks({ broker, clock, log, queues }),
      counters: { faults: 0, fanOutDropped: 0 },
    };
    broker.registerTranslator(NAME, sqsNeutralView);
    this.#endpoint = new AwsEndpoint(this.#services, () => this.#address?.port ?? config.port);
    this.#listener = new HttpListener({
      host,
      port: config.port,
      limits: {
        ...DEFAULT_HTTP_LIMITS,
        connectionsMax: config.connectionsMax,
        bodyBytesMax: config.bodyBytesMax,
      },
      clock,
      log,
      tls,
      handle: (exchange) => this.#endpoint.handle(exchange),
      refuseOversize: (exchange) => this.#endpoint.refuseOversize(exchange),
    });
  }

  async start(): Promise<readonly Address[]> {
    if (this.#address === undefined) {
      this.#services.topics.start();
      const { host, port } = await this.#listener.start();
      this.#services.moveTasks.start();
      this.#address = { name: NAME, host, port };
    }
    return [this.#address];
  }

  async drain(graceMs: number): Promise<void> {
    this.#endpoint.endPolls();
    await Promise.all([this.#listener.drain(graceMs), this.#services.moveTasks.stop()]);
  }

  async stop(): Promise<void> {
    this.#endpoint.endPolls();
    await this.#listener.stop();
    await this.#services.moveTasks.stop();
    this.#services.topics.stop();
  }

  status(): ConnectorStatus {
    const { faults, fanOutDropped } = this.#services.counters;
    return {
      connections: this.#listener.connections,
      counters: {
        requests: this.#listener.requests,
        bad_requests: this.#listener.badRequests,
        refused_connections: this.#listener.refusedConnections,
        faults,
        waiting_receives: this.#endpoint.polls,
        fan_out_dropped: fanOutDropped,
      },
    };
  }
}
