import type { Clock } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { Log } from '../../../base/log.js';
import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import type { OutgoingMessage } from '../../../core/message.js';
import type { Consumer, Delivery, Settlement } from '../../../core/queue/types.js';
import type { OutgoingHttp, PostOutcome } from '../../kit/outgoing/http-client.js';
import { retryDelay } from '../sns/delivery-policy.js';
import type { DeliveryPolicy } from '../sns/delivery-policy.js';
import type { Slots } from './slots.js';

/** Posts of one lane under way at once. */
const LANE_POSTS_MAX = 16;
/** What AWS gives an endpoint to answer. */
const ANSWER_MS = 15_000;
/** Pause before a message is tried again that should have become a dead letter and could not. */
const DEAD_LETTER_RETRY_MS = 20_000;
/** Pause before a lane whose queue went away, or that the broker refused something, goes on. */
const RECOVERY_MS = 1_000;
/** Waits grow by up to this share, so that endpoints that failed together are not tried together. */
const JITTER_SHARE = 0.1;

/** Plain counters of all lanes, read at scrape time. */
export interface WebhookCounters {
  posts: number;
  retries: number;
  deadLettered: number;
  /** Given up without a dead-letter queue. */
  dropped: number;
}

/** What all lanes share. */
export interface LaneContext {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly http: OutgoingHttp;
  /** Bound of posts under way in all lanes together. */
  readonly slots: Slots;
  readonly counters: WebhookCounters;
}

/** One POST to make. */
export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Whose deliveries a lane makes. */
export interface LaneOwner {
  /** For log lines. */
  readonly name: string;
  readonly channel: ChannelName;
  /** Makes the lane's queue if it is not there. */
  prepare(): Promise<void>;
  policy(delivery: Delivery): DeliveryPolicy;
  /** The POST for a stored message; undefined when there is nothing to post any more. */
  post(delivery: Delivery): Post | undefined;
  /** Where a message goes that is given up; undefined: nowhere. */
  deadLetter(delivery: Delivery): OutgoingMessage | undefined;
}

/** Posts what stands in one durable queue: every message stays there until it was taken, given up or dead-lettered. */
export class Lane {
  readonly #context: LaneContext;
  readonly #owner: LaneOwner;
  readonly #running = new Set<Promise<void>>();
  /** Fires when nothing new is to begin. */
  readonly #closing = new AbortController();
  /** Fires when what runs is to end at once. */
  readonly #stopping = new AbortController();
  readonly #ready: Promise<void>;
  #consumer: Consumer | undefined;
  /** Unix ms before which a throttled endpoint gets nothing. */
  #nextPostAt = 0;

  constructor(context: LaneContext, owner: LaneOwner) {
    this.#context = context;
    this.#owner = owner;
    this.#ready = this.#open();
  }

  /** Begins nothing more and waits for the posts under way. */
  async drain(): Promise<void> {
    this.#closing.abort();
    this.#consumer?.cancel();
    await this.#ready;
    this.#consumer?.cancel();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Ends posts under way; their messages go back uncounted. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.drain();
  }

  #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Consumes the queue, trying until that works. Never rejects. */
  async #open(): Promise<void> {
    const { broker, log } = this.#context;
    while (!this.#isClosing()) {
      try {
        await this.#owner.prepare();
        if (this.#isClosing()) return;
        this.#consumer = broker.consume({
          channel: this.#owner.channel,
          handOut: { kind: 'lease', leaseMs: 0 },
          credit: LANE_POSTS_MAX,
          onDeliveries: (deliveries) => {
            for (const delivery of deliveries) this.#begin(delivery);
          },
          onCancel: () => {
            this.#consumer = undefined;
            this.#track(this.#reopen());
          },
        });
        return;
      } catch (error) {
        const { kind, message } = BrokerError.from(error);
        if (kind === 'draining') return;
        log.warn('deliveries cannot begin; it is tried again', { lane: this.#owner.name, message });
        await this.#pause(RECOVERY_MS);
      }
    }
  }

  /** Somebody deleted the queue under a subscription that is there. */
  async #reopen(): Promise<void> {
    await this.#pause(RECOVERY_MS);
    await this.#open();
  }

  #begin(delivery: Delivery): void {
    this.#track(
      this.#deliver(delivery)
        .catch(async (error: unknown) => {
          const { kind, message } = BrokerError.from(error);
          if (kind === 'draining') return;
          this.#context.log.error('a delivery failed on this side; it is tried again', {
            lane: this.#owner.name,
            message,
          });
          await this.#settle(delivery, nack(RECOVERY_MS, true));
        })
        .finally(() => this.#consumer?.grant(1)),
    );
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.#context.log.error('a delivery lane failed', { lane: this.#owner.name, error });
      })
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { slots, http, counters, clock } = this.#context;
    const policy = this.#owner.policy(delivery);
    const signal = this.#stopping.signal;
    const waitMs = this.#throttle(policy, clock.now());
    if (waitMs > 0) await this.#pause(waitMs);
    if (this.#isClosing() || !(await slots.take(this.#closing.signal))) {
      await this.#settle(delivery, nack(0, true));
      return;
    }
    let outcome: PostOutcome;
    try {
      const post = this.#owner.post(delivery);
      if (post === undefined) {
        await this.#settle(delivery, { kind: 'ack' });
        return;
      }
      counters.posts++;
      outcome = await http.post({ ...post, timeoutMs: ANSWER_MS, signal });
    } finally {
      slots.release();
    }
    await this.#conclude(delivery, policy, outcome);
  }

  async #conclude(delivery: Delivery, policy: DeliveryPolicy, outcome: PostOutcome): Promise<void> {
    if (outcome.kind === 'aborted') {
      await this.#settle(delivery, nack(0, true));
      return;
    }
    if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) {
      await this.#settle(delivery, { kind: 'ack' });
      return;
    }
    const seconds = isTemporary(outcome) ? retryDelay(policy.retry, delivery.receiveCount) : undefined;
    if (seconds === undefined) {
      await this.#giveUp(delivery, outcome);
      return;
    }
    this.#context.counters.retries++;
    await this.#settle(delivery, nack(this.#withJitter(seconds * 1_000), false));
  }

  async #giveUp(delivery: Delivery, outcome: PostOutcome): Promise<void> {
    const { log, counters } = this.#context;
    const letter = this.#owner.deadLetter(delivery);
    log.warn('a delivery was given up', {
      lane: this.#owner.name,
      attempts: delivery.receiveCount,
      reason: outcome.kind === 'answered' ? `status ${outcome.status}` : reasonOf(outcome),
      deadLettered: letter !== undefined,
    });
    if (letter === undefined) {
      counters.dropped++;
      await this.#settle(delivery, { kind: 'ack' });
      return;
    }
    if (await this.#store(letter, delivery)) counters.deadLettered++;
    else await this.#settle(delivery, nack(DEAD_LETTER_RETRY_MS, true));
  }

  /** Stores a dead letter and takes its delivery away, in one step; false when the broker takes nothing now. */
  async #store(letter: OutgoingMessage, delivery: Delivery): Promise<boolean> {
    const { broker, log } = this.#context;
    try {
      const [sent] = await broker.send([letter], { acks: [delivery], allOrNothing: true });
      if (sent?.ok === false) throw sent.error;
      return true;
    } catch (error) {
      log.warn('a dead letter cannot be stored; its delivery is tried again', {
        lane: this.#owner.name,
        message: BrokerError.from(error).message,
      });
      return false;
    }
  }

  async #settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    await this.#context.broker.settle({ tokens: [delivery], settlement });
  }

  /** How long this POST has to wait for its turn. */
  #throttle({ perSecondMax }: DeliveryPolicy, now: number): number {
    if (perSecondMax === undefined) return 0;
    const at = Math.max(now, this.#nextPostAt);
    this.#nextPostAt = at + 1_000 / perSecondMax;
    return at - now;
  }

  #withJitter(delayMs: number): number {
    const [random = 0] = this.#context.ids.bytes(1);
    return Math.round(delayMs * (1 + (JITTER_SHARE * random) / 256));
  }

  /** Waits, or less when the lane closes. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.#context.clock.after(ms, end);
      signal.addEventListener('abort', end);
    });
  }
}

function nack(delayMs: number, uncounted: boolean): Settlement {
  return { kind: 'nack', to: 'origin', delayMs, uncounted };
}

/** AWS tries again after 5xx, 429 and when nobody answers, and after no other status. */
function isTemporary(outcome: PostOutcome): boolean {
  if (outcome.kind === 'answered') return outcome.status >= 500 || outcome.status === 429;
  return outcome.kind === 'failed' && outcome.allowed;
}

function reasonOf(outcome: PostOutcome): string {
  return outcome.kind === 'failed' ? outcome.reason : outcome.kind;
}
