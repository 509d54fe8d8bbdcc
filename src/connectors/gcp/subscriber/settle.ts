import type { ChannelName } from '../../../core/channel-name.js';
import type { LeaseToken } from '../../../core/queue/types.js';
import { GCP_LIMITS } from '../config.js';
import { badAckDeadline, badAckId, invalidArgument } from '../errors.js';
import type { GcpServices } from '../services.js';
import { ackIdCount, ackIdText, type AckIdList } from '../wire/acknowledge.js';
import { readAckId } from '../wire/ack-id.js';
import type { LiveSubscription } from './subscriptions.js';

/**
 * Acknowledges. Ids whose lease is over are passed over silently: without exactly-once delivery an acknowledgement is best
 * effort. Throws `invalid-argument` for ids that are none of this subscription; nothing is changed then.
 */
export async function acknowledgeIds(
  services: GcpServices,
  subscription: LiveSubscription,
  ackIds: AckIdList,
): Promise<void> {
  const channel = subscription.channel();
  const tokens = leaseTokens(subscription, channel, ackIds);
  const settled = services.broker.settle({ tokens, settlement: { kind: 'ack' } });
  subscription.held.release(channel, tokens);
  subscription.leasesChanged();
  const { refused } = await settled;
  services.counters.acknowledged += tokens.length - refused.length;
}

/** Sets how long the leases last from now; 0 gives the messages back. Errors as with acknowledging. */
export async function modifyAckDeadlines(
  services: GcpServices,
  subscription: LiveSubscription,
  request: { readonly ackIds: AckIdList; readonly seconds: number },
): Promise<void> {
  const { ackIds, seconds } = request;
  if (seconds < 0 || seconds > GCP_LIMITS.ackDeadlineSecondsMax) throw badAckDeadline(seconds, 0);
  const channel = subscription.channel();
  const tokens = leaseTokens(subscription, channel, ackIds);
  const { broker, clock } = services;
  if (seconds === 0) {
    const settled = broker.settle({ tokens, settlement: { kind: 'nack', to: 'origin' } });
    subscription.held.release(channel, tokens);
    subscription.leasesChanged();
    await settled;
    return;
  }
  const leaseMs = seconds * 1000;
  const settled = broker.settle({ tokens, settlement: { kind: 'extend', leaseMs } });
  subscription.held.extend(channel, tokens, clock.now() + leaseMs);
  await settled;
}

export function requireAckIds(ackIds: AckIdList): void {
  if (ackIdCount(ackIds) === 0) throw invalidArgument('You have not specified an ack ID in the request.');
}

function leaseTokens(subscription: LiveSubscription, channel: ChannelName, ackIds: AckIdList): LeaseToken[] {
  const { bytes, spans } = ackIds;
  const tokens: LeaseToken[] = [];
  for (let i = 0; i < spans.length; i += 2) {
    const token = readAckId(bytes, spans[i] as number, spans[i + 1] as number, subscription.ackIdSeed);
    if (token === undefined) throw badAckId(ackIdText(ackIds, i / 2));
    const { sequence, attempt, suffix } = token;
    tokens.push({
      channel: suffix === '' ? channel : ((channel + suffix) as ChannelName),
      sequence,
      attempt,
    });
  }
  return tokens;
}
