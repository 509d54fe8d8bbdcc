/** How often it looks, and the gap between two looks that is a stall: a loaded machine is late by less. */
const LOOK_EVERY_MS = 100;
const STALL_MS_MIN = 1_000;

/**
 * Notices when this process did not run: it, or the whole machine, was stopped for a while. Leases end and connections idle
 * out meanwhile, which is nobody's fault.
 */
export class StallWatch {
  readonly #now: () => number;
  #last: number;
  #totalMs = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#last = now();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** How long this process has stood still since it is being watched. */
  get totalMs(): number {
    // Whoever asks may run before the timer does.
    this.#look();
    return this.#totalMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = this.#now();
    if (now - this.#last > STALL_MS_MIN) this.#totalMs += now - this.#last;
    this.#last = now;
  }
}
