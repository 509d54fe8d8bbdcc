import type { ServiceHandlers } from '../kit/grpc-call.js';
import { schemaOperations } from './schemas/operations.js';
import { SchemaStore } from './schemas/schema-store.js';
import { checkTopicSchema, validatePublished } from './schemas/topic-schemas.js';
import type { GcpServices } from './services.js';
import { unaryHandlers } from './unary.js';

/** What takes part in the life of topics, subscriptions and messages without being a part of their operations. */
export class Features {
  readonly #schemas: SchemaStore;

  constructor(services: GcpServices) {
    const { extensions } = services;
    this.#schemas = new SchemaStore(services.broker);
    extensions.topicChecks.push(checkTopicSchema(this.#schemas));
    extensions.publishSteps.push(validatePublished(this.#schemas));
  }

  /** google.pubsub.v1.SchemaService. */
  schemaHandlers(services: GcpServices): ServiceHandlers {
    return unaryHandlers(services, schemaOperations({ ...services, schemas: this.#schemas }));
  }

  /** Live figures, for the connector's status. */
  counters(): Readonly<Record<string, number>> {
    return { schemas: this.#schemas.count };
  }
}
