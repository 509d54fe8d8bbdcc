import type { Socket } from 'node:net';
import type { DescService } from '@bufbuild/protobuf';
import type { Client } from '../../core/access/gatekeeper.js';
import type { Timer } from '../../base/clock.js';
import type {
  Address,
  Connector,
  ConnectorContext,
  ConnectorStatus,
  MetricFamily,
} from '../kit/connector.js';
import { createGrpcListener, type GrpcListener } from '../kit/grpc.js';
import { reflectedFiles, reflectionHandlers, reflectionService } from '../kit/grpc/reflection.js';
import type { ServiceHandlers } from '../kit/grpc-call.js';
import { clientHandlers } from '../kit/grpc-clients.js';
import { defineService, type ServiceDefinition } from '../kit/grpc-service.js';
import { peerNameOf } from '../kit/tls-gate.js';
import { requireAccess } from './access.js';
import { GCP_LIMITS, type GcpConfig } from './config.js';
import { declareResources } from './declared/resources.js';
import { statusOf } from './errors.js';
import { noExtensions } from './extensions.js';
import { Features } from './features.js';
import { MessageIds } from './message-ids.js';
import { iamOperations } from './iam/operations.js';
import { GCP_PROTOCOL, translateOrigin } from './message-mapping.js';
import { publisherOperations } from './publisher/operations.js';
import { AllOperationFigures } from './operation-figures.js';
import { Catalog } from './registry/catalog.js';
import type { RestService } from './rest/gateway.js';
import { RestServer } from './rest/rest-server.js';
import { Snapshots } from './registry/snapshots.js';
import { DEAD_LETTER_SCHEME } from './registry/subscription-rules.js';
import type { GcpServices } from './services.js';
import { deadLetterRouter } from './subscriber/dead-letter-router.js';
import { expireSubscriptions } from './subscriber/expiration.js';
import { subscriberOperations } from './subscriber/operations.js';
import { streamingPull } from './subscriber/streaming-pull.js';
import { Subscriptions } from './subscriber/subscriptions.js';
import { unaryHandlers } from './unary.js';
import { IAMPolicy } from './wire/gen/google/iam/v1/iam_policy_pb.js';
import { Publisher, Subscriber } from './wire/gen/google/pubsub/v1/pubsub_pb.js';
import { SchemaService } from './wire/gen/google/pubsub/v1/schema_pb.js';
import { MessageTransformService } from './wire/gen/polymq/pubsub/v1/message_transforms_pb.js';
import { HOT_CODECS } from './wire/hot-codecs.js';

export { gcpConfigSchema, type GcpConfig } from './config.js';

/**
 * Google Cloud Pub/Sub over gRPC. The fan-out of all topics is set here already and not at `start`, so that what other
 * connectors append in between reaches the subscriptions; the broker has been recovered before.
 */
export function createGcpConnector(
  context: ConnectorContext,
  config: GcpConfig,
  withReflection = false,
): Connector {
  return new GcpConnector(context, config, withReflection);
}

class GcpConnector implements Connector {
  readonly name = 'gcp';
  readonly #context: ConnectorContext;
  readonly #services: GcpServices;
  readonly #features: Features;
  readonly #advertisedEndpoint: string;
  readonly #listener: GrpcListener;
  readonly #served: (RestService & { readonly definition: ServiceDefinition })[] = [];
  readonly #rest: RestServer;
  /** What ends each open stream of reflection. */
  readonly #reflections = new Set<() => void>();
  #addresses: Promise<readonly Address[]> | undefined;
  #tidy: Timer | undefined;
  #tidying: Promise<void> | undefined;
  #stopped = false;

  constructor(context: ConnectorContext, config: GcpConfig, withReflection: boolean) {
    this.#context = context;
    this.#advertisedEndpoint = config.advertisedEndpoint;
    const { broker, clock, ids, log, host, tls } = context;
    const catalog = new Catalog(broker);
    const subscriptions = new Subscriptions({ broker, clock, catalog, config });
    this.#services = {
      broker,
      client: undefined,
      clock,
      ids,
      log,
      config,
      catalog,
      snapshots: new Snapshots(broker, clock),
      extensions: noExtensions(),
      subscriptions,
      messageIds: new MessageIds(clock, ids),
      counters: { calls: 0, errors: 0, published: 0, delivered: 0, acknowledged: 0 },
      figures: new AllOperationFigures(),
    };
    this.#features = new Features(this.#services, log);
    broker.registerTranslator(GCP_PROTOCOL, translateOrigin);
    broker.registerRouter(DEAD_LETTER_SCHEME, deadLetterRouter(this.#services));
    catalog.open();
    // What an operation needs is asked for before it runs, by the names in its request.
    context.gate.describe('gcp.', () => []);
    this.#serve(Publisher, (services) => unaryHandlers(services, 'publisher', publisherOperations(services)));
    this.#serve(Subscriber, (services) => ({
      ...unaryHandlers(services, 'subscriber', subscriberOperations(services)),
      streamingPull: streamingPull(services),
    }));
    this.#serve(IAMPolicy, (services) => unaryHandlers(services, 'iam', iamOperations(services)));
    this.#serve(SchemaService, (services) => this.#features.schemaHandlers(services));
    this.#serve(MessageTransformService, (services) => this.#features.transformHandlers(services));
    this.#rest = new RestServer({
      services: this.#served,
      pages: this.#features.pages(tls === undefined ? 'http' : 'https'),
      maxMessageBytes: config.maxMessageBytes,
      clock,
      log,
    });
    this.#listener = createGrpcListener({
      host,
      port: config.port,
      maxReceiveBytes: config.maxMessageBytes + GCP_LIMITS.receiveMarginBytes,
      clock,
      log,
      tls,
      plain: this.#rest.plain,
      http1: (socket) => this.#rest.serve(socket, peerNameOf(socket, tls)),
    });
    for (const { definition, handlers } of this.#served)
      this.#listener.server.addService(definition, handlers);
    if (withReflection) this.#reflect();
  }

  /** Adds a service whose handlers are made for each client, to gRPC and to REST. */
  #serve(service: DescService, handlersOf: (services: GcpServices) => ServiceHandlers): void {
    const { gate, identity, tls } = this.#context;
    const definition = defineService(service, HOT_CODECS);
    const handlers = clientHandlers({
      service: definition,
      gate,
      identity,
      certificates: tls?.credentials.authority !== undefined && tls.certificateIdentity,
      handlersOf: (client) => handlersOf(this.#servicesOf(client)),
      refusal: statusOf,
      check: requireAccess,
    });
    this.#served.push({ service, definition, handlers });
  }

  /** Serves reflection of all services there are. Like on the native port it is open to everyone. */
  #reflect(): void {
    const files = reflectedFiles(this.#served.map(({ service }) => service.file));
    const handlers = reflectionHandlers(files, (end) => {
      this.#reflections.add(end);
      return () => this.#reflections.delete(end);
    });
    this.#listener.server.addService(reflectionService, handlers);
  }

  /** The services as one client may use them. */
  #servicesOf(client: Client): GcpServices {
    if (!this.#context.gate.enabled) return this.#services;
    return { ...this.#services, broker: client.broker, client };
  }

  start(): Promise<readonly Address[]> {
    this.#addresses ??= this.#listen();
    return this.#addresses;
  }

  admit(_listener: string, socket: Socket): void {
    this.#listener.accept(socket);
  }

  async drain(graceMs: number): Promise<void> {
    const drained = this.#listener.drain(graceMs);
    const pushed = this.#features.drain(graceMs);
    this.#rest.drain();
    for (const end of this.#reflections) end();
    // Open streams would last for the whole grace. Their clients look for another server at once.
    this.#services.subscriptions.endWaits();
    await Promise.all([drained, pushed]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#tidy?.cancel();
    await this.#tidying;
    this.#services.subscriptions.endWaits();
    this.#services.subscriptions.stop();
    await this.#features.stop();
    this.#services.catalog.close();
    await this.#listener.stop();
  }

  status(): ConnectorStatus {
    const { counters, catalog, subscriptions } = this.#services;
    return {
      connections: this.#listener.connections(),
      counters: {
        calls_total: counters.calls,
        rest_requests_total: this.#rest.requests,
        errors_total: counters.errors,
        messages_published_total: counters.published,
        messages_delivered_total: counters.delivered,
        messages_acknowledged_total: counters.acknowledged,
        topics: catalog.topicCount,
        subscriptions: catalog.subscriptionCount,
        streaming_pull_streams: subscriptions.streamCount,
        stream_held_messages: subscriptions.heldCount,
        ...this.#features.counters(),
      },
      families: this.#families(),
    };
  }

  /** Figures under the names that the specification's broker gives them. */
  #families(): readonly MetricFamily[] {
    const { catalog, figures, snapshots, subscriptions } = this.#services;
    const features = this.#features.counters();
    const gauge = (name: string, help: string, value: number): MetricFamily => ({
      name: `kubemq_pubsub_${name}`,
      help,
      type: 'gauge',
      samples: [{ value }],
    });
    const results = { ack: 'acknowledged', nack: 'refused', error: 'failed' } as const;
    return [
      ...figures.families(),
      {
        name: 'kubemq_pubsub_push_deliveries_total',
        help: 'Requests to push endpoints by what came of them.',
        type: 'counter',
        samples: Object.entries(results).map(([result, name]) => ({
          labels: { result },
          value: features[`push_${name}_total`] ?? 0,
        })),
      },
      gauge('topics', 'Pub/Sub topics.', catalog.topicCount),
      gauge('subscriptions', 'Pub/Sub subscriptions.', catalog.subscriptionCount),
      gauge('snapshots', 'Pub/Sub snapshots.', snapshots.count),
      gauge('schemas', 'Pub/Sub schemas.', features['schemas'] ?? 0),
      gauge('inflight_messages', 'Leased messages of Pub/Sub subscriptions.', catalog.leased()),
      gauge('streaming_pull_streams', 'Open StreamingPull streams.', subscriptions.streamCount),
    ];
  }

  async #listen(): Promise<readonly Address[]> {
    await declareResources(this.#services, this.#services.config);
    const port = await this.#listener.listen();
    this.#tidyLater();
    this.#features.start();
    const { host, log } = this.#context;
    // Tools that wait for Google's emulator look for these words.
    log.info(`Server started, listening on ${port}`, {
      endpoint: this.#advertisedEndpoint === '' ? `${host}:${port}` : this.#advertisedEndpoint,
    });
    return [{ name: this.name, host, port }];
  }

  /** Lets go of what has expired, now and then. */
  #tidyLater(): void {
    if (this.#stopped) return;
    this.#tidy = this.#services.clock.after(GCP_LIMITS.tidyMs, () => {
      this.#tidying = this.#tidyUp().finally(() => this.#tidyLater());
    });
  }

  async #tidyUp(): Promise<void> {
    try {
      await this.#services.snapshots.sweep();
      await expireSubscriptions(this.#services);
    } catch (caught) {
      // Tried again the next time.
      this.#context.log.warn('expired resources could not be removed', { error: String(caught) });
    }
  }
}
