import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readSequence } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { median } from '../harness/stats.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import { channelName } from '../../src/core/channel-name.js';
import type { CoreFigure, CoreJob, CoreMeasure } from './job.js';
import { list } from './send.js';
import { makeQueue, message, openStore, produce } from './store.js';

const MESSAGES = 1_000_000;
const QUEUES = 10_000;
const GROUPS = 100_000;
const PRODUCERS = 2048;
const CONSUMERS = 128;
const RECEIVE_MAX = 10;
const QUEUES_PER_CHANGE = 1000;
const COST_AT_MOST = 1.3;

/** A way to lay the same messages out: the queues that are received from, and the channel of each message. */
interface Layout {
  readonly queues: readonly string[];
  readonly marks: readonly string[];
  readonly channelOf: (sequence: number) => ChannelName;
}

/** Whether a message costs the same in one queue, in ten thousand queues, and in a hundred thousand FIFO groups. */
export const coreSpread: CoreMeasure = async (job) => {
  const many = Array.from({ length: QUEUES }, (_, index) => channelName(`bench.${String(index)}`));
  const groups = Array.from({ length: GROUPS }, (_, index) => channelName(`bench.g.${String(index)}`));
  const single = channelName('bench');
  const layouts: Readonly<Record<string, Layout>> = {
    single: { queues: ['bench'], marks: [], channelOf: () => single },
    queues: { queues: many, marks: [], channelOf: (sequence) => many[sequence % QUEUES] ?? single },
    groups: {
      queues: ['bench'],
      marks: ['.g.'],
      channelOf: (sequence) => groups[sequence % GROUPS] ?? single,
    },
  };
  const costs: Record<string, number[]> = {};
  for (let run = 0; run < job.runs; run++) {
    for (const [name, layout] of Object.entries(layouts))
      (costs[name] ??= []).push(await spreadRun(job, layout));
  }
  const figure = (name: string, title: string): CoreFigure => ({
    measure: `core, ${title}: cost of a message`,
    unit: 'µs',
    ours: median(costs[name] ?? []),
    against: 'one queue',
    other: median(costs['single'] ?? []),
    target: { kind: 'at-most', value: COST_AT_MOST },
    note: `send + receive + ack of ${String(MESSAGES)}, processor time: ${list(costs[name] ?? [])}, one queue ${list(costs['single'] ?? [])}`,
  });
  return [figure('queues', '10 000 queues × 100 messages'), figure('groups', '100 000 FIFO groups')];
};

/** Processor time of one message in µs, sent, received and acknowledged. */
async function spreadRun(job: CoreJob, layout: Layout): Promise<number> {
  const folder = join(job.folder, 'spread');
  mkdirSync(folder);
  const broker = await openStore(folder);
  const first = layout.queues[0] ?? '';
  if (layout.queues.length === 1) await makeQueue(broker, first, layout.marks);
  for (let at = 0; layout.queues.length > 1 && at < layout.queues.length; at += QUEUES_PER_CHANGE) {
    const some = layout.queues.slice(at, at + QUEUES_PER_CHANGE);
    await broker.change(some.map((name) => ({ do: 'create-queue', channel: channelName(name) })));
  }
  const ledger = new Ledger();
  const before = process.cpuUsage();
  await produce(broker, PRODUCERS, () => {
    if (ledger.sent >= MESSAGES) return undefined;
    const sequence = ledger.send();
    ledger.confirm(sequence);
    return message(layout.channelOf(sequence), sequence);
  });
  await Promise.all(
    Array.from({ length: CONSUMERS }, async (_, consumer) => {
      for (let at = consumer % layout.queues.length; at < layout.queues.length; at += CONSUMERS) {
        const channel = channelName(layout.queues[at] ?? '');
        for (;;) {
          const deliveries = await broker.receive({
            channel,
            max: RECEIVE_MAX,
            waitMs: 0,
            handOut: { kind: 'lease', leaseMs: 60_000 },
          });
          if (deliveries.length === 0) break;
          for (const { message: stored } of deliveries) ledger.receive(readSequence(stored.body, 0));
          await broker.settle({ tokens: deliveries, settlement: { kind: 'ack' }, durable: true });
        }
      }
    }),
  );
  const used = process.cpuUsage(before);
  const { lost, duplicated, foreign } = ledger.counts();
  if (lost + duplicated + foreign > 0) {
    throw new Error(`lost ${String(lost)}, duplicated ${String(duplicated)}, foreign ${String(foreign)}`);
  }
  await broker.close();
  rmSync(folder, { recursive: true });
  return (used.user + used.system) / MESSAGES;
}
