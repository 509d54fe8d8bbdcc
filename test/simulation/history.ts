import type { QueueStats } from '../../src/core/queue/types.js';

/** What a message's life looked like from outside. */
interface Life {
  readonly id: string;
  readonly queue: string;
  /** Its order within this holds; '' = none is promised. */
  readonly group: string;
  readonly batch: string;
  /** Counts what happens: the sender asked then. */
  readonly askedAt: number;
  /** A node said that it is stored. */
  confirmedAt: number | undefined;
  /** Somebody may have acknowledged it. */
  ackAsked: boolean;
  /** A node said that its removal is stored. */
  isGone: boolean;
  deliveries: number;
}

/** Something happened that must not. */
export class Violation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Violation';
  }
}

interface Bounds {
  /** Messages that must be there, and messages that may be. */
  atLeast: number;
  atMost: number;
}

/** Everything that was asked and answered, and the promises it is held against. */
export class History {
  readonly lives = new Map<string, Life>();
  readonly #groups = new Map<string, Life[]>();
  readonly #batches = new Map<string, Life[]>();
  readonly #atMost = new Map<string, number>();
  readonly #all: Bounds = { atLeast: 0, atMost: 0 };
  #moment = 0;
  #newestEpoch = 0;
  confirmed = 0;
  delivered = 0;
  acknowledged = 0;
  owners = new Set<number>();

  asked(batch: string, messages: readonly { id: string; queue: string; group: string }[]): void {
    for (const { id, queue, group } of messages) {
      const life: Life = {
        id,
        queue,
        group,
        batch,
        askedAt: ++this.#moment,
        confirmedAt: undefined,
        ackAsked: false,
        isGone: false,
        deliveries: 0,
      };
      this.lives.set(id, life);
      if (group !== '') addTo(this.#groups, group, life);
      addTo(this.#batches, batch, life);
      this.#mayBe(queue, 1);
    }
  }

  /** A node says that a batch is stored. */
  stored(batch: string): void {
    for (const life of this.#batches.get(batch) ?? []) {
      if (life.confirmedAt !== undefined) continue;
      life.confirmedAt = ++this.#moment;
      this.confirmed++;
      if (!life.ackAsked) this.#all.atLeast++;
    }
  }

  /** A node hands messages out, as the owner of this epoch. */
  handedOut(ids: readonly string[], epoch: number): void {
    if (ids.length > 0) this.#answeredFromMemory(epoch, `hands out ${ids.join(', ')}`);
    ids.forEach((id, i) => {
      const life = this.#life(id);
      life.deliveries++;
      this.delivered++;
      if (life.isGone) throw new Violation(`${id} is handed out after its acknowledgement was confirmed`);
      if (life.group !== '') this.#checkOrder(life, ids.slice(0, i));
    });
  }

  /** Somebody is about to acknowledge. */
  ackAsked(ids: readonly string[]): void {
    for (const id of ids) {
      const life = this.#life(id);
      if (life.ackAsked) continue;
      life.ackAsked = true;
      if (life.confirmedAt !== undefined) this.#all.atLeast--;
    }
  }

  /** A node says that they are acknowledged: for good, or as long as nothing ends. */
  acked(ids: readonly string[], isDurable: boolean, epoch: number): void {
    if (ids.length === 0) return;
    if (!isDurable) {
      this.#answeredFromMemory(epoch, `takes the acknowledgement of ${ids.join(', ')}`);
      return;
    }
    for (const id of ids) {
      const life = this.#life(id);
      if (life.isGone) continue;
      life.isGone = true;
      this.acknowledged++;
      this.#mayBe(life.queue, -1);
    }
  }

  /** What an owner has, in all queues: those too that wait for their body, or their entry. */
  checkCount(found: number): void {
    const { atLeast, atMost } = this.#all;
    if (found < atLeast) throw new Violation(`${found} messages are there where ${atLeast} were confirmed`);
    if (found > atMost) throw new Violation(`${found} messages are there, and ${atMost} can be`);
  }

  /** What an owner says that a queue holds. */
  checkStats(queue: string, { ready, delayed, inFlight }: QueueStats): void {
    const atMost = this.#atMost.get(queue) ?? 0;
    const found = ready + delayed + inFlight;
    if (found > atMost) throw new Violation(`${queue} counts ${found} messages, and ${atMost} can be there`);
  }

  /** `left`: what came out of all queues in the end, when they were emptied. */
  checkEnd(left: ReadonlySet<string>): void {
    for (const life of this.lives.values()) {
      if (life.confirmedAt !== undefined && !life.ackAsked && !left.has(life.id))
        throw new Violation(`${life.id} was confirmed and is gone`);
    }
    for (const [batch, lives] of this.#batches) {
      const seen = lives.filter(({ deliveries }) => deliveries > 0).length;
      if (seen > 0 && seen < lives.length)
        throw new Violation(`${seen} of the ${lives.length} messages of batch ${batch} were stored`);
    }
  }

  /** All of it in one line: the same for the same run. */
  toString(): string {
    return `${this.#moment} ${this.lives.size} ${this.confirmed} ${this.delivered} ${this.acknowledged} ${[...this.owners].join()}`;
  }

  #answeredFromMemory(epoch: number, what: string): void {
    this.owners.add(epoch);
    if (epoch < this.#newestEpoch)
      throw new Violation(`owner ${epoch} ${what} although owner ${this.#newestEpoch} serves`);
    this.#newestEpoch = epoch;
  }

  /** Nothing that was confirmed before this one was even sent may still wait in front of it. */
  #checkOrder(life: Life, together: readonly string[]): void {
    for (const other of this.#groups.get(life.group) ?? []) {
      if (other === life) return;
      const isWaiting =
        other.confirmedAt !== undefined && other.confirmedAt < life.askedAt && !other.ackAsked;
      if (isWaiting && !together.includes(other.id))
        throw new Violation(`${life.id} overtakes ${other.id} of its group`);
    }
  }

  #life(id: string): Life {
    const life = this.lives.get(id);
    if (life === undefined) throw new Violation(`nobody ever sent ${id}`);
    return life;
  }

  #mayBe(queue: string, more: number): void {
    this.#all.atMost += more;
    this.#atMost.set(queue, (this.#atMost.get(queue) ?? 0) + more);
  }
}

function addTo(map: Map<string, Life[]>, key: string, life: Life): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [life]);
  else known.push(life);
}
