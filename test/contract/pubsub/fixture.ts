import { create, toBinary, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { ManualClock } from '../../../src/base/clock.js';
import { silentLog } from '../../../src/base/log.js';
import { gcpConfigSchema, type GcpConfig } from '../../../src/connectors/gcp/config.js';
import { noExtensions } from '../../../src/connectors/gcp/extensions.js';
import { iamOperations } from '../../../src/connectors/gcp/iam/operations.js';
import { MessageIds } from '../../../src/connectors/gcp/message-ids.js';
import { GCP_PROTOCOL, translateOrigin } from '../../../src/connectors/gcp/message-mapping.js';
import { AllOperationFigures } from '../../../src/connectors/gcp/operation-figures.js';
import { publisherOperations } from '../../../src/connectors/gcp/publisher/operations.js';
import { Catalog } from '../../../src/connectors/gcp/registry/catalog.js';
import { Snapshots } from '../../../src/connectors/gcp/registry/snapshots.js';
import { DEAD_LETTER_SCHEME } from '../../../src/connectors/gcp/registry/subscription-rules.js';
import type { GcpServices } from '../../../src/connectors/gcp/services.js';
import { deadLetterRouter } from '../../../src/connectors/gcp/subscriber/dead-letter-router.js';
import { subscriberOperations } from '../../../src/connectors/gcp/subscriber/operations.js';
import { Subscriptions } from '../../../src/connectors/gcp/subscriber/subscriptions.js';
import type { Operations } from '../../../src/connectors/gcp/unary.js';
import * as pubsub from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { HOT_CODECS } from '../../../src/connectors/gcp/wire/hot-codecs.js';
import type { OpenBroker } from '../../../src/core/broker.js';
import type { CoreLimits } from '../../../src/core/core-context.js';
import { openBroker } from '../../../src/core/broker.js';
import {
  createMemoryJournal,
  type MemoryFaults,
  type MemoryJournal,
} from '../../../src/journal/memory/index.js';

export const topicName = (id: string): string => `projects/p/topics/${id}`;
export const subscriptionName = (id: string): string => `projects/p/subscriptions/${id}`;
export const snapshotName = (id: string): string => `projects/p/snapshots/${id}`;

/** Small, so that tests cross extents. */
const EXTENT_BYTES = 16 * 1024;

/** A message as a Pull gives it. */
export interface Pulled {
  readonly ackId: string;
  readonly data: string;
  readonly key: string;
  readonly attempt: number;
  readonly attributes: Readonly<Record<string, string>>;
}

type Init<T extends keyof typeof pubsub> = (typeof pubsub)[T] extends Parameters<typeof create>[0]
  ? MessageInitShape<(typeof pubsub)[T]>
  : never;

/** The connector's operations over a broker in memory, at a time that is moved by hand. */
export class World {
  readonly clock = new ManualClock();
  broker!: OpenBroker;
  services!: GcpServices;
  #journal: MemoryJournal | undefined;
  #operations!: Operations;
  readonly #config: Partial<GcpConfig>;
  readonly #limits: Partial<CoreLimits>;

  constructor(config: Partial<GcpConfig> = {}, limits: Partial<CoreLimits> = {}) {
    this.#config = config;
    this.#limits = limits;
  }

  /** What may go wrong with the journal, and when. */
  get faults(): MemoryFaults {
    return this.#journal?.faults ?? {};
  }

  /** `seed` chooses what is left of what was not durable. */
  async open(seed = 0): Promise<this> {
    const image = this.#journal?.crash(seed);
    this.#journal = createMemoryJournal(image === undefined ? { extentBytes: EXTENT_BYTES } : { image });
    const { clock } = this;
    const broker = await openBroker({ journal: this.#journal, clock, log: silentLog, limits: this.#limits });
    const config = gcpConfigSchema.parse(this.#config);
    let uuids = 0;
    const ids = { uuid: () => `made-${++uuids}`, bytes: (count: number) => new Uint8Array(count) };
    const catalog = new Catalog(broker);
    this.broker = broker;
    this.services = {
      broker,
      client: undefined,
      clock,
      ids,
      log: silentLog,
      config,
      catalog,
      snapshots: new Snapshots(broker, clock),
      extensions: noExtensions(),
      subscriptions: new Subscriptions({ broker, clock, catalog, config }),
      messageIds: new MessageIds(clock, ids),
      counters: { calls: 0, errors: 0, published: 0, delivered: 0, acknowledged: 0 },
      figures: new AllOperationFigures(),
    };
    broker.registerTranslator(GCP_PROTOCOL, translateOrigin);
    broker.registerRouter(DEAD_LETTER_SCHEME, deadLetterRouter(this.services));
    catalog.open();
    this.#operations = {
      ...publisherOperations(this.services),
      ...subscriberOperations(this.services),
      ...iamOperations(this.services),
    };
    return this;
  }

  /** The machine dies in the middle of it all, and another one goes on with what is on disk. */
  async crash(seed: number): Promise<void> {
    await this.open(seed);
  }

  /** The process dies and another one goes on with what is on disk. */
  async restart(): Promise<void> {
    await this.#journal?.flush();
    await this.open();
  }

  /** Calls an operation as a client would, by its method's name. */
  async call<T = unknown>(
    method: string,
    request: unknown,
    metadata: Record<string, string> = {},
  ): Promise<T> {
    const operation = this.#operations[method] as ((request: unknown, call: unknown) => unknown) | undefined;
    if (operation === undefined) throw new Error(`no method ${method}`);
    const call = { metadata: { get: (name: string) => metadata[name] }, on: () => undefined };
    return (await operation(request, call)) as T;
  }

  async topic(id: string, more: Init<'TopicSchema'> = {}): Promise<pubsub.Topic> {
    return this.call('createTopic', create(pubsub.TopicSchema, { name: topicName(id), ...more }));
  }

  async subscription(
    id: string,
    topic: string,
    more: Init<'SubscriptionSchema'> = {},
  ): Promise<pubsub.Subscription> {
    const request = { name: subscriptionName(id), topic: topicName(topic), ...more };
    return this.call('createSubscription', create(pubsub.SubscriptionSchema, request));
  }

  async update(
    id: string,
    fields: Init<'SubscriptionSchema'>,
    paths: string[],
  ): Promise<pubsub.Subscription> {
    const request = create(pubsub.UpdateSubscriptionRequestSchema, {
      subscription: { name: subscriptionName(id), ...fields },
      updateMask: { paths },
    });
    return this.call('updateSubscription', request);
  }

  async get(id: string): Promise<pubsub.Subscription> {
    return this.call('getSubscription', { subscription: subscriptionName(id) });
  }

  /** Publishes texts; `{text}@{key}` has an ordering key. */
  async publish(topic: string, ...texts: string[]): Promise<void> {
    for (const text of texts) {
      const [data = '', orderingKey = ''] = text.split('@');
      await this.publishMessage(topic, { data: Buffer.from(data), orderingKey });
    }
  }

  async publishMessage(topic: string, message: Init<'PubsubMessageSchema'>): Promise<void> {
    await this.publishTogether(topic, [message]);
  }

  /** Several messages in one request. */
  async publishTogether(topic: string, messages: readonly Init<'PubsubMessageSchema'>[]): Promise<void> {
    const request = create(pubsub.PublishRequestSchema, {
      topic: topicName(topic),
      messages: [...messages],
    });
    const codec = HOT_CODECS['google.pubsub.v1.PublishRequest'];
    await this.call('publish', codec.decode(toBinary(pubsub.PublishRequestSchema, request)));
  }

  async pull(id: string, maxMessages = 100): Promise<readonly Pulled[]> {
    const request = { subscription: subscriptionName(id), maxMessages, returnImmediately: true };
    const bytes = await this.call<Uint8Array>('pull', request);
    return fromBinary(pubsub.PullResponseSchema, bytes).receivedMessages.map((received) => ({
      ackId: received.ackId,
      data: Buffer.from(received.message?.data ?? []).toString(),
      key: received.message?.orderingKey ?? '',
      attempt: received.deliveryAttempt,
      attributes: received.message?.attributes ?? {},
    }));
  }

  async ack(id: string, ...pulled: readonly (Pulled | string)[]): Promise<void> {
    await this.call('acknowledge', { subscription: subscriptionName(id), ackIds: idList(pulled) });
  }

  async nack(id: string, ...pulled: readonly Pulled[]): Promise<void> {
    await this.modify(id, 0, ...pulled);
  }

  async modify(id: string, seconds: number, ...pulled: readonly (Pulled | string)[]): Promise<void> {
    const request = {
      subscription: subscriptionName(id),
      ackIds: idList(pulled),
      ackDeadlineSeconds: seconds,
    };
    await this.call('modifyAckDeadline', request);
  }

  /** Pulls and acknowledges until nothing comes; the texts in their order. */
  async drain(id: string): Promise<string[]> {
    const texts: string[] = [];
    for (;;) {
      const pulled = await this.pull(id);
      if (pulled.length === 0) return texts;
      texts.push(...pulled.map(({ data }) => data));
      await this.ack(id, ...pulled);
    }
  }

  /** Seeks to a time in Unix ms, or to a snapshot. */
  async seek(id: string, to: number | string): Promise<void> {
    const target =
      typeof to === 'string'
        ? { case: 'snapshot' as const, value: snapshotName(to) }
        : {
            case: 'time' as const,
            value: { seconds: BigInt(Math.floor(to / 1000)), nanos: (to % 1000) * 1e6 },
          };
    await this.call('seek', create(pubsub.SeekRequestSchema, { subscription: subscriptionName(id), target }));
  }

  async snapshot(id: string, subscription: string): Promise<pubsub.Snapshot> {
    const request = { name: snapshotName(id), subscription: subscriptionName(subscription) };
    return this.call('createSnapshot', create(pubsub.CreateSnapshotRequestSchema, request));
  }
}

function idList(pulled: readonly (Pulled | string)[]): { bytes: Uint8Array; spans: number[] } {
  const texts = pulled.map((one) => (typeof one === 'string' ? one : one.ackId));
  const spans: number[] = [];
  let at = 0;
  for (const text of texts) spans.push(at, (at += Buffer.byteLength(text)));
  return { bytes: Buffer.from(texts.join('')), spans };
}
