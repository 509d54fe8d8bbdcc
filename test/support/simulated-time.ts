import type { Clock, Timer } from '../../src/base/clock.js';

interface Event {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** Virtual time of a whole world: events one after the other, each as early as it is due, those of one moment in the order they came. */
export class SimulatedTime {
  now = 0;
  #order = 0;
  readonly #heap: Event[] = [];

  at(time: number, run: () => void): Timer {
    const event: Event = { at: Math.max(time, this.now), order: this.#order++, run };
    this.#push(event);
    return { cancel: () => (event.run = undefined) };
  }

  after(delayMs: number, run: () => void): Timer {
    return this.at(this.now + Math.max(delayMs, 0), run);
  }

  /** Runs the next event, if it is due by `until`; false when there is none. */
  step(until: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until) {
        this.now = Math.max(this.now, until);
        return false;
      }
      this.#pop();
      if (next.run === undefined) continue;
      this.now = next.at;
      next.run();
      return true;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Event;
      if (!isBefore(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const moved = heap.pop() as Event;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, moved)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = moved;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

const EPOCH_MS = 1_700_000_000_000;

/** What is wrong with the clocks of one machine. */
export interface ClockFaults {
  /** What its wall clock is ahead of the world's. */
  wallOffsetMs: number;
  /** Milliseconds it counts in one of the world's. */
  readonly rate: number;
}

/** The clocks and the processor of one process: it may be paused, sleep with its machine, or end. */
export class ProcessClock implements Clock {
  readonly #time: SimulatedTime;
  readonly #faults: ClockFaults;
  #isPaused = false;
  #hasEnded = false;
  #pausedAt = 0;
  #sleptMs = 0;
  #waiting: { readonly run: () => void; readonly isInput: boolean }[] = [];

  constructor(time: SimulatedTime, faults: ClockFaults = { wallOffsetMs: 0, rate: 1 }) {
    this.#time = time;
    this.#faults = faults;
  }

  now(): number {
    return Math.floor(EPOCH_MS + this.#time.now * this.#faults.rate + this.#faults.wallOffsetMs);
  }

  /** Stands still while the machine sleeps, as the system's does. */
  readonly monotonicMs = (): number => (this.#time.now - this.#sleptMs) * this.#faults.rate;

  after(delayMs: number, run: () => void): Timer {
    return this.#time.after(Math.max(delayMs, 0) / this.#faults.rate, () => this.#do(run, false));
  }

  /** Something came from outside. */
  input(run: () => void): void {
    this.#do(run, true);
  }

  get ended(): boolean {
    return this.#hasEnded;
  }

  pause(): void {
    this.#isPaused = true;
    this.#pausedAt = this.#time.now;
  }

  /** `asleep`: the whole machine was. What came meanwhile is looked at before the timers, as an event loop that wakes in its poll does. */
  resume(asleep: boolean): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (asleep) this.#sleptMs += this.#time.now - this.#pausedAt;
    const waiting = this.#waiting;
    this.#waiting = [];
    const inOrder = [...waiting.filter((one) => one.isInput), ...waiting.filter((one) => !one.isInput)];
    // Each in a turn of its own.
    for (const { run, isInput } of inOrder) this.#time.after(0, () => this.#do(run, isInput));
  }

  /** The process is gone: nothing of it happens any more. */
  end(): void {
    this.#hasEnded = true;
    this.#waiting = [];
  }

  #do(run: () => void, isInput: boolean): void {
    if (this.#hasEnded) return;
    if (this.#isPaused) this.#waiting.push({ run, isInput });
    else run();
  }
}
