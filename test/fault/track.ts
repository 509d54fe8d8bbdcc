import type { Timeline } from './timeline.js';

interface Fate {
  readonly startedAt: number;
  /** Must be there after a restart: it was confirmed, and nobody began to acknowledge it. */
  required: boolean;
  /** Somebody began to acknowledge it: it may be gone, and may come back. */
  acking: boolean;
  /** When the broker had certainly taken an acknowledgement in time: it does not come again in this life. */
  takenAt: number | undefined;
  /** Who got it in this life of the broker has it alone until then. Unix ms; undefined: nobody got it. */
  heldUntil: number | undefined;
  /** Came already since the last restart while everything is being drained. */
  drained: boolean;
}

/** What a receiver may count on: a message is nobody else's for so long. */
export interface Hold {
  /** The message was not handed out before this. Unix ms, of the clock that the broker goes by. */
  readonly since: number;
  /** Infinity: until the connection ends. */
  readonly leaseMs: number;
}

export interface TrackOptions {
  readonly name: string;
  readonly timeline: Timeline;
  /** Unix ms. */
  readonly now?: () => number;
}

/** A broken promise. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/**
 * What was promised about the messages of one queue, and whether it is kept. Numbers identify messages.
 *
 * A message that was received comes a second time only after a kill, or when its lease may have ended: never sooner, whatever
 * stood still. Its acknowledgement counts when the broker had taken it before the lease can have ended: from then on it does not
 * come again in this life, nor in a later one when a send that began afterwards was confirmed. One that was taken later, or may
 * not have been taken at all, decides nothing: such a message, like one whose send was not confirmed, may be there after the next
 * kill or not. Which of the two is decided by the next check that empties the queue: what did not come by then never does.
 */
export class Track {
  readonly name: string;
  readonly #timeline: Timeline;
  readonly #now: () => number;
  readonly #fates = new Map<number, Fate>();
  /** Of those that are settled: how, and after which kill. */
  readonly #settled = new Map<number, string>();
  #killed = 0;
  #next = 0;
  #draining = false;
  #open = 0;
  /** For the summary. */
  confirmedTotal = 0;
  reappeared = 0;
  lapsed = 0;

  constructor({ name, timeline, now = () => Date.now() }: TrackOptions) {
    this.name = name;
    this.#timeline = timeline;
    this.#now = now;
  }

  /** Messages whose fate is not settled. */
  get size(): number {
    return this.#fates.size;
  }

  /** A new message's number; its send begins now. */
  send(): number {
    const sequence = this.#next++;
    this.#fates.set(sequence, {
      startedAt: this.#timeline.now(),
      required: false,
      acking: false,
      takenAt: undefined,
      heldUntil: undefined,
      drained: false,
    });
    return sequence;
  }

  confirm(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) throw new Violation(`${this.name}: ${sequence} was confirmed and never sent`);
    this.#timeline.confirmed(fate.startedAt);
    fate.required = !fate.acking;
    this.confirmedTotal++;
  }

  /** A message came. Throws when it must not. True when it came in this life before, and its lease may have ended since. */
  receive(sequence: number, hold: Hold): boolean {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) {
      const how = this.#settled.get(sequence) ?? 'it was never sent';
      throw new Violation(
        `${this.name}: ${sequence} is gone for good and came back; ${how}, this is after kill ${this.#killed}`,
      );
    }
    if (fate.takenAt !== undefined) {
      throw new Violation(`${this.name}: ${sequence} came again after its acknowledgement was taken`);
    }
    const again = fate.heldUntil !== undefined;
    if (fate.heldUntil !== undefined && this.#now() < fate.heldUntil) {
      throw new Violation(`${this.name}: ${sequence} came twice before its lease can have ended`);
    }
    fate.heldUntil = hold.since + hold.leaseMs;
    if (again) this.lapsed++;
    else if (fate.acking) this.reappeared++;
    if (this.#draining && !fate.drained) {
      fate.drained = true;
      if (fate.required) this.#open--;
    }
    return again;
  }

  /** The broker is being told that the message is done: from now on it may be gone, and may still come back. */
  acking(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) return;
    fate.acking = true;
    fate.required = false;
  }

  /** The broker has read the acknowledgement by now. It counts unless the lease may have ended before. */
  acked(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) return;
    this.acking(sequence);
    if (fate.heldUntil !== undefined && this.#now() < fate.heldUntil) fate.takenAt = this.#timeline.now();
  }

  /** The broker was killed: what is certain now is settled, what is not may go either way. */
  killed(): void {
    this.#draining = false;
    this.#killed++;
    for (const [sequence, fate] of this.#fates) {
      fate.heldUntil = undefined;
      if (fate.required) continue;
      const isSettled = fate.takenAt !== undefined && this.#timeline.proves(fate.takenAt);
      fate.takenAt = undefined;
      if (isSettled) this.#settle(sequence, 'its acknowledgement was taken');
    }
  }

  #settle(sequence: number, why: string): void {
    this.#fates.delete(sequence);
    this.#settled.set(sequence, `${why}, which was settled after kill ${this.#killed}`);
  }

  /** From now on everything is received, until `finishDrain`. */
  beginDrain(): void {
    this.#draining = true;
    this.#open = 0;
    for (const fate of this.#fates.values()) {
      fate.drained = false;
      if (fate.required) this.#open++;
    }
  }

  /** Whether everything that must be there has come. */
  get complete(): boolean {
    return this.#open === 0;
  }

  /**
   * The queue is empty, by the broker's own word. Throws when something that must be there has not come. What else did not come
   * is not in the store that this life began with, so no later life has it either.
   */
  finishDrain(): void {
    const missing = [...this.#fates].filter(([, fate]) => fate.required && !fate.drained).map(([one]) => one);
    if (missing.length > 0) {
      const some = missing.slice(0, 10).join(', ');
      throw new Violation(`${this.name}: ${missing.length} confirmed messages are lost: ${some}`);
    }
    for (const [sequence, { drained }] of this.#fates)
      if (!drained) this.#settle(sequence, 'it did not come when its queue was emptied');
    this.#draining = false;
  }
}

/** Checks that numbers rise within each group: FIFO groups, ordering keys, whole queues. */
export class OrderCheck {
  readonly #name: string;
  readonly #last = new Map<string, number>();

  constructor(name: string) {
    this.#name = name;
  }

  /** `again`: it came before and its lease ended, so that the group goes on from it. */
  receive(group: string, sequence: number, again = false): void {
    const last = this.#last.get(group) ?? -1;
    if (sequence < last && !again) {
      throw new Violation(`${this.#name} ${group}: ${sequence} came after ${last}`);
    }
    this.#last.set(group, sequence);
  }
}
