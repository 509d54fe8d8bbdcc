import type { Timeline } from './timeline.js';

interface Fate {
  readonly startedAt: number;
  /** Must be there after a restart, unless acknowledged. */
  required: boolean;
  ackedAt: number | undefined;
  /** Came already since the last restart while everything is being drained. */
  drained: boolean;
  /** Kills survived without being required or acknowledged. */
  kills: number;
}

export interface TrackOptions {
  readonly name: string;
  readonly timeline: Timeline;
  /** Acknowledgements without an answer count as taken by the broker this long after they were written. */
  readonly ackGraceMs?: number;
}

/** A message that nobody confirmed may show up for this many kills (leases keep it back for a while), not later. */
const UNDECIDED_KILLS_MAX = 8;

/** A broken promise. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** What was promised about the messages of one queue, and whether it is kept. Numbers identify messages. */
export class Track {
  readonly name: string;
  readonly #timeline: Timeline;
  readonly #ackGraceMs: number;
  readonly #fates = new Map<number, Fate>();
  #next = 0;
  #draining = false;
  #open = 0;
  /** For the summary. */
  confirmedTotal = 0;
  reappeared = 0;

  constructor({ name, timeline, ackGraceMs = 0 }: TrackOptions) {
    this.name = name;
    this.#timeline = timeline;
    this.#ackGraceMs = ackGraceMs;
  }

  /** A new message's number; its send begins now. */
  send(): number {
    const sequence = this.#next++;
    const startedAt = this.#timeline.now();
    this.#fates.set(sequence, { startedAt, required: false, ackedAt: undefined, drained: false, kills: 0 });
    return sequence;
  }

  confirm(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) throw new Violation(`${this.name}: ${sequence} was confirmed and never sent`);
    this.#timeline.confirmed(fate.startedAt);
    fate.required = fate.ackedAt === undefined;
    this.confirmedTotal++;
  }

  /** A message came. Throws when it must not. */
  receive(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) throw new Violation(`${this.name}: ${sequence} is gone for good and came back`);
    if (fate.ackedAt !== undefined) {
      if (this.#timeline.proves(fate.ackedAt, this.#ackGraceMs)) {
        throw new Violation(`${this.name}: ${sequence} was acknowledged for good and came back`);
      }
      this.reappeared++;
    }
    if (!this.#draining) return;
    if (fate.drained) throw new Violation(`${this.name}: ${sequence} came twice`);
    fate.drained = true;
    if (fate.required) this.#open--;
  }

  /** The broker is being told that the message is done: from now on it may be gone, and may still come back. */
  acking(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) return;
    fate.ackedAt = Number.POSITIVE_INFINITY;
    fate.required = false;
  }

  /** The broker has certainly taken the acknowledgement: the next send that is confirmed proves it to be on disk. */
  ack(sequence: number): void {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) return;
    fate.ackedAt = this.#timeline.now();
    fate.required = false;
  }

  /** The broker was killed: what is certain now is settled, what is not may go either way. */
  killed(): void {
    this.#draining = false;
    for (const [sequence, fate] of this.#fates) {
      if (fate.ackedAt !== undefined && this.#timeline.proves(fate.ackedAt, this.#ackGraceMs)) {
        this.#fates.delete(sequence);
      } else if (!fate.required) {
        fate.ackedAt = undefined;
        if (++fate.kills > UNDECIDED_KILLS_MAX) this.#fates.delete(sequence);
      }
    }
  }

  /** From now on everything is received once, until `finishDrain`. */
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

  /** Throws when something that must be there has not come. */
  finishDrain(): void {
    const missing = [...this.#fates].filter(([, fate]) => fate.required && !fate.drained).map(([one]) => one);
    if (missing.length > 0) {
      const some = missing.slice(0, 10).join(', ');
      throw new Violation(`${this.name}: ${missing.length} confirmed messages are lost: ${some}`);
    }
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

  receive(group: string, sequence: number): void {
    const last = this.#last.get(group) ?? -1;
    if (sequence < last) throw new Violation(`${this.#name} ${group}: ${sequence} came after ${last}`);
    this.#last.set(group, sequence);
  }
}
