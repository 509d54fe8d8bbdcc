import type { ChannelName } from '../channel-name.js';
import type { ConsumerState } from './consumer-rotation.js';
import type { Waiter } from './waits.js';
import { SlotList } from './slot-list.js';
import type { QueueSettings } from './types.js';

/** What the dedup window remembers of an accepted message. */
export interface DedupEntry {
  readonly at: number;
  readonly id: string;
  readonly channel: ChannelName;
  readonly sequence: number;
  readonly enqueuedAt: number;
  readonly expiresAt: number;
  readonly delayedTo: number;
}

/** A sub-channel is loud with so many messages out, when that is more than one in so many of all. */
const LOUD_OUT_MIN = 30;
const LOUD_PART = 10;

/** Where leases of a family's members are found: sequence (unique in the family) to slot. */
export type InFlight = Map<number, number>;

/** One channel's messages: a queue, or a sub-channel of one. Kept lean, there may be hundreds of thousands. */
export class Queue {
  readonly id: number;
  readonly name: ChannelName;
  readonly family: Family;
  /** Ready messages of priority 0: most have no other. */
  readonly #lowest = new SlotList();
  /** Those above, index = priority - 1. */
  #above: SlotList[] | undefined;
  ready = 0;
  inFlight = 0;
  /** On their way in: appended, not yet committed. */
  arriving = 0;
  /** Taken from a list and not yet in their next place. */
  picked = 0;
  delayedCount = 0;
  /** Delayed ones that were handed out before: an ordered sub-channel waits for them. */
  held = 0;
  readyBytes = 0;
  arrivingBytes = 0;
  inRing = false;
  deleted = false;
  ringNext: Queue | undefined;

  constructor(id: number, name: ChannelName, family: Family) {
    this.id = id;
    this.name = name;
    this.family = family;
  }

  /** Ready messages by priority, the lowest first. */
  get lists(): readonly SlotList[] {
    return this.#above === undefined ? [this.#lowest] : [this.#lowest, ...this.#above];
  }

  /** The list of a priority, made when there is none yet. */
  list(priority: number): SlotList {
    if (priority === 0) return this.#lowest;
    const above = (this.#above ??= []);
    while (above.length < priority) above.push(new SlotList());
    return above[priority - 1] as SlotList;
  }

  /** The slot that is next in turn: highest priority, then front of the list; -1 when none is ready. */
  get front(): number {
    const above = this.#above;
    for (let i = (above?.length ?? 0) - 1; i >= 0; i--) {
      const head = above?.[i]?.head ?? -1;
      if (head >= 0) return head;
    }
    return this.#lowest.head;
  }

  get isSubChannel(): boolean {
    return this.family.base !== this;
  }

  /** Nothing in any state: a sub-channel can go. */
  get empty(): boolean {
    return this.ready + this.inFlight + this.arriving + this.picked + this.delayedCount === 0;
  }

  /** A sub-channel whose messages keep their order. */
  get isOrdered(): boolean {
    return this.family.base !== this && this.family.settings.subChannels !== 'fair';
  }

  /** Whether it may hand out now: an ordered sub-channel only when nothing of it is out. */
  get eligible(): boolean {
    if (this.ready === 0) return false;
    return !this.isSubChannel || this.inFlight + this.picked + this.held === 0 || !this.isOrdered;
  }

  /** Holds a large share of what its family has out, so that others come first. What is in no sub-channel never does. */
  get isLoud(): boolean {
    const out = this.inFlight + this.picked;
    return out >= LOUD_OUT_MIN && this.isSubChannel && out * LOUD_PART > this.family.inFlight.size;
  }
}

/** A queue with its sub-channels: what is consumed together. A queue without sub-channels is a family of one. */
export class Family {
  readonly base: Queue;
  settings: QueueSettings;
  /** Next sequence; one counter for all members, so that a token never fits a later incarnation of a sub-channel. */
  nextSequence = 1;
  readonly members = new Set<Queue>();
  readonly inFlight: InFlight = new Map();
  readonly delayed = new SlotList();
  readonly dedup = new Map<string, DedupEntry>();

  // Members that may hand out, served in turn.
  #ringHead: Queue | undefined;
  #ringTail: Queue | undefined;
  /** Members whose turn came while they were loud: they have it when nobody else does. */
  #loud: Set<Queue> | undefined;

  readonly waiters = new Set<Waiter>();
  readonly consumers: ConsumerState[] = [];
  /** Those of them that take nothing before it is durable. */
  lateConsumers = 0;
  /** Who is served of those that want only one of them to be. */
  active: ConsumerState | undefined;
  /** Where the rotation over consumers stands. */
  turn = -1;
  /** Above zero nothing is handed out: its content is about to be replaced. */
  paused = 0;
  /** Ends with the rewind under way. */
  rewinding: Promise<void> | undefined;
  /** Above zero: messages with lower sequences are gone, and only not out of the lists yet. */
  rewoundBelow = 0;
  /** Members that took messages and drop what is too much from the front: once those who wait have had their share. */
  readonly grown = new Set<Queue>();
  /** On the list of families to serve at the end of this turn. */
  dirty = false;

  ready = 0;
  bytes = 0;
  sent = 0;
  delivered = 0;
  acknowledged = 0;
  expired = 0;
  deadLettered = 0;

  constructor(id: number, name: ChannelName, settings: QueueSettings) {
    this.settings = settings;
    this.base = new Queue(id, name, this);
  }

  /** Puts a member that may hand out at the end of the rotation. */
  enroll(member: Queue): void {
    if (member.inRing || !member.eligible) return;
    member.inRing = true;
    member.ringNext = undefined;
    if (this.#ringTail === undefined) this.#ringHead = member;
    else this.#ringTail.ringNext = member;
    this.#ringTail = member;
  }

  /** Takes the member whose turn it is; undefined when none may hand out. */
  nextMember(): Queue | undefined {
    if (this.#loud !== undefined) this.#hush(this.#loud);
    for (;;) {
      const member = this.#ringHead;
      if (member === undefined) return this.#loud === undefined ? undefined : this.#leastLoud(this.#loud);
      this.#ringHead = member.ringNext;
      if (this.#ringHead === undefined) this.#ringTail = undefined;
      member.ringNext = undefined;
      member.inRing = false;
      if (!member.eligible) continue;
      if (!member.isLoud) return member;
      member.inRing = true;
      (this.#loud ??= new Set()).add(member);
    }
  }

  /** Those that are loud no longer are in turn again. A share over a tenth is had by nine at most, so the rest are few. */
  #hush(loud: Set<Queue>): void {
    for (const member of loud) {
      if (member.eligible && member.isLoud) continue;
      loud.delete(member);
      member.inRing = false;
      this.enroll(member);
    }
    if (loud.size === 0) this.#loud = undefined;
  }

  #leastLoud(loud: Set<Queue>): Queue | undefined {
    let least: Queue | undefined;
    for (const member of loud) {
      if (least === undefined || member.inFlight + member.picked < least.inFlight + least.picked)
        least = member;
    }
    if (least === undefined) return undefined;
    loud.delete(least);
    least.inRing = false;
    return least;
  }
}
