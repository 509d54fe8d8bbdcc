import type { Delivery } from '../../../core/queue/types.js';
import { GCP_LIMITS } from '../config.js';
import type { HandedMessage } from '../extensions.js';
import { handOver, refusalOf } from '../hand-over.js';
import { messageFields } from '../message-mapping.js';
import type { GcpServices } from '../services.js';
import { encodeReceivedMessages, receivedLength, type ReceivedParts } from '../wire/received-messages.js';
import type { LiveSubscription } from './subscriptions.js';

/** Deliveries and what they are handed out as. */
export interface Transformed {
  readonly deliveries: readonly Delivery[];
  readonly messages: readonly HandedMessage[];
}

/**
 * Deliveries as responses of at most `responseBytes` each (one larger message passes alone), every one with `trailer`
 * behind its messages. `messages`: what they are handed out as, when that is not what they are.
 */
export function encodeDeliveries(
  subscription: LiveSubscription,
  { deliveries, messages }: { deliveries: readonly Delivery[]; messages?: readonly HandedMessage[] },
  trailer: Uint8Array,
): readonly Buffer[] {
  const channel = subscription.channel();
  const countsAttempts = subscription.info.resource.deadLetterPolicy !== undefined;
  const responses: Buffer[] = [];
  let parts: ReceivedParts[] = [];
  let bytes = 0;
  for (let i = 0; i < deliveries.length; i++) {
    const delivery = deliveries[i] as Delivery;
    const { message, sequence, attempt } = delivery;
    const handed = messages?.[i];
    const part: ReceivedParts = {
      token: { suffix: subscription.suffixOf(channel, delivery), sequence, attempt },
      data: handed === undefined ? message.body : handed.data,
      fields: handed === undefined ? messageFields(message, delivery.enqueuedAt) : handed.fields,
      deliveryAttempt: countsAttempts ? delivery.receiveCount : 0,
    };
    const length = receivedLength(part);
    if (parts.length > 0 && bytes + length > GCP_LIMITS.responseBytes) {
      responses.push(encodeReceivedMessages(parts, subscription.ackIdSeed, trailer));
      parts = [];
      bytes = 0;
    }
    parts.push(part);
    bytes += length;
  }
  responses.push(encodeReceivedMessages(parts, subscription.ackIdSeed, trailer));
  return responses;
}

/** Runs deliveries through the subscription's transforms. What these drop is acknowledged, what they refuse is given back. */
export async function transformed(
  services: GcpServices,
  subscription: LiveSubscription,
  deliveries: readonly Delivery[],
): Promise<Transformed> {
  const kept: Delivery[] = [];
  const messages: HandedMessage[] = [];
  for (const delivery of deliveries) {
    const verdict = await handOver(services, subscription.info, delivery);
    if (typeof verdict !== 'string') {
      kept.push(delivery);
      messages.push(verdict);
      continue;
    }
    const settlement =
      verdict === 'drop' ? ({ kind: 'ack' } as const) : refusalOf(subscription.info, delivery);
    const settled = services.broker.settle({ tokens: [delivery], settlement });
    subscription.held.release(subscription.channel(), [delivery]);
    await settled;
  }
  return { deliveries: kept, messages };
}
