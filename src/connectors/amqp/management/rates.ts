import type { Clock } from '../../../base/clock.js';

interface Sample {
  readonly at: number;
  readonly values: readonly number[];
  readonly rates: readonly number[];
}

/** Between two samples at least: looks in between see the same rates. */
const SAMPLE_MS = 5_000;
/** Things whose rates are remembered; then it begins anew. */
const REMEMBERED_MAX = 20_000;

/** Rates of counters, from one look to the next: nothing is counted or timed while nobody looks. */
export class Rates {
  readonly #clock: Clock;
  readonly #samples = new Map<string, Sample>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Changes a second of these counters since the last sample of `key`; 0 at the first look. */
  of(key: string, values: readonly number[]): readonly number[] {
    const now = this.#clock.now();
    const last = this.#samples.get(key);
    if (last !== undefined && now - last.at < SAMPLE_MS) return last.rates;
    if (last === undefined && this.#samples.size >= REMEMBERED_MAX) this.#samples.clear();
    const seconds = last === undefined ? 0 : (now - last.at) / 1000;
    const rates = values.map((value, i) => {
      const before = last?.values[i];
      return before === undefined || seconds <= 0 ? 0 : Math.max(0, (value - before) / seconds);
    });
    this.#samples.set(key, { at: now, values, rates });
    return rates;
  }
}
