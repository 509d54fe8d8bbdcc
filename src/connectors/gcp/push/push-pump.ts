import { setMaxListeners } from 'node:events';
import type { Timer } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import { BrokerError } from '../../../core/errors.js';
import type { Consumer, Delivery, Settlement } from '../../../core/queue/types.js';
import type { OutgoingHttp, PostOutcome } from '../../kit/outgoing/http-client.js';
import { handOver, refusalOf } from '../hand-over.js';
import type { SubscriptionInfo } from '../registry/records.js';
import { subscriptionChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import { PUSH_LIMITS } from './limits.js';
import { pushRequest } from './push-request.js';
import { PushWindow } from './push-window.js';
import type { TokenSigner } from './token-signer.js';

/** Plain counters of all push subscriptions, read at scrape time. */
export interface PushCounters {
  acknowledged: number;
  refused: number;
  failed: number;
}

export interface PushContext {
  readonly services: GcpServices;
  readonly http: OutgoingHttp;
  readonly signer: TokenSigner;
  readonly log: Log;
  readonly counters: PushCounters;
}

/** Statuses that acknowledge (Google's list). */
const ACKNOWLEDGES: ReadonlySet<number> = new Set([102, 200, 201, 202, 204]);

const GIVE_BACK: Settlement = { kind: 'nack', to: 'origin', uncounted: true };
const NACK: Settlement = { kind: 'nack', to: 'origin' };

/**
 * Posts the messages of one push subscription to its endpoint: a consumer of the subscription's channel whose credit is what the
 * window lets begin. A message is acknowledged when the endpoint says so and given back when it does not answer in time, so that
 * nothing is lost with the process.
 */
export class PushPump {
  readonly #context: PushContext;
  readonly #window = new PushWindow();
  readonly #running = new Set<Promise<void>>();
  /** Ends requests that are under way. */
  readonly #abort = new AbortController();
  #info: SubscriptionInfo;
  #consumer: Consumer | undefined;
  /** Granted, and not delivered yet. */
  #credit = 0;
  #bytesUnderWay = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor(context: PushContext, info: SubscriptionInfo) {
    this.#context = context;
    this.#info = info;
    // Every request under way listens.
    setMaxListeners(PUSH_LIMITS.windowMax + 1, this.#abort.signal);
    this.#update();
  }

  /** Requests under way. */
  get underWay(): number {
    return this.#window.underWay;
  }

  /** What the subscription is now; requests from here on are made by it. */
  set info(info: SubscriptionInfo) {
    this.#info = info;
  }

  /** Begins nothing more, and waits for the requests under way. Idempotent. */
  async drain(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#cancelConsumer();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Ends the requests under way; their messages go back uncounted. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.drain();
  }

  /** Gives the consumer the credit that the window has, or takes it away during a pause. */
  #update(): void {
    if (this.#closed) return;
    const now = this.#context.services.clock.now();
    if (now < this.#window.pausedUntil) {
      this.#cancelConsumer();
      this.#wakeAt(this.#window.pausedUntil);
      return;
    }
    const more = this.#window.room(now) - this.#credit;
    if (more <= 0) return;
    if (this.#consumer === undefined) this.#consume(more);
    else {
      this.#credit += more;
      this.#consumer.grant(more);
    }
  }

  #consume(credit: number): void {
    const { services, log } = this.#context;
    try {
      this.#credit = credit;
      this.#consumer = services.broker.consume({
        channel: subscriptionChannel(this.#info.id),
        handOut: { kind: 'lease', leaseMs: this.#timeoutMs() + PUSH_LIMITS.leaseMarginMs },
        credit,
        creditBytes: Math.max(PUSH_LIMITS.bytesMax - this.#bytesUnderWay, 1),
        perSubChannelMax: 1,
        onDeliveries: (deliveries) => {
          for (const delivery of deliveries) this.#begin(delivery);
        },
        // The queue went away: with its subscription, or to come again.
        onCancel: () => {
          this.#forgetConsumer();
          this.#wakeAt(services.clock.now() + PUSH_LIMITS.recoveryMs);
        },
      });
    } catch (caught) {
      this.#forgetConsumer();
      const { kind, message } = BrokerError.from(caught);
      if (kind === 'draining') return;
      log.warn('a push subscription cannot begin; it is tried again', {
        subscription: this.#info.id,
        message,
      });
      this.#wakeAt(services.clock.now() + PUSH_LIMITS.recoveryMs);
    }
  }

  #cancelConsumer(): void {
    const consumer = this.#consumer;
    this.#forgetConsumer();
    consumer?.cancel();
  }

  #forgetConsumer(): void {
    this.#consumer = undefined;
    this.#credit = 0;
  }

  #wakeAt(time: number): void {
    this.#timer?.cancel();
    if (this.#closed) return;
    const { clock } = this.#context.services;
    this.#timer = clock.after(time - clock.now(), () => this.#update());
  }

  #begin(delivery: Delivery): void {
    const era = this.#window.begin();
    const bytes = delivery.message.body.length;
    this.#credit--;
    this.#bytesUnderWay += bytes;
    const running = this.#deliver(delivery, era)
      .catch((caught: unknown) => this.#failedHere(delivery, caught))
      .finally(() => {
        this.#running.delete(running);
        this.#bytesUnderWay -= bytes;
        this.#consumer?.grant(0, bytes);
        this.#update();
      });
    this.#running.add(running);
  }

  async #deliver(delivery: Delivery, era: number): Promise<void> {
    const { services, counters } = this.#context;
    const info = this.#info;
    const handed = await handOver(services, info, delivery);
    if (handed === 'drop' || handed === 'refuse') {
      // Its transform decided: that tells nothing of the endpoint.
      this.#window.abandoned();
      await this.#settle(delivery, handed === 'drop' ? { kind: 'ack' } : refusalOf(info, delivery));
      return;
    }
    let outcome: PostOutcome;
    try {
      outcome = await this.#post(info, delivery, handed);
    } catch (caught) {
      this.#window.abandoned();
      throw caught;
    }
    if (outcome.kind === 'aborted') {
      this.#window.abandoned();
      await this.#settle(delivery, GIVE_BACK);
    } else if (outcome.kind === 'answered' && ACKNOWLEDGES.has(outcome.status)) {
      this.#recovered();
      this.#window.succeeded();
      counters.acknowledged++;
      services.counters.acknowledged++;
      await this.#settle(delivery, { kind: 'ack' });
    } else {
      if (outcome.kind === 'answered') counters.refused++;
      else counters.failed++;
      this.#warn(outcome);
      this.#window.failed(era, services.clock.now());
      // The pause begins before the message is back.
      this.#update();
      await this.#settle(delivery, NACK);
    }
  }

  async #post(
    info: SubscriptionInfo,
    delivery: Delivery,
    message: { readonly data: Uint8Array; readonly fields: Uint8Array },
  ): Promise<PostOutcome> {
    const { http, signer, services } = this.#context;
    const { pushConfig, name, deadLetterPolicy } = info.resource;
    // Switched to pull meanwhile: whoever pulls gets it.
    if (pushConfig === undefined || pushConfig.pushEndpoint === '') return { kind: 'aborted' };
    const { authenticationMethod: method, wrapper, pushEndpoint } = pushConfig;
    let token = '';
    if (method.case === 'oidcToken') {
      const { serviceAccountEmail, audience } = method.value;
      token = await signer.token(serviceAccountEmail, audience === '' ? pushEndpoint : audience);
    }
    const request = pushRequest({
      subscription: name,
      message,
      deliveryAttempt: deadLetterPolicy === undefined ? 0 : delivery.receiveCount,
      unwrapped: wrapper.case === 'noWrapper' ? wrapper.value : undefined,
      token,
    });
    services.counters.delivered++;
    return http.post({
      url: new URL(pushEndpoint),
      ...request,
      timeoutMs: this.#timeoutMs(),
      signal: this.#abort.signal,
      processingAnswers: true,
    });
  }

  /** Something on this side failed: the message is tried again later, uncounted. */
  async #failedHere(delivery: Delivery, caught: unknown): Promise<void> {
    const { kind, message } = BrokerError.from(caught);
    if (kind === 'draining') return;
    this.#context.log.error('a push failed on this side; it is tried again', {
      subscription: this.#info.id,
      message,
    });
    const later: Settlement = {
      kind: 'nack',
      to: 'origin',
      uncounted: true,
      delayMs: PUSH_LIMITS.recoveryMs,
    };
    // When that fails too, the lease runs out.
    await this.#settle(delivery, later).catch(() => undefined);
  }

  async #settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    await this.#context.services.broker.settle({ tokens: [delivery], settlement });
  }

  /** What an endpoint gets to answer: the ack deadline. */
  #timeoutMs(): number {
    return this.#info.resource.ackDeadlineSeconds * 1000;
  }

  /** One line when an endpoint begins to fail and one when it is well again, however many messages that takes. */
  #warn(outcome: PostOutcome): void {
    if (this.#window.failures > 0) return;
    this.#context.log.warn('a push endpoint fails; its messages are kept and tried again', {
      subscription: this.#info.id,
      reason: outcome.kind === 'answered' ? `status ${outcome.status}` : reasonOf(outcome),
    });
  }

  #recovered(): void {
    if (this.#window.failures === 0) return;
    this.#context.log.info('a push endpoint answers again', { subscription: this.#info.id });
  }
}

function reasonOf(outcome: PostOutcome): string {
  return outcome.kind === 'failed' ? outcome.reason : outcome.kind;
}
