import type { Timer } from '../../../base/clock.js';
import type { BrokerError } from '../../../core/errors.js';
import type { Consumer, Delivery } from '../../../core/queue/types.js';
import type { BidiCall } from '../../kit/grpc-call.js';
import { GCP_LIMITS } from '../config.js';
import { resourceNotFound, statusOf, STREAM_CLOSED } from '../errors.js';
import type { HandedMessage } from '../extensions.js';
import { hasTransforms } from '../hand-over.js';
import type { GcpServices } from '../services.js';
import type { StreamingPullRequestView } from '../wire/streaming-pull.js';
import type { CreditHolder } from './held-deliveries.js';
import { encodeDeliveries, transformed } from './received.js';
import type { LiveSubscription, SubscriptionStream } from './subscriptions.js';

export type StreamingPullCall = BidiCall<StreamingPullRequestView, Buffer>;

export interface PullStreamOptions {
  readonly services: GcpServices;
  readonly subscription: LiveSubscription;
  readonly call: StreamingPullCall;
  readonly first: StreamingPullRequestView;
}

/**
 * The sending side of one StreamingPull: a consumer of the subscription's channel with credit in messages and bytes. Room
 * for messages comes back as they are settled or expire; room for bytes also depends on how fast the peer reads.
 */
export class PullStream implements CreditHolder, SubscriptionStream {
  readonly #services: GcpServices;
  readonly #subscription: LiveSubscription;
  readonly #call: StreamingPullCall;
  readonly #messagesMax: number;
  readonly #bytesMax: number;
  readonly #closeTimer: Timer;
  #leaseMs: number;
  #consumer: Consumer | undefined;
  /** Delivered and not settled. */
  #messages = 0;
  #bytes = 0;
  /** Credit the consumer has left. Below zero after a message larger than the credit. */
  #creditMessages = 0;
  #creditBytes = 0;
  /** Written and not yet taken by the transport. */
  #pendingBytes = 0;
  /** Deliveries on their way through the subscription's transforms. */
  #transforming: Promise<void> | undefined;
  #topUpQueued = false;
  #ended = false;

  constructor(options: PullStreamOptions) {
    const { services, subscription, first } = options;
    this.#services = services;
    this.#subscription = subscription;
    this.#call = options.call;
    this.#leaseMs = first.streamAckDeadlineSeconds * 1000;
    this.#messagesMax = bound(first.maxOutstandingMessages, services.config.maxOutstandingMessages);
    this.#bytesMax = bound(first.maxOutstandingBytes, GCP_LIMITS.streamOutstandingBytes);
    this.#closeTimer = services.clock.after(services.config.streamCloseSeconds * 1000, () =>
      this.end(undefined),
    );
  }

  /** Joins the subscription, says its properties and begins to hand out. Throws what `consume` throws. */
  start(): void {
    this.#subscription.streams.add(this);
    this.sayProperties();
    this.#consume();
  }

  /** Tells what became of ack ids that came on the stream. */
  confirm(fields: Uint8Array): void {
    this.#write(Buffer.concat([fields, this.#subscription.properties()]));
  }

  /** A response without messages: tells the subscription's properties and that the stream is alive. */
  sayProperties(): void {
    this.#write(Buffer.from(this.#subscription.properties()));
  }

  /** Leases of messages that follow last this long. */
  setAckDeadline(seconds: number): void {
    if (seconds * 1000 === this.#leaseMs) return;
    this.#leaseMs = seconds * 1000;
    this.#consumer?.cancel();
    this.#consume();
  }

  released(bytes: number): void {
    this.#messages--;
    this.#bytes -= bytes;
    this.topUp();
  }

  /** Asks for more soon: once for all that is released in this turn. */
  topUp(): void {
    if (this.#topUpQueued || this.#ended) return;
    this.#topUpQueued = true;
    queueMicrotask(() => {
      this.#topUpQueued = false;
      if (this.#ended) return;
      const { messages, bytes } = this.#room();
      if (messages > 0 || bytes > 0) this.#grant(Math.max(messages, 0), Math.max(bytes, 0));
    });
  }

  /** Ends the stream towards the client; without a reason as a server does whose streams grow old. Idempotent. */
  end(reason: BrokerError | undefined): void {
    if (this.#ended) return;
    this.release();
    this.#call.fail(statusOf(reason ?? STREAM_CLOSED));
  }

  /** Leaves the subscription; leases run on, but for what the client cannot have seen: that is soon back. Idempotent. */
  release(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#closeTimer.cancel();
    this.#subscription.used(this.#services.clock.now());
    this.#consumer?.cancel();
    const tokens = this.#subscription.leave(this);
    if (tokens.length === 0) return;
    const settlement = { kind: 'extend', leaseMs: GCP_LIMITS.unseenLeaseMs } as const;
    this.#services.broker.settle({ tokens, settlement }).catch((caught: unknown) => {
      // They end with the lease they had.
      this.#services.log.debug('leases of an ended stream were not shortened', { error: String(caught) });
    });
  }

  #consume(): void {
    this.#creditMessages = 0;
    this.#creditBytes = 0;
    const { messages, bytes } = this.#room();
    this.#creditMessages = Math.max(messages, 0);
    this.#creditBytes = Math.max(bytes, 0);
    this.#consumer = this.#services.broker.consume({
      channel: this.#subscription.name,
      handOut: { kind: 'lease', leaseMs: this.#leaseMs },
      credit: this.#creditMessages,
      creditBytes: this.#creditBytes,
      perSubChannelMax: 1,
      onDeliveries: (deliveries) => this.#deliver(deliveries),
      onCancel: (reason) =>
        this.end(reason.kind === 'not-found' ? resourceNotFound(this.#subscription.id) : reason),
    });
  }

  /** Credit to add. Body bytes go out in windows, so that a peer that does not read holds little of our memory. */
  #room(): { readonly messages: number; readonly bytes: number } {
    const window = GCP_LIMITS.streamWindowBytes - this.#pendingBytes;
    const bytes = Math.min(this.#bytesMax - this.#bytes, window) - this.#creditBytes;
    const messagesMax = Math.min(this.#messagesMax, this.#subscription.streamShare());
    const wanted = messagesMax - this.#messages - this.#creditMessages;
    if (wanted <= 0) return { messages: 0, bytes };
    const headroom = this.#subscription.headroom();
    const free = headroom - Math.max(this.#creditMessages, 0);
    if (free < wanted) this.#subscription.runsShort(this, headroom);
    return { messages: Math.min(wanted, free), bytes };
  }

  #grant(messages: number, bytes: number): void {
    this.#creditMessages += messages;
    this.#creditBytes += bytes;
    this.#consumer?.grant(messages, bytes);
  }

  #deliver(deliveries: readonly Delivery[]): void {
    const subscription = this.#subscription;
    const channel = subscription.channel();
    const now = this.#services.clock.now();
    let bodies = 0;
    for (const delivery of deliveries) {
      const bytes = delivery.message.body.length;
      bodies += bytes;
      subscription.held.add(
        channel,
        {
          channel: delivery.channel,
          sequence: delivery.sequence,
          attempt: delivery.attempt,
          bytes,
          takenAt: now,
          leaseEndsAt: delivery.leaseEndsAt ?? 0,
        },
        this,
      );
    }
    this.#messages += deliveries.length;
    this.#bytes += bodies;
    this.#creditMessages -= deliveries.length;
    this.#creditBytes -= bodies;
    // What is being transformed goes out before what comes after it.
    if (this.#transforming === undefined && !hasTransforms(subscription.info)) this.#send({ deliveries });
    else this.#sendTransformed(deliveries);
    if (this.#creditBytes < GCP_LIMITS.streamWindowBytes / 2) this.topUp();
  }

  #send(handed: { deliveries: readonly Delivery[]; messages?: readonly HandedMessage[] }): void {
    if (handed.deliveries.length === 0) return;
    const subscription = this.#subscription;
    this.#services.counters.delivered += handed.deliveries.length;
    for (const response of encodeDeliveries(subscription, handed, subscription.properties())) {
      this.#write(response);
    }
  }

  #sendTransformed(deliveries: readonly Delivery[]): void {
    const before = this.#transforming ?? Promise.resolve();
    const done: Promise<void> = before
      .then(() => transformed(this.#services, this.#subscription, deliveries))
      .then((handed) => this.#send(handed))
      .catch((caught: unknown) => {
        // Their leases end by themselves.
        this.#services.log.error('messages could not be transformed', { error: String(caught) });
      })
      .finally(() => {
        if (this.#transforming === done) this.#transforming = undefined;
      });
    this.#transforming = done;
  }

  #write(response: Buffer): void {
    if (this.#ended) return;
    this.#pendingBytes += response.length;
    this.#call.write(response, () => {
      this.#pendingBytes -= response.length;
      if (this.#creditBytes < GCP_LIMITS.streamWindowBytes / 2) this.topUp();
    });
  }
}

/** A client's bound within the server's; zero and below mean that the client has none. */
function bound(asked: number, max: number): number {
  return asked > 0 ? Math.min(asked, max) : max;
}
