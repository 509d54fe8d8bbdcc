import type { LeaseToken } from '../../../core/queue/types.js';
import type { Queue } from '../topology/types.js';
import { ReplyError } from '../wire/reply.js';
import type { Consumer } from './consumer.js';

/** A delivery that waits for its acknowledgement: the lease token, and whose prefetch it counts against. */
export interface Unacked extends LeaseToken {
  readonly queue: Queue;
  /** Undefined for messages taken with basic.get. */
  readonly consumer: Consumer | undefined;
  /** It went back because its time was over: its acknowledgement may still come and changes nothing. */
  readonly late?: true;
}

/** Whether it came from a stream: then an acknowledgement is credit for the consumer and nothing else. */
export function isStreamDelivery(unacked: Unacked): boolean {
  return unacked.queue.type === 'stream';
}

/** Unacknowledged deliveries of one channel, by delivery tag and in its order. */
export class UnackedDeliveries {
  #byTag = new Map<number, Unacked>();

  get size(): number {
    return this.#byTag.size;
  }

  add(tag: number, unacked: Unacked): void {
    this.#byTag.set(tag, unacked);
  }

  find(tag: number): Unacked | undefined {
    return this.#byTag.get(tag);
  }

  /** Puts another in the place of one that is outstanding. */
  replace(tag: number, unacked: Unacked): void {
    this.#byTag.set(tag, unacked);
  }

  /** Those of one consumer, with their tags. */
  of(consumer: Consumer): readonly (readonly [number, Unacked])[] {
    return [...this.#byTag].filter(([, unacked]) => unacked.consumer === consumer);
  }

  /** Takes one out; 406 when it is not outstanding. */
  take(tag: number): Unacked {
    const unacked = this.#byTag.get(tag);
    if (unacked === undefined) throw unknownTag(tag);
    this.#byTag.delete(tag);
    return unacked;
  }

  /** The tags up to `tag`, or all there are for 0; 406 when `tag` itself is not outstanding. */
  *upTo(tag: number): Generator<number> {
    if (tag !== 0 && !this.#byTag.has(tag)) throw unknownTag(tag);
    for (const outstanding of this.#byTag.keys()) {
      if (tag !== 0 && outstanding > tag) return;
      yield outstanding;
    }
  }

  /** Puts back what was taken, to its place in the order. */
  restore(taken: readonly (readonly [number, Unacked])[]): void {
    if (taken.length === 0) return;
    this.#byTag = new Map([...this.#byTag, ...taken].sort(([a], [b]) => a - b));
  }
}

function unknownTag(tag: number): ReplyError {
  return new ReplyError(406, `unknown delivery tag ${tag}`);
}
