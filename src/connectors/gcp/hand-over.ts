import type { Delivery } from '../../core/queue/types.js';
import type { DeliveryVerdict, HandedMessage } from './extensions.js';
import { messageFields } from './message-mapping.js';
import type { SubscriptionInfo } from './registry/records.js';
import type { GcpServices } from './services.js';

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
