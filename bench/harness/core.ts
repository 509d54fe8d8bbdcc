import { rmSync } from 'node:fs';
import { runJson } from './measure.js';
import { benchModule, workFolder } from './paths.js';
import type { BenchOptions } from './options.js';
import type { Row } from './report.js';
import type { DeviceFigures } from './device.js';
import type { CoreFigure, CoreJob } from '../core/job.js';

/** Measures of the core inside one process, without any wire; see `core/worker.ts` for what each does. */
export const CORE_MEASURES = [
  { id: 'core-send' },
  { id: 'core-cycle' },
  { id: 'core-single' },
  { id: 'core-backlog' },
  { id: 'core-spread' },
] as const;

/** Runs one core measure in a process of its own, not pinned: the disk calls use the other core. */
export async function measureCore({ id }: { readonly id: string }, options: BenchOptions) {
  const folder = workFolder(id);
  try {
    const job: CoreJob = { measure: id, folder, seconds: options.seconds, runs: options.runs };
    const args = ['--expose-gc', benchModule('core/worker.js'), JSON.stringify(job)];
    const figures = await runJson<readonly CoreFigure[]>(args, undefined);
    // What is not a number is null in JSON.
    const plain = (value: number | null | undefined) => value ?? undefined;
    const rows = figures.map((figure): Row => ({
      id,
      ...figure,
      ours: plain(figure.ours),
      other: plain(figure.other),
    }));
    return { rows, details: figures };
  } catch (error) {
    const note = error instanceof Error ? error.message.slice(0, 400).replaceAll('\n', ' ') : String(error);
    const row: Row = { id, measure: id, unit: '', ours: undefined, against: '', other: undefined, note };
    return { rows: [row], details: [note] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Write + fdatasync of 1 KiB, one at a time: the device's own latency. */
export async function measureDevice(options: BenchOptions): Promise<DeviceFigures> {
  const folder = workFolder('device');
  try {
    const job: CoreJob = { measure: 'device', folder, seconds: options.seconds, runs: 1 };
    return await runJson<DeviceFigures>([benchModule('core/worker.js'), JSON.stringify(job)], undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
