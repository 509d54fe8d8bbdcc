import type { Change } from '../../../core/registry/types.js';
import { durationMs } from '../durations.js';
import { ACTIVITY_KIND, type SubscriptionInfo } from '../registry/records.js';
import { isPush } from '../registry/subscription-rules.js';
import type { GcpServices } from '../services.js';
import { removalOf } from './delete-subscription.js';

/** How much of the last use a restart may forget. */
const NOTE_EVERY_MS = 3600 * 1000;

interface ActivityRecord {
  /** Unix ms. */
  readonly usedAt: number;
}

/**
 * Deletes subscriptions that nobody has used for as long as their expiration policy says. Open streams and push endpoints use
 * theirs all the time. Also writes down when the others were used, so that a restart does not count as use.
 */
export async function expireSubscriptions({
  catalog,
  clock,
  log,
  subscriptions,
}: Pick<GcpServices, 'catalog' | 'clock' | 'log' | 'subscriptions'>): Promise<void> {
  const { broker } = catalog;
  const now = clock.now();
  const notes: Change[] = [];
  for (const info of [...catalog.subscriptions()]) {
    const ttl = info.resource.expirationPolicy?.ttl;
    if (ttl === undefined) continue;
    const noted = broker.registry.get<ActivityRecord>(ACTIVITY_KIND, info.id)?.value.usedAt ?? 0;
    const used = Math.max(info.record.createdAt, noted, usedAt(info));
    if (now - used > durationMs(ttl)) {
      await broker.change(removalOf(broker, info));
      log.info('a subscription expired', { subscription: info.id });
    } else if (used - Math.max(noted, info.record.createdAt) >= NOTE_EVERY_MS) {
      const value: ActivityRecord = { usedAt: used };
      notes.push({ do: 'put', kind: ACTIVITY_KIND, key: info.id, value });
    }
  }
  if (notes.length > 0) await broker.change(notes);

  function usedAt(info: SubscriptionInfo): number {
    if (isPush(info.resource)) return now;
    return subscriptions.usedAt(info.id, now);
  }
}
