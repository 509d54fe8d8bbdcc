/** How long an acknowledgement may be repeated: clients try again for so long. */
const REPEAT_MS = 10 * 60 * 1000;
const IDS_MAX = 100_000;

/**
 * Ack ids that were acknowledged lately, so that one that is repeated, because its answer was lost or told to try again, is
 * answered as the first time. Of subscriptions with exactly-once delivery only.
 */
export class RecentAcks {
  /** By the end of their time, the oldest first. */
  readonly #until = new Map<string, number>();

  add(ackId: string, now: number): void {
    this.#until.delete(ackId);
    this.#until.set(ackId, now + REPEAT_MS);
    for (const [id, until] of this.#until) {
      if (until > now && this.#until.size <= IDS_MAX) return;
      this.#until.delete(id);
    }
  }

  has(ackId: string, now: number): boolean {
    return (this.#until.get(ackId) ?? 0) > now;
  }
}
