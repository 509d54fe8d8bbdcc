import { BrokerError } from '../../../core/errors.js';
import type { Delivery } from '../../../core/queue/types.js';
import { timeoutMs } from '../../kit/grpc/timeout.js';
import { GCP_LIMITS } from '../config.js';
import { badArgument, resourceNotFound } from '../errors.js';
import { hasTransforms } from '../hand-over.js';
import type { GcpServices } from '../services.js';
import type { CallEvents, Operation } from '../unary.js';
import type { PullRequestView } from '../wire/acknowledge.js';
import { encodeDeliveries, transformed } from './received.js';
import type { LiveSubscription } from './subscriptions.js';

const NO_TRAILER = new Uint8Array(0);

/**
 * Hands out up to `max_messages`. Without any it waits a few seconds for a first one, which ends when the client gives up:
 * no message is leased to nobody.
 */
export function pull(services: GcpServices): Operation<PullRequestView, Buffer> {
  const { clock, subscriptions, counters } = services;
  return async (request, call) => {
    const live = subscriptions.require(request.subscription);
    if (request.maxMessages < 1) throw badArgument('max_messages');
    live.requirePullable();
    live.used(clock.now());
    const deliveries = await receive(services, live, request, call).catch((caught: unknown) => {
      throw isNotFound(caught) ? resourceNotFound(live.id) : caught;
    });
    if (deliveries.length === 0) return Buffer.alloc(0);
    const handed = hasTransforms(live.info) ? await transformed(services, live, deliveries) : { deliveries };
    if (handed.deliveries.length === 0) return Buffer.alloc(0);
    counters.delivered += handed.deliveries.length;
    // Should they take several responses, these joined are one: protobuf appends the lists.
    return Buffer.concat(encodeDeliveries(live, handed, NO_TRAILER));
  };
}

/** The queue went while the call waited: its subscription did. */
function isNotFound(caught: unknown): boolean {
  return caught instanceof BrokerError && caught.kind === 'not-found';
}

/** Not as long as to the client's deadline: it would hear DEADLINE_EXCEEDED where there is nothing to pull. */
function waitMs(call: CallEvents): number {
  const deadlineMs = timeoutMs(call.metadata?.get('grpc-timeout') ?? '') ?? Infinity;
  return Math.max(0, Math.min(GCP_LIMITS.pullWaitMs, deadlineMs - GCP_LIMITS.pullDeadlineMarginMs));
}

async function receive(
  services: GcpServices,
  live: LiveSubscription,
  request: PullRequestView,
  call: CallEvents,
): Promise<readonly Delivery[]> {
  const { broker, config, subscriptions } = services;
  const max = Math.min(request.maxMessages, GCP_LIMITS.pullMessagesMax, live.headroom());
  if (max === 0) return [];
  const { waitingPulls } = subscriptions;
  if (waitingPulls.size >= config.maxConcurrentPolls) {
    throw new BrokerError(
      'limit',
      `Too many Pull calls at once: at most ${config.maxConcurrentPolls} may wait.`,
    );
  }
  const giveUp = new AbortController();
  call.on('cancelled', () => giveUp.abort());
  waitingPulls.add(giveUp);
  try {
    return await broker.receive({
      channel: live.name,
      max,
      maxBytes: GCP_LIMITS.responseBytes,
      waitMs: request.returnImmediately ? 0 : waitMs(call),
      handOut: { kind: 'lease', leaseMs: live.info.resource.ackDeadlineSeconds * 1000 },
      perSubChannelMax: 1,
      signal: giveUp.signal,
    });
  } finally {
    waitingPulls.delete(giveUp);
  }
}
