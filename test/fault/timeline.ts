/**
 * What confirmed sends prove. The journal is one ordered log for all wires: once a durable send that began at time t is
 * confirmed, everything the broker had taken before t is on disk too, also what it answers without waiting for the disk.
 */
export class Timeline {
  #provenUntil = 0;

  now(): number {
    return performance.now();
  }

  /** A durable send that began at `startedAt` was confirmed. */
  confirmed(startedAt: number): void {
    if (startedAt > this.#provenUntil) this.#provenUntil = startedAt;
  }

  /** Whether something the broker had answered (or, with `graceMs`, must have read) at `at` is certainly on disk. */
  proves(at: number, graceMs: number): boolean {
    return at + graceMs < this.#provenUntil;
  }
}
