import type { Delivery, LeaseToken } from '../../../core/queue/types.js';

/** How long the answer of a receive can be had again. */
const REPLAY_MS = 5 * 60 * 1000;
/** Answers kept, and their bodies; the oldest go first. */
const ATTEMPTS_MAX = 10_000;
const BYTES_MAX = 64 * 1024 * 1024;
/** What a message takes beside its body. */
const MESSAGE_BYTES = 1_024;

/** What a receive gave. */
export interface Received {
  readonly deliveries: readonly Delivery[];
  /** How long they were hidden. */
  readonly leaseMs: number;
}

interface Attempt {
  readonly until: number;
  readonly bytes: number;
  /** Undefined: one of its messages was deleted or changed, the receive cannot be repeated. */
  received: Received | undefined;
}

/**
 * Answers of FIFO receives by their ReceiveRequestAttemptId, so that a client that lost one gets it again. In memory, like
 * the leases they speak of are of this process's clients.
 */
export class ReceiveAttempts {
  /** In the order they were made, so in the order they end. */
  readonly #attempts = new Map<string, Attempt>();
  readonly #keyOfMessage = new Map<string, string>();
  #bytes = 0;

  get size(): number {
    return this.#attempts.size;
  }

  /** The answer of an earlier receive with this id; `spent`: it cannot be repeated; undefined: there was none. */
  recall(queue: string, id: string, now: number): Received | 'spent' | undefined {
    this.#forgetOld(now);
    const attempt = this.#attempts.get(keyOf(queue, id));
    return attempt === undefined ? undefined : (attempt.received ?? 'spent');
  }

  remember(queue: string, id: string, received: Received, now: number): void {
    const key = keyOf(queue, id);
    this.#forget(key);
    let bytes = 0;
    for (const delivery of received.deliveries) {
      bytes += delivery.message.body.byteLength + MESSAGE_BYTES;
      this.#keyOfMessage.set(messageKey(delivery), key);
    }
    this.#bytes += bytes;
    this.#attempts.set(key, { until: now + REPLAY_MS, bytes, received });
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= ATTEMPTS_MAX && this.#bytes <= BYTES_MAX) break;
      this.#forget(oldest);
    }
  }

  /** Says that these messages were deleted or changed. */
  spend(tokens: readonly LeaseToken[]): void {
    if (this.#keyOfMessage.size === 0) return;
    for (const token of tokens) {
      const key = this.#keyOfMessage.get(messageKey(token));
      const attempt = key === undefined ? undefined : this.#attempts.get(key);
      if (attempt === undefined) continue;
      this.#release(attempt);
      attempt.received = undefined;
    }
  }

  #forgetOld(now: number): void {
    for (const [key, { until }] of this.#attempts) {
      if (until > now) break;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    const attempt = this.#attempts.get(key);
    if (attempt === undefined) return;
    this.#release(attempt);
    this.#attempts.delete(key);
  }

  #release({ received, bytes }: Attempt): void {
    if (received === undefined) return;
    for (const delivery of received.deliveries) this.#keyOfMessage.delete(messageKey(delivery));
    this.#bytes -= bytes;
  }
}

/** Neither holds a space. */
function keyOf(queue: string, id: string): string {
  return `${queue} ${id}`;
}

function messageKey({ channel, sequence, attempt }: LeaseToken): string {
  return `${channel} ${sequence} ${attempt}`;
}
