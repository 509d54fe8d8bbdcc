import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import type { Delivery } from '../../../core/queue/types.js';
import { HANDSHAKE_CHANNEL, topicArn } from '../names.js';
import type { AwsServices } from '../operation.js';
import { deliveryPolicy } from '../sns/delivery-policy.js';
import type { DeliveryPolicy } from '../sns/delivery-policy.js';
import { confirmationText, confirmationToSign } from '../sns/notification.js';
import type { Confirmation } from '../sns/notification.js';
import { linkOrigin } from '../sns/queue-copy.js';
import type { SubscriptionRecord } from '../sns/subscription.js';
import { postHeaders } from './headers.js';
import { Lane } from './lane.js';
import type { LaneContext, LaneOwner, Post } from './lane.js';

/** What posting works with. */
export type WebhookServices = Omit<AwsServices, 'webhooks' | 'replays'>;

/** A confirmation as it waits to be posted: JSON in the body of a message. */
interface Handshake extends Confirmation {
  readonly endpoint: string;
  /** Of UnsubscribeConfirmation. */
  readonly subscriptionArn: string | undefined;
  readonly origin: string;
  readonly signatureVersion: '1' | '2';
  /** Texts of the policies that say how it is tried again. */
  readonly topicPolicy: string | undefined;
  readonly subscriptionPolicy: string | undefined;
}

/** Whether confirmations may be waiting from before. */
export function mayHaveHandshakes({ broker }: WebhookServices): boolean {
  return broker.queueStats(HANDSHAKE_CHANNEL) !== undefined;
}

/**
 * Stores the confirmation of a subscription to be posted to its endpoint. `ended`: the subscription with this key is no
 * more, and confirming brings it back.
 */
export async function storeHandshake(
  services: WebhookServices,
  record: SubscriptionRecord,
  { token, ended }: { readonly token: string; readonly ended?: string | undefined },
): Promise<void> {
  const { broker, clock, config, ids, topics, signing } = services;
  await signing.ready();
  const arn = topicArn(config, record.topic);
  const subscriptionArn = ended === undefined ? undefined : topicArn(config, ended);
  const origin = linkOrigin(services, record);
  const topic = topics.find(record.topic)?.record.attributes;
  const handshake: Handshake = {
    type: ended === undefined ? 'SubscriptionConfirmation' : 'UnsubscribeConfirmation',
    messageId: ids.uuid(),
    token,
    topicArn: arn,
    message:
      subscriptionArn === undefined
        ? `You have chosen to subscribe to the topic ${arn}.\nTo confirm the subscription, visit the SubscribeURL ` +
          'included in this message.'
        : `You have chosen to deactivate subscription ${subscriptionArn}.\nTo cancel this operation and restore the ` +
          'subscription, visit the SubscribeURL included in this message.',
    subscribeUrl: `${origin}/?Action=ConfirmSubscription&TopicArn=${arn}&Token=${token}`,
    timestamp: clock.now(),
    endpoint: record.endpoint,
    subscriptionArn,
    origin,
    signatureVersion: topic?.['SignatureVersion'] === '2' ? '2' : '1',
    topicPolicy: topic?.['DeliveryPolicy'],
    subscriptionPolicy: record.attributes['DeliveryPolicy'],
  };
  const body = Buffer.from(JSON.stringify(handshake), 'utf8');
  const [sent] = await broker.send([{ channel: HANDSHAKE_CHANNEL, body, id: handshake.messageId }], {
    createMissing: true,
  });
  if (sent?.ok !== true) throw sent?.error ?? new BrokerError('internal', 'no outcome');
}

/** The lane of all confirmations. */
export class HandshakeLane implements LaneOwner {
  readonly #services: WebhookServices;
  readonly #lane: Lane;
  readonly name = 'confirmations';
  readonly channel: ChannelName = HANDSHAKE_CHANNEL;

  constructor(services: WebhookServices, context: LaneContext) {
    this.#services = services;
    this.#lane = new Lane(context, this);
  }

  drain(): Promise<void> {
    return this.#lane.drain();
  }

  stop(): Promise<void> {
    return this.#lane.stop();
  }

  async prepare(): Promise<void> {
    const { broker } = this.#services;
    if (broker.queueStats(this.channel) === undefined) {
      await broker.change([{ do: 'create-queue', channel: this.channel, ifMissing: true }]);
    }
  }

  policy(delivery: Delivery): DeliveryPolicy {
    const handshake = read(delivery);
    const policy = deliveryPolicy(handshake?.topicPolicy, handshake?.subscriptionPolicy);
    // A throttle is for one endpoint, and this lane serves all.
    return { ...policy, perSecondMax: undefined };
  }

  post(delivery: Delivery): Post | undefined {
    const handshake = read(delivery);
    if (handshake === undefined || !URL.canParse(handshake.endpoint)) return undefined;
    const { signing } = this.#services;
    const { signatureVersion, origin, type, messageId } = handshake;
    return {
      url: new URL(handshake.endpoint),
      headers: postHeaders({
        type,
        messageId,
        topicArn: handshake.topicArn,
        subscriptionArn: handshake.subscriptionArn,
        contentType: undefined,
        raw: false,
      }),
      body: confirmationText(handshake, {
        version: signatureVersion,
        signature: signing.sign(confirmationToSign(handshake), signatureVersion),
        certificateUrl: origin + signing.certificatePath,
      }),
    };
  }

  /** An endpoint that cannot be told has confirmed nothing. */
  deadLetter(): undefined {
    return undefined;
  }
}

function read({ message }: Delivery): Handshake | undefined {
  const { body } = message;
  try {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
    const value = JSON.parse(text) as Partial<Handshake> | null;
    return typeof value?.endpoint === 'string' && typeof value.token === 'string'
      ? (value as Handshake)
      : undefined;
  } catch {
    return undefined;
  }
}
