import type { ChannelName } from '../../../core/channel-name.js';
import type { LeaseToken } from '../../../core/queue/types.js';

/** Who gets the room of a settled or expired delivery back. */
export interface CreditHolder {
  /** One delivery of it is over. */
  released(bytes: number): void;
}

interface Held {
  readonly holder: CreditHolder;
  readonly sequence: number;
  readonly attempt: number;
  readonly bytes: number;
  /** Unix ms. */
  readonly takenAt: number;
  leaseEndsAt: number;
  /** Its lease was extended: the client has seen it. */
  isSeen: boolean;
}

/** A delivery that a stream took. */
export interface TakenDelivery extends LeaseToken {
  readonly bytes: number;
  /** Unix ms. */
  readonly takenAt: number;
  readonly leaseEndsAt: number;
}

/**
 * The deliveries of one subscription that streams hold, so that an acknowledgement that comes as a call of its own gives
 * the room back to the stream the message went out on. Only for flow control: who owns a message is the core's to say.
 */
export class HeldDeliveries {
  /** Of the subscription's own channel, by sequence. */
  readonly #plain = new Map<number, Held>();
  /** Of its ordered sub-channels, each of which has one delivery in flight. */
  readonly #ordered = new Map<ChannelName, Held>();
  /** Those whose clients extend leases. */
  readonly #confirming = new Set<CreditHolder>();
  /** No lease ends before this. Unix ms. */
  #nextExpiry = Infinity;
  readonly #onEarlier: (nextExpiry: number) => void;

  /** `onEarlier` is told when `expire` is wanted earlier than before. */
  constructor(onEarlier: (nextExpiry: number) => void) {
    this.#onEarlier = onEarlier;
  }

  get count(): number {
    return this.#plain.size + this.#ordered.size;
  }

  add(channel: ChannelName, delivery: TakenDelivery, holder: CreditHolder): void {
    const { sequence, attempt, bytes, takenAt, leaseEndsAt } = delivery;
    // The message's former delivery is over, or it would not have come again.
    const former = this.#take(channel, delivery);
    former?.holder.released(former.bytes);
    const held: Held = { holder, sequence, attempt, bytes, takenAt, leaseEndsAt, isSeen: false };
    if (delivery.channel === channel) this.#plain.set(sequence, held);
    else this.#ordered.set(delivery.channel, held);
    this.#expireBy(leaseEndsAt);
  }

  /** These are settled. */
  release(channel: ChannelName, tokens: readonly LeaseToken[]): void {
    for (const token of tokens) {
      const held = this.#find(channel, token);
      if (held?.attempt !== token.attempt || held.sequence !== token.sequence) continue;
      this.#take(channel, token);
      held.holder.released(held.bytes);
    }
  }

  /** All leases are over. */
  releaseAll(): void {
    for (const map of [this.#plain, this.#ordered] as readonly Map<unknown, Held>[]) {
      const all = [...map.values()];
      map.clear();
      for (const { holder, bytes } of all) holder.released(bytes);
    }
  }

  /** The leases of these end at `leaseEndsAt` now. */
  extend(channel: ChannelName, tokens: readonly LeaseToken[], leaseEndsAt: number): void {
    for (const token of tokens) {
      const held = this.#find(channel, token);
      if (held?.attempt !== token.attempt || held.sequence !== token.sequence) continue;
      held.leaseEndsAt = leaseEndsAt;
      held.isSeen = true;
      this.#confirming.add(held.holder);
    }
    if (tokens.length > 0) this.#expireBy(leaseEndsAt);
  }

  /** Gives back the room of leases that ran out. */
  expire(now: number): void {
    if (now < this.#nextExpiry) return;
    this.#nextExpiry = Infinity;
    let next = Infinity;
    for (const map of [this.#plain, this.#ordered]) {
      for (const [key, held] of map as Map<unknown, Held>) {
        if (held.leaseEndsAt > now) {
          next = Math.min(next, held.leaseEndsAt);
          continue;
        }
        (map as Map<unknown, Held>).delete(key);
        held.holder.released(held.bytes);
      }
    }
    this.#expireBy(next);
  }

  #expireBy(at: number): void {
    if (at >= this.#nextExpiry) return;
    this.#nextExpiry = at;
    this.#onEarlier(at);
  }

  /**
   * The holder is gone; its leases live on without it. Gives the deliveries that its client cannot have seen: a client that
   * confirms what it receives, by extending leases, has confirmed all that was taken before `since` (Unix ms), but not these.
   */
  forget(channel: ChannelName, holder: CreditHolder, since: number): readonly LeaseToken[] {
    const unseen: LeaseToken[] = [];
    let confirms = this.#confirming.delete(holder);
    const forgetIn = <Key>(map: Map<Key, Held>, channelOf: (key: Key) => ChannelName): void => {
      for (const [key, held] of map) {
        if (held.holder !== holder) continue;
        map.delete(key);
        if (held.isSeen) continue;
        if (held.takenAt < since) confirms = false;
        unseen.push({ channel: channelOf(key), sequence: held.sequence, attempt: held.attempt });
      }
    };
    forgetIn(this.#plain, () => channel);
    forgetIn(this.#ordered, (key) => key);
    return confirms ? unseen : [];
  }

  #find(channel: ChannelName, token: LeaseToken): Held | undefined {
    return token.channel === channel ? this.#plain.get(token.sequence) : this.#ordered.get(token.channel);
  }

  #take(channel: ChannelName, token: LeaseToken): Held | undefined {
    const held = this.#find(channel, token);
    if (held === undefined) return undefined;
    if (token.channel === channel) this.#plain.delete(token.sequence);
    else this.#ordered.delete(token.channel);
    return held;
  }
}
