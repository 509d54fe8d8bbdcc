import type { Socket } from 'node:net';
import type { Address, Connector, ConnectorContext, ConnectorStatus } from '../kit/connector.js';
import { DEFAULT_HTTP_LIMITS, HttpListener } from '../kit/http-listener.js';
import { Authentication } from './authentication.js';
import type { AwsConfig } from './config.js';
import { Declarer } from './declared/declarer.js';
import { declareQueues } from './declared/queues.js';
import { declareSubscriptions, declareTopics } from './declared/topics.js';
import { AwsEndpoint } from './endpoint.js';
import { queueChannel } from './names.js';
import type { AwsServices } from './operation.js';
import { Replays } from './sns/replays.js';
import { TokenSweeper } from './sns/tokens.js';
import { TopicRegistry } from './sns/topic-registry.js';
import { sqsNeutralView } from './sqs/message-tags.js';
import { DELETED_KIND } from './sqs/deleted-queues.js';
import { MOVE_TASKS_KIND, MoveTasks } from './sqs/move-tasks.js';
import { QUEUE_KIND, QueueRegistry } from './sqs/queue-registry.js';
import { ReceiveAttempts } from './sqs/receive-attempts.js';
import { originOf } from './urls.js';
import type { OwnPlace } from './urls.js';
import { Signing } from './webhooks/signing.js';
import { Webhooks } from './webhooks/webhooks.js';

/** Name of the connector, of its listener, and of the origin its messages carry. */
const NAME = 'aws';

/** SQS and SNS on one port. */
export class AwsConnector implements Connector {
  readonly name = NAME;
  readonly #services: AwsServices;
  readonly #listener: HttpListener;
  readonly #endpoint: AwsEndpoint;
  readonly #tokens: TokenSweeper;
  #address: Address | undefined;

  constructor(context: ConnectorContext, config: AwsConfig) {
    const { broker, gate, clock, ids, log, host, tls } = context;
    const queues = new QueueRegistry(broker);
    const place = (): OwnPlace => ({
      config,
      port: this.#address?.port ?? config.port,
      secure: tls !== undefined && !tls.allowPlain,
    });
    const signing = new Signing(broker, clock, ids);
    const services = {
      broker,
      gate,
      clock,
      ids,
      log,
      config,
      authentication: new Authentication(config.credentials, clock),
      queues,
      topics: new TopicRegistry(broker),
      attempts: new ReceiveAttempts(),
      moveTasks: new MoveTasks({ broker, clock, log, queues }),
      signing,
      origin: () => originOf(place()),
      counters: { faults: 0, fanOutDropped: 0, fanOutDeadLettered: 0, fanOutFiltered: 0 },
    };
    this.#services = { ...services, webhooks: new Webhooks(services), replays: new Replays(services) };
    this.#tokens = new TokenSweeper(broker, clock, log);
    // Queues have the rights of their channels; the rest is asked for before an operation runs.
    for (const kind of [QUEUE_KIND, MOVE_TASKS_KIND])
      gate.describe(kind, (name) => [{ kind: 'queue', access: 'write', channel: queueChannel(name) }]);
    // When queues went: old ones are swept along by whoever deletes another.
    gate.describe(DELETED_KIND, () => []);
    broker.registerTranslator(NAME, sqsNeutralView);
    this.#endpoint = new AwsEndpoint(this.#services, place);
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
      const { topics, signing, webhooks, replays, config } = this.#services;
      topics.start();
      if (config.signQueueDeliveries) await signing.ready();
      const declarer = new Declarer(this.#services);
      await declareQueues(declarer, config.queues);
      await declareTopics(declarer, config.topics);
      await declareSubscriptions(declarer, config.topics, 'queue');
      const { host, port } = await this.#listener.start();
      this.#services.moveTasks.start();
      this.#address = { name: NAME, host, port };
      webhooks.start();
      replays.start();
      this.#tokens.start();
      await declareSubscriptions(declarer, config.topics, 'url');
    }
    return [this.#address];
  }

  admit(_listener: string, socket: Socket): void {
    this.#listener.admit(socket);
  }

  async drain(graceMs: number): Promise<void> {
    this.#endpoint.endPolls();
    const { moveTasks, webhooks, replays } = this.#services;
    await Promise.all([
      this.#listener.drain(graceMs),
      moveTasks.stop(),
      replays.stop(),
      webhooks.drain(graceMs),
      this.#tokens.stop(),
    ]);
  }

  async stop(): Promise<void> {
    this.#endpoint.endPolls();
    await this.#listener.stop();
    const { moveTasks, webhooks, replays, topics } = this.#services;
    await Promise.all([moveTasks.stop(), webhooks.stop(), replays.stop(), this.#tokens.stop()]);
    topics.stop();
  }

  status(): ConnectorStatus {
    const { faults, fanOutDropped, fanOutDeadLettered, fanOutFiltered } = this.#services.counters;
    const { posts, retries, deadLettered, dropped } = this.#services.webhooks.counters;
    return {
      connections: this.#listener.connections,
      counters: {
        requests: this.#listener.requests,
        bad_requests: this.#listener.badRequests,
        refused_connections: this.#listener.refusedConnections,
        faults,
        waiting_receives: this.#endpoint.polls,
        fan_out_dropped: fanOutDropped,
        fan_out_dead_lettered: fanOutDeadLettered,
        fan_out_filtered: fanOutFiltered,
        webhook_posts: posts,
        webhook_retries: retries,
        webhook_dead_lettered: deadLettered,
        webhook_dropped: dropped,
      },
    };
  }
}
