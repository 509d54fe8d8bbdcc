import { monitorEventLoopDelay } from 'node:perf_hooks';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { deviceAppend } from '../harness/device.js';
import { median } from '../harness/stats.js';
import type { CoreFigure, CoreJob, CoreMeasure } from './job.js';
import { makeQueue, message, openStore, produce } from './store.js';
import { Usage } from './usage.js';

const LOOP_DELAY_RESOLUTION_MS = 1;
const LOOP_DELAY_MS_MAX = 50;
const WARM_UP_SECONDS = 2;

/** Durable sends with so many outstanding, beside the same batches written raw in the same run. */
export const coreSend: CoreMeasure = async (job) => {
  const figures: CoreFigure[] = [];
  const delays: number[] = [];
  for (const [outstanding, atLeast] of [
    [2048, 0.7],
    [256, 0.4],
  ] as const) {
    const raw: number[] = [];
    const ours: number[] = [];
    const usages: string[] = [];
    await sendRun(job, outstanding, WARM_UP_SECONDS);
    for (let run = 0; run < job.runs; run++) {
      raw.push((await deviceAppend(job.folder, outstanding, job.seconds / 2)).messagesPerSecond);
      const result = await sendRun(job, outstanding, job.seconds);
      ours.push(result.perSecond);
      usages.push(result.usage);
      if (outstanding === 2048) delays.push(result.loopDelayMs);
    }
    figures.push({
      measure: `core, durable send, ${String(outstanding)} outstanding`,
      unit: 'msg/s',
      ours: median(ours),
      against: `append + fdatasync of ${String(outstanding)}`,
      other: median(raw),
      target: { kind: 'at-least', value: atLeast },
      note: `runs ${list(ours)}, raw ${list(raw)}, processor time of a message ${usages.join(' / ')}`,
    });
  }
  figures.push({
    measure: 'core, longest event-loop delay at full load',
    unit: 'ms',
    ours: median(delays),
    against: '',
    other: undefined,
    target: { kind: 'at-most', value: LOOP_DELAY_MS_MAX },
    note: `longest of each run ${list(delays)}`,
  });
  return figures;
};

async function sendRun(job: CoreJob, outstanding: number, seconds: number) {
  const folder = join(job.folder, 'send');
  mkdirSync(folder);
  const broker = await openStore(folder);
  const queue = await makeQueue(broker, 'bench');
  const delay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS });
  delay.enable();
  const usage = new Usage();
  const start = performance.now();
  const end = start + seconds * 1000;
  let sequence = 0;
  const sent = await produce(broker, outstanding, () =>
    performance.now() < end ? message(queue, sequence++) : undefined,
  );
  const perSecond = sent / ((performance.now() - start) / 1000);
  const used = usage.note(sent);
  delay.disable();
  const ready = broker.queueStats(queue)?.ready;
  if (ready !== sent) throw new Error(`${String(sent)} were confirmed and ${String(ready)} are waiting`);
  await broker.close();
  rmSync(folder, { recursive: true });
  return { perSecond, usage: used, loopDelayMs: delay.max / 1e6 - LOOP_DELAY_RESOLUTION_MS };
}

export function list(values: readonly number[]): string {
  return values.map((value) => (value >= 100 ? Math.round(value) : Number(value.toFixed(2)))).join(' / ');
}
