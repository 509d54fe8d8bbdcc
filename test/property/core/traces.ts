import { expect } from 'vitest';
import type { Seen } from '../../support/inside.js';

/** Where a message would be after a crash, and since when: `mark` counts the journal's syncs; -1 = surely on disk. */
export interface Trace {
  mark: number;
  /** Undefined = nowhere: not sent yet, gone, or in memory only. */
  readonly at: string | undefined;
  readonly count: number;
}

/** What each message went through since it was last surely on disk: a crash may leave any of it. */
export class Traces {
  readonly #traces = new Map<string, Trace[]>();
  /** Those of this step: their mark is set at its end. */
  #fresh: Trace[] = [];

  texts(): Iterable<string> {
    return this.#traces.keys();
  }

  /** A message is at `at` now. Durable when the journal syncs after this step, or when the mark of what is returned is set. */
  note(text: string, at: string | undefined, count: number): Trace {
    const traces = this.#traces.get(text) ?? [];
    const last = traces.at(-1);
    if (last !== undefined && last.at === at && last.count === count) return last;
    const now: Trace = { mark: Infinity, at, count };
    // What lies before a durable state is history.
    const safe = traces.findLastIndex((trace) => trace.mark === -1);
    this.#traces.set(text, [...traces.slice(Math.max(0, safe)), now]);
    this.#fresh.push(now);
    return now;
  }

  endStep(syncs: number): void {
    for (const trace of this.#fresh) if (trace.mark === Infinity) trace.mark = syncs;
    this.#fresh = [];
  }

  /** All that was written is on disk; what the new broker does with it counts from its own first sync. */
  afterRestart(): void {
    this.#fresh = [];
    for (const [text, traces] of this.#traces) {
      const last = traces.at(-1);
      if (last === undefined || last.at === undefined) this.#traces.delete(text);
      else this.#traces.set(text, [{ ...last, mark: -1 }]);
    }
  }

  /** Checks what a crash left, and goes on from there. `syncs`: how often the journal had synced. */
  afterCrash(messages: readonly Seen[], syncs: number): void {
    this.#fresh = [];
    const found = new Map<string, Seen>();
    for (const seen of messages) {
      if (found.has(seen.text)) expect.fail(`${seen.text} is there twice after the crash`);
      if (!this.#traces.has(seen.text)) expect.fail(`${seen.text} came from nowhere`);
      found.set(seen.text, seen);
    }
    for (const [text, traces] of [...this.#traces]) {
      const possible = sinceSafe(traces, syncs);
      const seen = found.get(text);
      check(text, possible, seen);
      if (seen !== undefined) this.#traces.set(text, [{ mark: -1, at: seen.channel, count: seen.count }]);
      else {
        // The new broker may have dropped it as it opened, which is not on disk yet.
        const before = possible.findLast((trace) => trace.at !== undefined);
        if (before === undefined) this.#traces.delete(text);
        else
          this.#traces.set(text, [
            { ...before, mark: -1 },
            { mark: 0, at: undefined, count: 0 },
          ]);
      }
    }
  }
}

function sinceSafe(traces: readonly Trace[], syncs: number): readonly Trace[] {
  const safe = traces.findLastIndex((trace) => trace.mark < syncs);
  // Before its first trace it was not there.
  return safe < 0 ? [{ mark: -1, at: undefined, count: 0 }, ...traces] : traces.slice(safe);
}

function check(text: string, possible: readonly Trace[], seen: Seen | undefined): void {
  const places = new Set(possible.map((trace) => trace.at));
  // A lease without an end that had used up its deliveries was dead-lettered, or dropped, as the broker opened.
  const moved = seen !== undefined && places.has(seen.reRoutedFrom);
  if (!moved && !places.has(seen?.channel)) {
    const where = [...places].map((at) => at ?? 'gone').join(' or ');
    expect.fail(`after the crash ${text} is ${seen?.channel ?? 'gone'}; it should be ${where}`);
  }
  if (seen === undefined || moved) return;
  const counts = possible.filter((trace) => trace.at === seen.channel).map((trace) => trace.count);
  if (seen.count < Math.min(...counts))
    expect.fail(`after the crash ${text} was received ${seen.count} times`);
}
