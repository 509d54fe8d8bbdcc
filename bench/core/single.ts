import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { BODY_BYTES } from '../client/body.js';
import { percentile } from '../harness/stats.js';
import type { CoreFigure, CoreMeasure } from './job.js';
import { makeQueue, message, openStore, sendAll } from './store.js';

const PAUSE_MS = 5;
const WARM_UP_SENDS = 100;

/** One durable send at a time, by turns with a raw write + fdatasync of the same size. */
export const coreSingle: CoreMeasure = async (job) => {
  const broker = await openStore(join(job.folder, 'single'));
  const queue = await makeQueue(broker, 'bench');
  const file = await open(join(job.folder, 'raw'), 'w');
  const block = Buffer.alloc(BODY_BYTES, 0x5a);
  const raw: number[] = [];
  const ours: number[] = [];
  let end = Number.POSITIVE_INFINITY;
  for (let turn = 0; performance.now() < end; turn++) {
    if (turn === WARM_UP_SENDS) end = performance.now() + job.seconds * job.runs * 1000;
    let start = performance.now();
    await file.write(block, 0, block.length, turn * block.length);
    await file.datasync();
    if (turn >= WARM_UP_SENDS) raw.push(performance.now() - start);
    await pause();
    start = performance.now();
    await sendAll(broker, [message(queue, turn)]);
    if (turn >= WARM_UP_SENDS) ours.push(performance.now() - start);
    await pause();
  }
  await file.close();
  await broker.close();
  const figure = (name: string, share: number, atMost: number): CoreFigure => ({
    measure: `core, one durable send at low load, ${name}`,
    unit: 'ms',
    ours: percentile(ours, share),
    against: `write + fdatasync ${name}`,
    other: percentile(raw, share),
    target: { kind: 'at-most', value: atMost },
    note: `${String(ours.length)} samples`,
  });
  return [figure('p50', 0.5, 2.5), figure('p99', 0.99, 4)];
};

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
