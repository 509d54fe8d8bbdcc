import type { Subscriber } from './subscriber.js';
import type { LiveKind, LiveMessage } from './types.js';

/** Who gets the messages of one pattern and group: subscribers here, and how many there are at each other node. */
export class Interest<T extends LiveMessage> {
  readonly kind: LiveKind;
  readonly pattern: string;
  readonly group: string;
  /** Replaced, not changed, when one goes: a message may be on its way through the list. */
  locals: readonly Subscriber<T>[] = [];
  readonly peers = new Map<string, number>();
  #peerMembers = 0;
  #turn = 0;

  constructor(kind: LiveKind, pattern: string, group: string) {
    this.kind = kind;
    this.pattern = pattern;
    this.group = group;
  }

  get isEmpty(): boolean {
    return this.locals.length === 0 && this.peers.size === 0;
  }

  setPeer(member: string, count: number): void {
    this.#peerMembers += count - (this.peers.get(member) ?? 0);
    if (count === 0) this.peers.delete(member);
    else this.peers.set(member, count);
  }

  /** The member of the group whose turn it is, here or at another node. One here that has no room is passed over. */
  pick(): Subscriber<T> | string | undefined {
    const here = this.locals.length;
    const all = here + this.#peerMembers;
    if (all === 0) return undefined;
    const turn = this.#turn++ % all;
    return turn < here ? this.pickLocal(turn) : this.#peerAt(turn - here);
  }

  /** The same among those that are here. */
  pickLocal(from = this.#turn++): Subscriber<T> | undefined {
    const { locals } = this;
    const first = locals[from % locals.length];
    if (first === undefined || first.isFree) return first;
    let best = first;
    for (let step = 1; step < locals.length; step++) {
      const next = locals[(from + step) % locals.length];
      if (next === undefined) continue;
      if (next.isFree) return next;
      if (next.backlog < best.backlog) best = next;
    }
    return best;
  }

  #peerAt(place: number): string | undefined {
    let left = place;
    for (const [member, count] of this.peers) {
      if (left < count) return member;
      left -= count;
    }
    return undefined;
  }
}
