import type { Delivery, Settlement } from '../../core/queue/types.js';
import type { DeliveryVerdict, HandedMessage } from './extensions.js';
import { messageFields } from './message-mapping.js';
import type { SubscriptionInfo } from './registry/records.js';
import type { GcpServices } from './services.js';

/** Pause before a refused delivery comes again: after the first one, and at most. */
const REFUSED_MIN_MS = 100;
const REFUSED_MAX_MS = 60_000;

/**
 * A delivery as its subscription hands it out: what the delivery steps make of it, or what they decide. A promise only when the
 * subscription has message transforms.
 */
export function handOver(
  services: Pick<GcpServices, 'extensions'>,
  subscription: SubscriptionInfo,
  delivery: Delivery,
): DeliveryVerdict | Promise<DeliveryVerdict> {
  const { message, enqueuedAt } = delivery;
  const handed: HandedMessage = { data: message.body, fields: messageFields(message, enqueuedAt) };
  return hasTransforms(subscription) ? runSteps(services, subscription, handed) : handed;
}

/** Whether what the subscription hands out has to go through the delivery steps. */
export function hasTransforms({ resource }: SubscriptionInfo): boolean {
  return resource.messageTransforms.some(({ disabled }) => !disabled);
}

/** How a refused delivery goes back. Without a retry policy it would come again at once, and fail again, for as long as it lives. */
export function refusalOf({ resource }: SubscriptionInfo, { receiveCount }: Delivery): Settlement {
  if (resource.retryPolicy !== undefined) return { kind: 'nack', to: 'origin' };
  const delayMs = Math.min(REFUSED_MIN_MS * 2 ** (receiveCount - 1), REFUSED_MAX_MS);
  return { kind: 'nack', to: 'origin', delayMs };
}

async function runSteps(
  { extensions }: Pick<GcpServices, 'extensions'>,
  subscription: SubscriptionInfo,
  message: HandedMessage,
): Promise<DeliveryVerdict> {
  let handed = message;
  for (const step of extensions.deliverySteps) {
    const verdict = await step(subscription, handed);
    if (verdict === 'drop' || verdict === 'refuse') return verdict;
    handed = verdict;
  }
  return handed;
}
