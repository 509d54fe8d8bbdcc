import type { ChannelName } from '../../../core/channel-name.js';
import type { LeaseToken, Settlement } from '../../../core/queue/types.js';
import { status } from '../../kit/grpc-status.js';
import { GCP_LIMITS } from '../config.js';
import { badAckDeadline, badAckId, invalidArgument, shortAckDeadline } from '../errors.js';
import type { GcpServices } from '../services.js';
import { statusWithInfo } from '../status-details.js';
import { ackIdCount, ackIdText, type AckIdList } from '../wire/acknowledge.js';
import { readAckId } from '../wire/ack-id.js';
import type { LiveSubscription } from './subscriptions.js';

/** What became of ack ids, by their place in the request. Both lists are empty where nobody is told. */
export interface SettleOutcome {
  readonly settled: readonly number[];
  /** Not theirs any more, or never were. */
  readonly invalid: readonly number[];
}

const UNTOLD: SettleOutcome = { settled: [], invalid: [] };

/**
 * Acknowledges. Ids whose lease is over are passed over silently: without exactly-once delivery an acknowledgement is best
 * effort. Throws `invalid-argument` then for ids that are none of this subscription; nothing is changed. With exactly-once
 * delivery it is certain: what is settled is on disk, and what is not is said. `room`: settle only so many when others are
 * invalid.
 */
export async function acknowledgeIds(
  services: GcpServices,
  subscription: LiveSubscription,
  request: { readonly ackIds: AckIdList; readonly room?: number },
): Promise<SettleOutcome> {
  const { ackIds } = request;
  const { counters, clock } = services;
  subscription.used(clock.now());
  if (!subscription.exactlyOnce) {
    const tokens = leaseTokens(subscription, subscription.channel(), ackIds);
    const { refused } = await settle(services, subscription, { tokens, settlement: { kind: 'ack' } });
    counters.acknowledged += tokens.length - refused.length;
    return UNTOLD;
  }
  const now = clock.now();
  const sorted = sortIds(services, subscription, ackIds, (id) => subscription.recentAcks.has(id, now));
  const settled = within(sorted, request.room);
  const tokens = settled.flatMap((i) => sorted.tokens[i] ?? []);
  const { refused } = await settle(services, subscription, {
    tokens,
    settlement: { kind: 'ack' },
    durable: true,
  });
  for (const i of settled) subscription.recentAcks.add(ackIdText(ackIds, i), now);
  counters.acknowledged += tokens.length - refused.length;
  return { settled, invalid: sorted.invalid };
}

/** Sets how long the leases last from now; 0 gives the messages back. Outcome and errors as with acknowledging. */
export async function modifyAckDeadlines(
  services: GcpServices,
  subscription: LiveSubscription,
  request: { readonly ackIds: AckIdList; readonly seconds: number; readonly room?: number },
): Promise<SettleOutcome> {
  const { ackIds, seconds } = request;
  checkAckDeadline(seconds);
  subscription.used(services.clock.now());
  const settlement: Settlement =
    seconds === 0 ? { kind: 'nack', to: 'origin' } : { kind: 'extend', leaseMs: seconds * 1000 };
  if (!subscription.exactlyOnce) {
    const tokens = leaseTokens(subscription, subscription.channel(), ackIds);
    await settle(services, subscription, { tokens, settlement });
    return UNTOLD;
  }
  const sorted = sortIds(services, subscription, ackIds, () => false);
  const settled = within(sorted, request.room);
  const tokens = settled.flatMap((i) => sorted.tokens[i] ?? []);
  await settle(services, subscription, { tokens, settlement });
  return { settled, invalid: sorted.invalid };
}

/** Throws `invalid-argument` for what ModifyAckDeadline does not take: less than 10 seconds, but for 0, or more than 600. */
function checkAckDeadline(seconds: number): void {
  if (seconds < 0 || seconds > GCP_LIMITS.ackDeadlineSecondsMax) throw badAckDeadline(seconds, 0);
  if (seconds > 0 && seconds < GCP_LIMITS.ackDeadlineSecondsMin) throw shortAckDeadline(seconds);
}

export function requireAckIds(ackIds: AckIdList): void {
  if (ackIdCount(ackIds) === 0) throw invalidArgument('You have not specified an ack ID in the request.');
}

/** Most characters of ack ids that one error names: peers refuse longer trailers. */
const NAMED_CHARS_MAX = 1600;
const CODE_CHARS = 48;

/** How many ids of a request an error can name. */
export function namedMax(ackIds: AckIdList): number {
  const chars = ackIdCount(ackIds) === 0 ? 0 : ackIdText(ackIds, 0).length;
  return Math.max(Math.floor(NAMED_CHARS_MAX / (chars + CODE_CHARS)), 1);
}

/**
 * What a call with invalid ids is answered with: which they are. Those that were settled are told to try again, as clients take
 * ids that are not named for failed; tried again, they succeed. Clients read one or the other of the two details.
 */
export function ackFailure(ackIds: AckIdList, { settled, invalid }: SettleOutcome): Error {
  const metadata: Record<string, string> = {};
  const most = namedMax(ackIds);
  for (const i of invalid.slice(0, most)) metadata[ackIdText(ackIds, i)] = 'PERMANENT_FAILURE_INVALID_ACK_ID';
  for (const i of settled) metadata[ackIdText(ackIds, i)] = 'TRANSIENT_FAILURE_SERVICE_UNAVAILABLE';
  return statusWithInfo(
    status.FAILED_PRECONDITION,
    'Some acknowledgement ids in the request were invalid. This could be because the acknowledgement ids have expired or ' +
      'the acknowledgement ids were malformed.',
    [
      { reason: 'PERMANENT_FAILURE_INVALID_ACK_ID', metadata },
      { reason: 'EXACTLY_ONCE_ACKID_FAILURE', metadata },
    ],
  );
}

/** Ack ids by whether they own something. */
interface SortedIds {
  /** By place; absent for what was settled before. */
  readonly tokens: Readonly<Record<number, LeaseToken>>;
  readonly valid: readonly number[];
  readonly invalid: readonly number[];
}

function sortIds(
  { catalog }: GcpServices,
  subscription: LiveSubscription,
  ackIds: AckIdList,
  wasSettled: (ackId: string) => boolean,
): SortedIds {
  const channel = subscription.channel();
  const tokens: Record<number, LeaseToken> = {};
  const valid: number[] = [];
  const invalid: number[] = [];
  for (let i = 0; i < ackIdCount(ackIds); i++) {
    const token = tokenOf(subscription, channel, ackIds, i);
    if (token !== undefined && catalog.broker.holds(token)) {
      tokens[i] = token;
      valid.push(i);
    } else if (wasSettled(ackIdText(ackIds, i))) valid.push(i);
    else invalid.push(i);
  }
  return { tokens, valid, invalid };
}

/** When others are invalid, an answer must name what is settled: what it has no room for keeps its lease. */
function within({ valid, invalid }: SortedIds, room = Infinity): readonly number[] {
  return invalid.length === 0 ? valid : valid.slice(0, Math.max(room - invalid.length, 0));
}

async function settle(
  { broker, clock }: GcpServices,
  subscription: LiveSubscription,
  request: {
    readonly tokens: readonly LeaseToken[];
    readonly settlement: Settlement;
    readonly durable?: boolean;
  },
): Promise<{ readonly refused: readonly number[] }> {
  const { tokens, settlement } = request;
  if (tokens.length === 0) return { refused: [] };
  const settled = broker.settle(request);
  const channel = subscription.channel();
  if (settlement.kind === 'extend') {
    subscription.held.extend(channel, tokens, clock.now() + settlement.leaseMs);
  } else {
    subscription.held.release(channel, tokens);
  }
  return settled;
}

function leaseTokens(subscription: LiveSubscription, channel: ChannelName, ackIds: AckIdList): LeaseToken[] {
  const tokens: LeaseToken[] = [];
  for (let i = 0; i < ackIdCount(ackIds); i++) {
    const token = tokenOf(subscription, channel, ackIds, i);
    if (token === undefined) throw badAckId(ackIdText(ackIds, i));
    tokens.push(token);
  }
  return tokens;
}

function tokenOf(
  subscription: LiveSubscription,
  channel: ChannelName,
  { bytes, spans }: AckIdList,
  index: number,
): LeaseToken | undefined {
  const at = index * 2;
  const token = readAckId(bytes, spans[at] as number, spans[at + 1] as number, subscription.ackIdSeed);
  if (token === undefined) return undefined;
  const { sequence, attempt, suffix } = token;
  return { channel: suffix === '' ? channel : ((channel + suffix) as ChannelName), sequence, attempt };
}
