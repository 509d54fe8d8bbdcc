import { deviceAppend } from '../harness/device.js';
import type { CoreJob, CoreMeasure } from './job.js';

const MEASURES: Readonly<Record<string, () => Promise<CoreMeasure>>> = {
  'core-send': async () => (await import('./send.js')).coreSend,
  'core-cycle': async () => (await import('./cycle.js')).coreCycle,
  'core-single': async () => (await import('./single.js')).coreSingle,
  'core-backlog': async () => (await import('./backlog.js')).coreBacklog,
  'core-spread': async () => (await import('./spread.js')).coreSpread,
};

/** Runs one measure and prints its figures as one line of JSON. */
async function main(): Promise<void> {
  const job = JSON.parse(process.argv[2] ?? '{}') as CoreJob;
  if (job.measure === 'device') {
    process.stdout.write(`${JSON.stringify(await deviceAppend(job.folder, 1, job.seconds))}\n`);
    return;
  }
  const load = MEASURES[job.measure];
  if (load === undefined) throw new Error(`no measure is called ${job.measure}`);
  const measure = await load();
  process.stdout.write(`${JSON.stringify(await measure(job))}\n`);
}

// Timers of the broker alone do not keep a process alive.
const alive = setInterval(() => undefined, 1000);
await main();
clearInterval(alive);
