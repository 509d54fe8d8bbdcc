import type { BidiHandler } from '../../kit/grpc-call.js';
import { requireAccess } from '../access.js';
import { GCP_LIMITS } from '../config.js';
import { badAckDeadline, invalidArgument, statusOf } from '../errors.js';
import type { GcpServices } from '../services.js';
import { ackIdCount, type AckIdList } from '../wire/acknowledge.js';
import type { StreamingPullRequestView } from '../wire/streaming-pull.js';
import { acknowledgeConfirmation, modifyConfirmation } from './confirmations.js';
import { PullStream, type StreamingPullCall } from './pull-stream.js';
import { acknowledgeIds, modifyAckDeadlines } from './settle.js';
import type { LiveSubscription } from './subscriptions.js';

/**
 * StreamingPull. The first request says what to consume and how much at once; later ones settle, change the deadline, or
 * are empty: signs of life, each of which is answered.
 */
export function streamingPull(services: GcpServices): BidiHandler<StreamingPullRequestView, Buffer> {
  return (call) => {
    services.counters.calls++;
    const session = new StreamSession(services, call);
    call.on('data', (request: StreamingPullRequestView) => session.request(request));
    call.on('end', () => session.halfClosed());
    call.on('cancelled', () => session.gone());
    call.on('close', () => session.gone());
  };
}

class StreamSession {
  readonly #services: GcpServices;
  readonly #call: StreamingPullCall;
  #subscription: LiveSubscription | undefined;
  #stream: PullStream | undefined;
  #over = false;

  constructor(services: GcpServices, call: StreamingPullCall) {
    this.#services = services;
    this.#call = call;
  }

  request(request: StreamingPullRequestView): void {
    if (this.#over) return;
    try {
      if (this.#subscription === undefined || this.#stream === undefined) this.#open(request);
      else this.#later(this.#subscription, this.#stream, request);
    } catch (caught) {
      this.#fail(caught);
    }
  }

  /** The client sends nothing more: it is done. */
  halfClosed(): void {
    if (this.#over) return;
    this.gone();
    this.#call.end();
  }

  gone(): void {
    this.#over = true;
    this.#stream?.release();
  }

  #open(first: StreamingPullRequestView): void {
    const { client } = this.#services;
    if (client !== undefined) requireAccess(client, 'streamingPull', first);
    const subscription = this.#services.subscriptions.require(first.subscription);
    subscription.requirePullable();
    const seconds = first.streamAckDeadlineSeconds;
    if (seconds === 0) throw invalidArgument('The first message must set stream_ack_deadline_seconds.');
    checkStreamDeadline(seconds);
    this.#subscription = subscription;
    const options = { services: this.#services, subscription, call: this.#call, first };
    this.#stream = new PullStream(options);
    this.#stream.start();
    this.#settle(subscription, first);
  }

  #later(subscription: LiveSubscription, stream: PullStream, request: StreamingPullRequestView): void {
    if (request.maxOutstandingMessages !== 0 || request.maxOutstandingBytes !== 0) {
      throw invalidArgument(
        'You must only set max_outstanding_messages and max_outstanding_bytes on the initial request.',
      );
    }
    if (request.subscription !== '' || request.clientId !== '' || request.protocolVersion !== 0) {
      throw invalidArgument(
        'The fields subscription, client_id and protocol_version may only be set in the first message.',
      );
    }
    const seconds = request.streamAckDeadlineSeconds;
    if (seconds !== 0) {
      checkStreamDeadline(seconds);
      stream.setAckDeadline(seconds);
    }
    const settles = this.#settle(subscription, request);
    if (!settles && seconds === 0) stream.sayProperties();
  }

  /** Acknowledges and extends what the request names. False when it names nothing. */
  #settle(subscription: LiveSubscription, request: StreamingPullRequestView): boolean {
    const { ackIds, modifyDeadlineAckIds, modifyDeadlineSeconds } = request;
    if (ackIdCount(modifyDeadlineAckIds) !== modifyDeadlineSeconds.length) {
      throw invalidArgument(
        'modify_deadline_seconds and modify_deadline_ack_ids must have the same number of elements.',
      );
    }
    const work: Promise<void>[] = [];
    if (ackIdCount(ackIds) > 0) work.push(this.#acknowledge(subscription, ackIds));
    // One call for each different deadline, in the usual case one.
    for (const seconds of new Set(modifyDeadlineSeconds)) {
      const { bytes, spans } = modifyDeadlineAckIds;
      const chosen = spans.filter((_, i) => modifyDeadlineSeconds[i >> 1] === seconds);
      work.push(this.#modify(subscription, { bytes, spans: chosen }, seconds));
    }
    if (work.length === 0) return false;
    Promise.all(work).catch((caught: unknown) => this.#fail(caught));
    return true;
  }

  async #acknowledge(subscription: LiveSubscription, ackIds: AckIdList): Promise<void> {
    const outcome = await acknowledgeIds(this.#services, subscription, { ackIds });
    if (subscription.exactlyOnce) this.#confirm(acknowledgeConfirmation(ackIds, outcome));
  }

  async #modify(subscription: LiveSubscription, ackIds: AckIdList, seconds: number): Promise<void> {
    const outcome = await modifyAckDeadlines(this.#services, subscription, { ackIds, seconds });
    if (subscription.exactlyOnce) this.#confirm(modifyConfirmation(ackIds, outcome));
  }

  #confirm(fields: Uint8Array): void {
    if (!this.#over) this.#stream?.confirm(fields);
  }

  #fail(caught: unknown): void {
    if (this.#over) return;
    this.gone();
    this.#services.counters.errors++;
    this.#call.fail(statusOf(caught));
  }
}

function checkStreamDeadline(seconds: number): void {
  const { ackDeadlineSecondsMin, ackDeadlineSecondsMax } = GCP_LIMITS;
  if (seconds < ackDeadlineSecondsMin || seconds > ackDeadlineSecondsMax) {
    throw badAckDeadline(seconds, ackDeadlineSecondsMin);
  }
}
