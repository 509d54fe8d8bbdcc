import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runJson } from '../harness/measure.js';
import { benchModule, PRODUCT_FLAGS } from '../harness/paths.js';
import { Child } from '../harness/process.js';
import { median } from '../harness/stats.js';
import type { FillResult, OpenResult } from './backlog-step.js';
import type { CoreFigure, CoreMeasure } from './job.js';
import { list } from './send.js';
import { dropPageCache } from './store.js';

const MESSAGES = 2_000_000;
const FILL_SECONDS_MAX = 300;
const FRESH = 'with the cache of fresh bodies, which has a bound of its own';

/**
 * Two million waiting messages, each step in a process of its own: fill and SIGKILL, open and close, open and drain.
 * The store is dropped from the page cache before each opening.
 */
export const coreBacklog: CoreMeasure = async (job) => {
  const fills: FillResult[] = [];
  const afterKill: OpenResult[] = [];
  const afterClose: OpenResult[] = [];
  let dropped = true;
  for (let run = 0; run < job.runs; run++) {
    const folder = join(job.folder, 'backlog');
    mkdirSync(folder);
    fills.push(await fillAndKill(folder));
    dropped = dropPageCache(folder) && dropped;
    afterKill.push(await step<OpenResult>('open', folder));
    dropped = dropPageCache(folder) && dropped;
    afterClose.push(await step<OpenResult>('drain', folder));
    rmSync(folder, { recursive: true });
  }
  const cache = dropped ? 'page cache dropped' : 'page cache warm';
  const openFigure = (name: string, results: readonly OpenResult[]): CoreFigure => {
    const times = results.map((one) => one.firstDeliveryMs);
    const measure = `core, open 2 M waiting ${name} to first delivery`;
    return atMost({ measure, unit: 'ms', bound: 1000, note: cache }, times);
  };
  const drains = afterClose.map((one) => one.drainPerSecond ?? Number.NaN);
  const fillRates = fills.map((one) => one.perSecond);
  return [
    openFigure('after a clean close', afterClose),
    openFigure('after SIGKILL', afterKill),
    atMost(
      { measure: 'core, memory of a waiting message, reopened', unit: 'B', bound: 64 },
      memory(afterClose),
    ),
    atMost(
      { measure: 'core, memory of a waiting message, just filled', unit: 'B', note: FRESH },
      memory(fills),
    ),
    {
      measure: 'core, draining the backlog',
      unit: 'msg/s',
      ours: median(drains),
      against: 'filling it',
      other: median(fillRates),
      target: { kind: 'at-least', value: 1 },
      note: `drained ${list(drains)}, filled ${list(fillRates)}`,
    },
  ];
};

function memory(results: readonly { readonly bytesPerMessage: number }[]): number[] {
  return results.map((one) => one.bytesPerMessage);
}

interface Bound {
  readonly measure: string;
  readonly unit: string;
  /** Absent: for information. */
  readonly bound?: number;
  readonly note?: string;
}

function atMost({ measure, unit, bound, note = '' }: Bound, values: readonly number[]): CoreFigure {
  const target = bound === undefined ? undefined : ({ kind: 'at-most', value: bound } as const);
  return {
    measure,
    unit,
    ours: median(values),
    against: '',
    other: undefined,
    target,
    note: `${list(values)} ${note}`,
  };
}

function step<T>(name: string, folder: string): Promise<T> {
  return runJson<T>(
    ['--expose-gc', benchModule('core/backlog-step.js'), name, folder, String(MESSAGES)],
    undefined,
  );
}

async function fillAndKill(folder: string): Promise<FillResult> {
  const args = [
    ...PRODUCT_FLAGS,
    '--expose-gc',
    benchModule('core/backlog-step.js'),
    'fill-and-wait',
    folder,
    String(MESSAGES),
  ];
  const child = new Child({ command: process.execPath, args });
  const [line] = await child.says(/^\{.*\}$/m, FILL_SECONDS_MAX);
  await child.stop('SIGKILL');
  return JSON.parse(line) as FillResult;
}
