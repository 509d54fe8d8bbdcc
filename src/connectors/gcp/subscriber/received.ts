import type { Delivery } from '../../../core/queue/types.js';
import { GCP_LIMITS } from '../config.js';
import { messageFields } from '../message-mapping.js';
import { encodeReceivedMessages, receivedLength, type ReceivedParts } from '../wire/received-messages.js';
import type { LiveSubscription } from './subscriptions.js';

/**
 * Deliveries as responses of at most `responseBytes` each (one larger message passes alone), every one with `trailer`
 * behind its messages.
 */
export function encodeDeliveries(
  subscription: LiveSubscription,
  deliveries: readonly Delivery[],
  trailer: Uint8Array,
): readonly Buffer[] {
  const channel = subscription.channel();
  const responses: Buffer[] = [];
  let parts: ReceivedParts[] = [];
  let bytes = 0;
  for (const delivery of deliveries) {
    const { message, sequence, attempt } = delivery;
    const part: ReceivedParts = {
      token: { suffix: subscription.suffixOf(channel, delivery), sequence, attempt },
      data: message.body,
      fields: messageFields(message, delivery.enqueuedAt),
      deliveryAttempt: 0,
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
