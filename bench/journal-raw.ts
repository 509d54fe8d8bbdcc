/**
 * The disk journal against the bare device: appends of 1 KiB with so many outstanding, beside write + fdatasync of batches
 * of the same size on a growing file, alternating in one run. Run with: npx tsx bench/journal-raw.ts [directory]
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { SystemClock } from '../src/base/clock.js';
import { silentLog } from '../src/base/log.js';
import { ENTRY_HEADER_BYTES } from '../src/core/ports/journal.js';
import { openDiskJournal } from '../src/journal/disk/index.js';

const BODY_BYTES = 1024;
const ENTRY_BYTES = ENTRY_HEADER_BYTES + BODY_BYTES;
const ARENA_BYTES = 1 << 20;
const RUN_MS = 1500;
const ROUNDS = 3;

interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

function figures(count: number, elapsedMs: number, latencies: number[]): Figures {
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
  return { perSecond: Math.round((count / elapsedMs) * 1000), p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Write + fdatasync, one batch after the other. `pauseMs` between them for the figures at low load. */
async function raw(directory: string, batch: number, pauseMs: number): Promise<Figures> {
  const fd = fs.openSync(path.join(directory, 'raw'), 'w');
  const bytes = Buffer.alloc(batch * ENTRY_BYTES, 7);
  const latencies: number[] = [];
  let offset = 0;
  const begun = performance.now();
  while (performance.now() - begun < RUN_MS) {
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const at = performance.now();
    await new Promise<void>((resolve, reject) => {
      fs.write(fd, bytes, 0, bytes.length, offset, (failed) => {
        if (failed !== null) reject(failed);
        else fs.fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
      });
    });
    latencies.push(performance.now() - at);
    offset += bytes.length;
  }
  const elapsed = performance.now() - begun;
  fs.closeSync(fd);
  fs.rmSync(path.join(directory, 'raw'));
  return figures(latencies.length * batch, elapsed, latencies);
}

/** Appends with `outstanding` of them not yet committed at any time. */
async function journal(
  directory: string,
  outstanding: number,
  pauseMs: number,
): Promise<Figures & { groups: number }> {
  const store = path.join(directory, 'store');
  const journal = await openDiskJournal({ directory: store, clock: new SystemClock(), log: silentLog });
  await journal.checkpoint();
  await journal.replay(0, () => undefined);
  const body = Buffer.alloc(BODY_BYTES, 7);
  let arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
  let used = 0;
  const positions: number[] = [];
  const times: number[] = [];
  let head = 0;
  let done = 0;
  const latencies: number[] = [];
  let running = true;
  let finished: () => void = () => undefined;
  const send = (): void => {
    if (used + ENTRY_BYTES > ARENA_BYTES) {
      arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
      used = 0;
    }
    const entry = arena.subarray(used, used + ENTRY_BYTES);
    used += ENTRY_BYTES;
    body.copy(entry, ENTRY_HEADER_BYTES);
    times.push(performance.now());
    positions.push(journal.append(entry, true));
  };
  journal.start({
    committed: (below) => {
      const now = performance.now();
      let count = 0;
      while (head < positions.length && positions[head]! < below) {
        latencies.push(now - times[head]!);
        head += 1;
        count += 1;
      }
      done += count;
      if (!running) {
        if (head === positions.length) finished();
      } else if (pauseMs === 0) {
        for (let i = 0; i < count; i++) send();
      } else {
        setTimeout(() => {
          if (running) send();
        }, pauseMs);
      }
    },
    lost: (_from, error) => {
      throw error;
    },
  });
  const begun = performance.now();
  for (let i = 0; i < outstanding; i++) send();
  await new Promise((resolve) => setTimeout(resolve, RUN_MS));
  running = false;
  const elapsed = performance.now() - begun;
  const result = figures(done, elapsed, latencies);
  const groups = journal.stats().groups;
  if (head < positions.length) await new Promise<void>((resolve) => (finished = resolve));
  await journal.close();
  fs.rmSync(store, { recursive: true });
  return { ...result, groups };
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

const directory = fs.mkdtempSync(path.join(process.argv[2] ?? os.tmpdir(), 'polymq-journal-raw-'));
try {
  for (const [outstanding, pauseMs] of [
    [2048, 0],
    [256, 0],
    [1, 0],
    [1, 5],
  ] as const) {
    if (process.argv[3] !== undefined && process.argv[3] !== String(outstanding)) continue;
    const bare: Figures[] = [];
    const ours: (Figures & { groups: number })[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      bare.push(await raw(directory, outstanding, pauseMs));
      ours.push(await journal(directory, outstanding, pauseMs));
    }
    const line = (pick: (f: Figures) => number): string => {
      const [a, b] = [median(ours.map(pick)), median(bare.map(pick))];
      return `${a.toFixed(a > 1000 ? 0 : 3)} / ${b.toFixed(b > 1000 ? 0 : 3)} = ${(a / b).toFixed(2)}`;
    };
    console.log(
      `${outstanding} outstanding, pause ${pauseMs} ms: journal / device: ` +
        `${line((f) => f.perSecond)} per second, p50 ${line((f) => f.p50Ms)} ms, p99 ${line((f) => f.p99Ms)} ms, ` +
        `entries a group ${Math.round(median(ours.map((f) => (f.perSecond * RUN_MS) / 1000 / f.groups)))}`,
    );
  }
} finally {
  fs.rmSync(directory, { recursive: true });
}
