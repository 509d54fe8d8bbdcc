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

  /** Whether what the broker had certainly taken at `at` is certainly on disk. */
  proves(at: number): boolean {
    return at < this.#provenUntil;
  }
}
