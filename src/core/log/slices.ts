import { nextTurn } from '../../base/turn.js';

/** Work that stops wherever another turn of the event loop may come in between. */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** Does work to its end, with a turn for everybody else wherever it stops. What never stops is done in this one. */
export async function inSlices<T>(work: Sliced<T>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}

/** Sorts in runs of `slice` that are merged, pair by pair. Stable. */
export function* sorted<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  slice: number,
): Sliced<readonly T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += slice) {
    runs.push(items.slice(at, at + slice).sort(compare));
    if (at + slice < items.length) yield;
  }
  while (runs.length > 1) {
    const longer: T[][] = [];
    for (let i = 0; i < runs.length; i += 2)
      longer.push(yield* merged(runs[i] as T[], runs[i + 1] ?? [], { compare, slice }));
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged<T>(
  a: T[],
  b: readonly T[],
  { compare, slice }: { compare: (a: T, b: T) => number; slice: number },
): Sliced<T[]> {
  if (b.length === 0) return a;
  const out: T[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const fromA = j >= b.length || (i < a.length && compare(a[i] as T, b[j] as T) <= 0);
    out.push(fromA ? (a[i++] as T) : (b[j++] as T));
    if (out.length % slice === 0) yield;
  }
  return out;
}
