import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readSequence } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { deviceAppend } from '../harness/device.js';
import { median } from '../harness/stats.js';
import type { CoreJob, CoreMeasure } from './job.js';
import { list } from './send.js';
import { makeQueue, message, openStore } from './store.js';
import { Usage } from './usage.js';

const PRODUCERS = 512;
const CONSUMERS = 64;
const RECEIVE_MAX = 10;
const LEASE_MS = 30_000;
const RAW_BATCH = 2048;
const WARM_UP_SECONDS = 2;

/** Send, receive and durable ack at once: 512 producers with one send open each, 64 consumers. */
export const coreCycle: CoreMeasure = async (job) => {
  const raw: number[] = [];
  const ours: number[] = [];
  const usages: string[] = [];
  await cycleRun(job, WARM_UP_SECONDS);
  for (let run = 0; run < job.runs; run++) {
    raw.push((await deviceAppend(job.folder, RAW_BATCH, job.seconds / 2)).messagesPerSecond);
    const { perSecond, usage } = await cycleRun(job, job.seconds);
    ours.push(perSecond);
    usages.push(usage);
  }
  return [
    {
      measure: 'core, send + receive + durable ack, 512 outstanding',
      unit: 'msg/s',
      ours: median(ours),
      against: `append + fdatasync of ${String(RAW_BATCH)}`,
      other: median(raw),
      target: { kind: 'at-least', value: 0.6 },
      note: `runs ${list(ours)}, raw ${list(raw)}, processor time of a message ${usages.join(' / ')}`,
    },
  ];
};

async function cycleRun(job: CoreJob, seconds: number) {
  const folder = join(job.folder, 'cycle');
  mkdirSync(folder);
  const broker = await openStore(folder);
  const queue = await makeQueue(broker, 'bench');
  const ledger = new Ledger();
  const usage = new Usage();
  const start = performance.now();
  const end = start + seconds * 1000;
  let producing = PRODUCERS;
  const producers = Array.from({ length: PRODUCERS }, async () => {
    while (performance.now() < end) {
      const sequence = ledger.send();
      const [outcome] = await broker.send([message(queue, sequence)]);
      if (outcome?.ok !== true) throw outcome?.error ?? new Error('a send had no outcome');
      ledger.confirm(sequence);
    }
    producing--;
  });
  const consumers = Array.from({ length: CONSUMERS }, async () => {
    while (producing > 0 || ledger.received < ledger.sent) {
      const deliveries = await broker.receive({
        channel: queue,
        max: RECEIVE_MAX,
        waitMs: 50,
        handOut: { kind: 'lease', leaseMs: LEASE_MS },
      });
      if (deliveries.length === 0) continue;
      for (const { message: stored } of deliveries) ledger.receive(readSequence(stored.body, 0));
      const { refused } = await broker.settle({
        tokens: deliveries,
        settlement: { kind: 'ack' },
        durable: true,
      });
      if (refused.length > 0) throw new Error('an ack was refused');
    }
  });
  await Promise.all([...producers, ...consumers]);
  const used = usage.note(ledger.received);
  const perSecond = ledger.received / ((performance.now() - start) / 1000);
  const { lost, duplicated, foreign } = ledger.counts();
  if (lost + duplicated + foreign > 0) {
    throw new Error(`lost ${String(lost)}, duplicated ${String(duplicated)}, foreign ${String(foreign)}`);
  }
  await broker.close();
  rmSync(folder, { recursive: true });
  return { perSecond, usage: used };
}
