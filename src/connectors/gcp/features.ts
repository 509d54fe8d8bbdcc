import type { Log } from '../../base/log.js';
import type { ServiceHandlers } from '../kit/grpc-call.js';
import { keyPages } from './push/key-pages.js';
import { checkPush } from './push/push-endpoint.js';
import { PushWorkers } from './push/push-workers.js';
import { TokenSigner } from './push/token-signer.js';
import type { Page } from './rest/gateway.js';
import { schemaOperations } from './schemas/operations.js';
import { SchemaStore } from './schemas/schema-store.js';
import { checkTopicSchema, validatePublished } from './schemas/topic-schemas.js';
import type { GcpServices } from './services.js';
import { transformOperations } from './transforms/operations.js';
import { Sandbox } from './transforms/sandbox.js';
import { checkTransforms } from './transforms/transform-check.js';
import { transformDelivered, transformPublished } from './transforms/transform-steps.js';
import { unaryHandlers } from './unary.js';

/** What takes part in the life of topics, subscriptions and messages without being a part of their operations. */
export class Features {
  readonly #services: GcpServices;
  readonly #schemas: SchemaStore;
  readonly #signer: TokenSigner;
  readonly #push: PushWorkers;
  readonly #sandbox: Sandbox;

  constructor(services: GcpServices, log: Log) {
    const { broker, clock, config, extensions } = services;
    this.#services = services;
    this.#schemas = new SchemaStore(broker);
    this.#signer = new TokenSigner(broker, clock);
    this.#push = new PushWorkers(services, this.#signer, log);
    this.#sandbox = new Sandbox(clock);
    extensions.topicChecks.push(checkTopicSchema(this.#schemas), checkTransforms(this.#sandbox));
    extensions.subscriptionChecks.push(checkPush(config.pushAllowHttp), checkTransforms(this.#sandbox));
    // What subscribers get is what the schema was asked about.
    extensions.publishSteps.push(
      transformPublished(this.#sandbox, config.maxMessageBytes),
      validatePublished(this.#schemas),
    );
    extensions.deliverySteps.push(transformDelivered(this.#sandbox));
  }

  /** google.pubsub.v1.SchemaService. */
  schemaHandlers(services: GcpServices): ServiceHandlers {
    return unaryHandlers(services, 'schema', schemaOperations({ ...services, schemas: this.#schemas }));
  }

  /** polymq.pubsub.v1.MessageTransformService. */
  transformHandlers(services: GcpServices): ServiceHandlers {
    return unaryHandlers(services, 'transform', transformOperations(services, this.#sandbox));
  }

  /** Documents beside the API. `scheme` is that of the listener. */
  pages(scheme: 'http' | 'https'): ReadonlyMap<string, Page> {
    return keyPages(this.#signer, scheme);
  }

  /** Begins what works by itself. */
  start(): void {
    this.#push.start(this.#services.catalog.subscriptions());
  }

  /** Begins nothing more, and waits for what is under way, `graceMs` at most. */
  async drain(graceMs: number): Promise<void> {
    await this.#push.drain(graceMs);
  }

  /** Ends everything at once. Idempotent. */
  async stop(): Promise<void> {
    await this.#push.stop();
    await this.#sandbox.stop();
  }

  /** Live figures, for the connector's status. */
  counters(): Readonly<Record<string, number>> {
    const { acknowledged, refused, failed } = this.#push.counters;
    return {
      schemas: this.#schemas.count,
      push_subscriptions: this.#push.count,
      push_requests_open: this.#push.underWay,
      push_acknowledged_total: acknowledged,
      push_refused_total: refused,
      push_failed_total: failed,
    };
  }
}
