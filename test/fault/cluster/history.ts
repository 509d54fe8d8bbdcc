import { Violation } from '../track.js';

/**
 * `strict`: within a group a message comes when all before it were acknowledged or come with it; going back to one that was not is
 * allowed. `connection`: on one connection, what comes for the first time comes in order. `none`: as it likes.
 */
export type Order = 'strict' | 'connection' | 'none';

/** A message as a consumer gets it. */
export interface Taken {
  readonly sequence: number;
  /** What the broker calls it; undefined where the protocol has no name for it. */
  readonly id?: string | undefined;
  /** Whether the broker says that it may have come before. */
  readonly redelivered?: boolean;
}

interface Fate {
  readonly group: number;
  /** Where it stands in its group. */
  readonly place: number;
  confirmed: boolean;
  /** Its sender has given up: it may be there or not, and come late. */
  abandoned: boolean;
  id: string | undefined;
  delivered: boolean;
  /** The broker was told, and may know. */
  acking: boolean;
  /** The broker knows for good. */
  acked: boolean;
}

/** What happened to the messages of one queue, in the order in which the clients saw it; throws at the first broken promise. */
export class History {
  readonly #name: string;
  readonly #order: Order;
  readonly #fates = new Map<number, Fate>();
  readonly #groups: number[][] = [];
  /** The place that each group has come to. */
  readonly #last: number[] = [];
  /** The same on the present connection. */
  #lastHere: number[] = [];
  #next = 0;
  confirmed = 0;
  redelivered = 0;
  late = 0;

  constructor(name: string, order: Order) {
    this.#name = name;
    this.#order = order;
  }

  /** A new message's number; its send begins now. Sends of a group come one after the other. */
  send(group: number): number {
    const sequence = this.#next++;
    const members = (this.#groups[group] ??= []);
    this.#fates.set(sequence, {
      group,
      place: members.length,
      confirmed: false,
      abandoned: false,
      id: undefined,
      delivered: false,
      acking: false,
      acked: false,
    });
    members.push(sequence);
    return sequence;
  }

  confirm(sequence: number): void {
    this.#fate(sequence).confirmed = true;
    this.confirmed++;
  }

  /** Its sender goes on with another. */
  abandon(sequence: number): void {
    this.#fate(sequence).abandoned = true;
  }

  /** A consumer begins anew. */
  connected(): void {
    this.#lastHere = [];
  }

  deliver({ sequence, id, redelivered = false }: Taken): void {
    const fate = this.#fate(sequence);
    if (fate.acked) throw this.#broken(`${sequence} was acknowledged for good and came back`);
    fate.id ??= id;
    if (fate.id !== id) throw this.#broken(`${sequence} is there twice, as ${fate.id} and ${id}`);
    if (fate.delivered) this.redelivered++;
    // An attempt whose sender gave up may get there behind later ones.
    if (!fate.abandoned) this.#inOrder(sequence, fate, redelivered);
    else if (!fate.delivered && fate.place < (this.#last[fate.group] ?? -1)) this.late++;
    fate.delivered = true;
  }

  /** From now on the broker may know that it is done. */
  acking(sequence: number): void {
    this.#fate(sequence).acking = true;
  }

  /** It certainly knows, and will not forget. */
  acked(sequence: number): void {
    this.#fate(sequence).acked = true;
  }

  /** Confirmed messages that nobody got yet. */
  get missing(): readonly number[] {
    return [...this.#fates].filter(([, fate]) => fate.confirmed && !fate.delivered).map(([one]) => one);
  }

  #inOrder(sequence: number, fate: Fate, redelivered: boolean): void {
    const { group, place } = fate;
    if (this.#order === 'strict') {
      const last = this.#last[group] ?? -1;
      for (let between = last + 1; between < place; between++) {
        const skipped = this.#groups[group]?.[between] ?? -1;
        const { confirmed, acking } = this.#fate(skipped);
        if (confirmed && !acking) throw this.#broken(`${sequence} came before ${skipped}, group ${group}`);
      }
    } else if (this.#order === 'connection' && !redelivered) {
      const last = this.#lastHere[group] ?? -1;
      if (place <= last) {
        throw this.#broken(`${sequence} came behind ${this.#groups[group]?.[last]} for the first time`);
      }
      this.#lastHere[group] = place;
    }
    this.#last[group] = place;
  }

  #fate(sequence: number): Fate {
    const fate = this.#fates.get(sequence);
    if (fate === undefined) throw this.#broken(`${sequence} was never sent`);
    return fate;
  }

  #broken(what: string): Violation {
    return new Violation(`${this.#name}: ${what}`);
  }
}
