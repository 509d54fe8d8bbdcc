import { PUSH_LIMITS } from './limits.js';

/**
 * How many requests of one subscription may be under way: a slow start that grows with every success and shrinks with every
 * failure, and a pause after failures that doubles until something succeeds. Pure: the caller brings the time.
 */
export class PushWindow {
  #size: number = PUSH_LIMITS.windowStart;
  #underWay = 0;
  #failures = 0;
  /** Counts pauses. Requests begun before the latest one tell nothing new when they fail. */
  #era = 0;
  #pausedUntil = 0;

  get underWay(): number {
    return this.#underWay;
  }

  /** Unix ms. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** Failures since the last success, each pause counted once. */
  get failures(): number {
    return this.#failures;
  }

  /** How many more requests may begin now. */
  room(now: number): number {
    return now < this.#pausedUntil ? 0 : Math.max(Math.floor(this.#size) - this.#underWay, 0);
  }

  /** A request begins; the number is given back with its end. */
  begin(): number {
    this.#underWay++;
    return this.#era;
  }

  succeeded(): void {
    this.#underWay--;
    this.#failures = 0;
    this.#size = Math.min(this.#size + 1, PUSH_LIMITS.windowMax);
  }

  /** True when a pause begins with it. */
  failed(era: number, now: number): boolean {
    this.#underWay--;
    this.#size = Math.max(this.#size / 2, 1);
    if (era !== this.#era) return false;
    const { backoffMinMs, backoffMaxMs } = PUSH_LIMITS;
    this.#pausedUntil = now + Math.min(backoffMinMs * 2 ** this.#failures, backoffMaxMs);
    this.#failures++;
    this.#era++;
    return true;
  }

  /** A request ended without telling anything of the endpoint. */
  abandoned(): void {
    this.#underWay--;
  }
}
