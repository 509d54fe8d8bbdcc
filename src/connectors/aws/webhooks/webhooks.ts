import { isIP } from 'node:net';
import type { Timer } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { OutgoingMessage } from '../../../core/message.js';
import type { Delivery } from '../../../core/queue/types.js';
import { parseAllowList } from '../../kit/outgoing/allow-list.js';
import type { AllowList } from '../../kit/outgoing/allow-list.js';
import { OutgoingHttp } from '../../kit/outgoing/http-client.js';
import { deliveryChannel, topicArn } from '../names.js';
import type { WebhookServices } from './handshakes.js';
import { deliveryPolicy } from '../sns/delivery-policy.js';
import type { DeliveryPolicy } from '../sns/delivery-policy.js';
import { deliveredBytes, queueCopy, signatureFor } from '../sns/queue-copy.js';
import type { Subscription, SubscriptionRecord } from '../sns/subscription.js';
import { md5Hex } from '../wire/md5.js';
import { DELIVERY_QUEUE } from './delivery-queue.js';
import { HandshakeLane, mayHaveHandshakes, storeHandshake } from './handshakes.js';
import { attributeHeaders, postHeaders } from './headers.js';
import { Lane } from './lane.js';
import type { LaneContext, LaneOwner, Post, WebhookCounters } from './lane.js';
import { Slots } from './slots.js';
import { contentOf } from './webhook-copy.js';

/** Posts under way to all endpoints together, and to one host. */
const POSTS_MAX = 256;
const CONNECTIONS_PER_HOST_MAX = 64;
/** Posts notifications to the endpoints of confirmed http and https subscriptions: a lane for each. */
export class Webhooks {
  readonly #services: WebhookServices;
  readonly #log: Log;
  readonly #allow: AllowList;
  readonly #http: OutgoingHttp;
  readonly #context: LaneContext;
  readonly #lanes = new Map<string, SubscriptionLane>();
  /** Lanes of subscriptions that ended, until they have. */
  readonly #ending = new Set<Promise<void>>();
  #handshakes: HandshakeLane | undefined;
  #started = false;
  readonly counters: WebhookCounters = { posts: 0, retries: 0, deadLettered: 0, dropped: 0 };

  constructor(services: WebhookServices) {
    const { broker, clock, ids, log, config } = services;
    this.#services = services;
    this.#log = log;
    const allow = parseAllowList(config.webhookAllow);
    if (allow === undefined) throw new TypeError('webhookAllow was not checked');
    this.#allow = allow;
    this.#http = new OutgoingHttp({ clock, allow, connectionsPerHostMax: CONNECTIONS_PER_HOST_MAX });
    this.#context = {
      broker,
      clock,
      ids,
      log,
      http: this.#http,
      slots: new Slots(POSTS_MAX),
      counters: this.counters,
    };
  }

  /** Goes on with everything that waits, and follows the subscriptions. */
  start(): void {
    const { topics } = this.#services;
    if (this.#started) return;
    this.#started = true;
    if (this.#allow.reachesInside) {
      this.#log.warn('subscribers may have this broker call loopback and private addresses', {
        setting: 'CONNECTORS_AWS_WEBHOOK_ALLOW',
      });
    }
    if (mayHaveHandshakes(this.#services)) this.#openHandshakes();
    topics.follow((key, subscription) => this.#seen(key, subscription));
  }

  /** Has an endpoint asked to confirm that a subscription begins or, with `ended`, that it ended. Resolves when that is stored. */
  async askToConfirm(
    record: SubscriptionRecord,
    about: { readonly token: string; readonly ended?: string | undefined },
  ): Promise<void> {
    await storeHandshake(this.#services, record, about);
    this.#openHandshakes();
  }

  /** Why an endpoint cannot be called at all; undefined when it may. Names are looked up when they are called. */
  endpointFault(url: URL): string | undefined {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    return isIP(host) > 0 && !this.#allow.allowsAddress(host)
      ? 'the address is not on the allow-list of this endpoint'
      : undefined;
  }

  #openHandshakes(): void {
    if (this.#started) this.#handshakes ??= new HandshakeLane(this.#services, this.#context);
  }

  /** Begins nothing more and waits for what is under way, `graceMs` at the latest. */
  async drain(graceMs: number): Promise<void> {
    const drained = Promise.all([...this.#all().map((lane) => lane.drain()), ...this.#ending]);
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.#services.clock.after(graceMs, resolve);
    });
    await Promise.race([drained, late]);
    timer?.cancel();
  }

  /** Ends what is under way; it goes on at the next start. */
  async stop(): Promise<void> {
    const ended = this.#all().map((lane) => lane.stop());
    this.#lanes.clear();
    this.#handshakes = undefined;
    this.#started = false;
    await Promise.all([...ended, ...this.#ending]);
    this.#http.close();
  }

  #all(): readonly { drain(): Promise<void>; stop(): Promise<void> }[] {
    return this.#handshakes === undefined
      ? [...this.#lanes.values()]
      : [...this.#lanes.values(), this.#handshakes];
  }

  #seen(key: string, subscription: Subscription | undefined): void {
    const lane = this.#lanes.get(key);
    if (subscription?.confirmed === true && subscription.queueName === undefined) {
      if (lane === undefined) {
        this.#lanes.set(key, new SubscriptionLane(this.#services, this.#context, subscription));
      } else {
        lane.subscription = subscription;
      }
      return;
    }
    if (lane === undefined) return;
    this.#lanes.delete(key);
    const ending = lane.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

/** The lane of one subscription: the queue `sns.{topic}.s.{id}`. */
class SubscriptionLane implements LaneOwner {
  readonly #services: WebhookServices;
  readonly #lane: Lane;
  readonly channel: ChannelName;
  readonly name: string;
  /** As it is now: changes hold from the next POST on. */
  subscription: Subscription;

  constructor(services: WebhookServices, context: LaneContext, subscription: Subscription) {
    this.#services = services;
    this.subscription = subscription;
    this.name = subscription.key;
    this.channel = deliveryChannel(subscription.key);
    this.#lane = new Lane(context, this);
  }

  drain(): Promise<void> {
    return this.#lane.drain();
  }

  stop(): Promise<void> {
    return this.#lane.stop();
  }

  async prepare(): Promise<void> {
    const { broker, signing } = this.#services;
    await signing.ready();
    if (broker.queueStats(this.channel) === undefined) {
      await broker.change([
        { do: 'create-queue', channel: this.channel, settings: DELIVERY_QUEUE, ifMissing: true },
      ]);
    }
  }

  policy(): DeliveryPolicy {
    const { topic, attributes } = this.subscription.record;
    const ofTopic = this.#services.topics.find(topic)?.record.attributes['DeliveryPolicy'];
    return deliveryPolicy(ofTopic, attributes['DeliveryPolicy']);
  }

  post(delivery: Delivery): Post | undefined {
    const content = contentOf(delivery.message);
    const { record, raw, key } = this.subscription;
    if (content === undefined || !URL.canParse(record.endpoint)) return undefined;
    const { config } = this.#services;
    return {
      url: new URL(record.endpoint),
      headers: {
        ...postHeaders({
          type: 'Notification',
          messageId: content.messageId,
          topicArn: topicArn(config, record.topic),
          subscriptionArn: topicArn(config, key),
          contentType: this.policy().contentType,
          raw,
        }),
        ...(raw && attributeHeaders(content.attributes)),
      },
      body: this.#bodyOf(delivery)?.toString('utf8') ?? '',
    };
  }

  deadLetter(delivery: Delivery): OutgoingMessage | undefined {
    const { deadLetterQueue } = this.subscription;
    const queue = deadLetterQueue === undefined ? undefined : this.#services.queues.find(deadLetterQueue);
    const content = contentOf(delivery.message);
    const body = this.#bodyOf(delivery);
    if (queue === undefined || content === undefined || body === undefined) return undefined;
    return queueCopy(this.#services, { queue, subscription: this.subscription, content, body }, md5Hex(body));
  }

  #bodyOf(delivery: Delivery): Buffer | undefined {
    const content = contentOf(delivery.message);
    if (content === undefined) return undefined;
    const { subscription } = this;
    const signed = subscription.raw ? undefined : signatureFor(this.#services, subscription, content);
    return deliveredBytes(this.#services, subscription, content, signed);
  }
}
