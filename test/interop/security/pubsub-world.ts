import type { JsonObject } from '@bufbuild/protobuf';
import { right, type RuledServer, type Right } from './policy-cases.js';
import * as calls from './pubsub-calls.js';

export const PROJECT = 'projects/p';
export const topicName = (id: string): string => `${PROJECT}/topics/${id}-row`;
export const subscriptionName = (id: string): string => `${PROJECT}/subscriptions/${id}-row`;
export const snapshotName = (id: string): string => `${PROJECT}/snapshots/${id}-row`;
export const schemaName = (id: string): string => `${PROJECT}/schemas/${id}-row`;
export const TOPIC = topicName('t');
export const SUBSCRIPTION = subscriptionName('s');
export const SNAPSHOT = snapshotName('n');
export const SCHEMA = schemaName('c');
export const AVRO = JSON.stringify({ type: 'record', name: 'R', fields: [{ name: 'a', type: 'int' }] });

export const topic = (id: string, access: Right['access']): Right =>
  right('EventsStore', access, `gcp.${id}-row`);
export const subscription = (id: string, access: Right['access']): Right =>
  right('Queues', access, `gcp.sub.${id}-row`);
export const snapshot = (id: string, access: Right['access']): Right =>
  right('Queues', access, `gcp.snapshot.${id}-row`);
export const schema = (id: string, access: Right['access']): Right =>
  right('EventsStore', access, `gcp.schema.${id}-row`);
export const schemaOf = (id: string): JsonObject => ({
  name: schemaName(id),
  type: 'AVRO',
  definition: AVRO,
});

/** One RPC, with the rights it needs and what is there before it. */
export interface Row {
  readonly rpc: string;
  readonly needs: readonly Right[];
  readonly request: () => JsonObject;
  readonly prepare?: () => Promise<unknown>;
  readonly what?: string;
}

export const quiet = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => undefined,
    () => undefined,
  );

/** Makes what RPCs are about. */
export class PubsubWorld {
  readonly #server: () => RuledServer;
  /** Of the message that was pulled last, and of the schema's revision that was committed last. */
  ackId = '';
  revision = '';

  constructor(server: () => RuledServer) {
    this.#server = server;
  }

  rest(name: string, request: JsonObject): Promise<JsonObject> {
    return calls.rest(this.#server().running, name, request);
  }

  topic(id: string): Promise<void> {
    return quiet(this.rest('CreateTopic', { name: topicName(id) }));
  }

  async subscription(id: string, of = id): Promise<void> {
    await this.topic(of);
    await quiet(this.rest('CreateSubscription', { name: subscriptionName(id), topic: topicName(of) }));
  }

  async snapshot(id: string): Promise<void> {
    await this.subscription(id);
    await quiet(this.rest('CreateSnapshot', { name: snapshotName(id), subscription: subscriptionName(id) }));
  }

  schema(id: string): Promise<void> {
    return quiet(this.rest('CreateSchema', { parent: PROJECT, schemaId: `${id}-row`, schema: schemaOf(id) }));
  }

  async message(): Promise<void> {
    await this.subscription('s', 't');
    await this.rest('Publish', { topic: TOPIC, messages: [{ data: 'eA==' }] });
    const { receivedMessages } = await this.rest('Pull', { subscription: SUBSCRIPTION, maxMessages: 1 });
    this.ackId = (receivedMessages as unknown as readonly { readonly ackId: string }[])[0]?.ackId ?? '';
  }

  async revisions(): Promise<void> {
    await this.schema('r');
    const definition = JSON.stringify({ ...JSON.parse(AVRO), doc: String(Math.random()) });
    const committed = await this.rest('CommitSchema', {
      name: schemaName('r'),
      schema: { ...schemaOf('r'), definition },
    });
    this.revision = committed['revisionId'] as string;
  }
}
