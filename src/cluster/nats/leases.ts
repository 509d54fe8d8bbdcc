/** A claim as the bucket holds it. `owner` is absent after a release; `epoch` outlives owners. */
export interface LeaseRecord {
  readonly owner?: string;
  readonly epoch: number;
  /** Different in every renewal, so that each is a revision of its own and an owner knows its writes again. */
  readonly beat: number;
}

export function encodeLease(record: LeaseRecord): string {
  return JSON.stringify(record);
}

/** Undefined: not a lease. */
export function decodeLease(text: string): LeaseRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<LeaseRecord>;
    if (typeof value.epoch !== 'number' || typeof value.beat !== 'number') return undefined;
    const { owner, epoch, beat } = value;
    return typeof owner === 'string' ? { owner, epoch, beat } : { epoch, beat };
  } catch {
    return undefined;
  }
}

interface Sighting {
  readonly revision: number;
  readonly seenAt: number;
}

/**
 * When leases of others end, judged by this node's own clock alone: a lease has ended when no renewal was seen for its whole
 * length, counted from the moment this node saw the last one, and only while this node can see renewals at all. Clocks of
 * different machines are never compared.
 */
export class LeaseWatch {
  readonly #leaseMs: number;
  readonly #blindAfterMs: number;
  readonly #seen = new Map<string, Sighting>();
  /** Revisions older than what was seen before: of a server that is behind, or all there is since servers lost what was newer. */
  readonly #older = new Map<string, Sighting>();
  #sightAt = -Infinity;
  /** Since when this node has seen what happens without a gap. */
  #sightSince = Infinity;

  /** `blindAfterMs`: without any news for that long this node no longer sees what happens. */
  constructor(leaseMs: number, blindAfterMs: number) {
    this.#leaseMs = leaseMs;
    this.#blindAfterMs = blindAfterMs;
  }

  /** News of any kind arrived. */
  sight(now: number): void {
    if (now - this.#sightAt > this.#blindAfterMs) this.#sightSince = now;
    this.#sightAt = now;
  }

  /** `name` is at `revision`. */
  see(name: string, revision: number, now: number): void {
    const known = this.#seen.get(name);
    if (known === undefined || revision > known.revision) this.#seen.set(name, { revision, seenAt: now });
    else if (revision < known.revision && this.#older.get(name)?.revision !== revision)
      this.#older.set(name, { revision, seenAt: now });
  }

  forget(name: string): void {
    this.#seen.delete(name);
    this.#older.delete(name);
  }

  /** Whether the lease that `name` had at `revision` has ended. */
  ended(name: string, revision: number, now: number): boolean {
    const known = [this.#seen.get(name), this.#older.get(name)].find((one) => one?.revision === revision);
    if (known === undefined || now - this.#sightAt > this.#blindAfterMs) return false;
    return now - Math.max(known.seenAt, this.#sightSince) >= this.#leaseMs;
  }
}
