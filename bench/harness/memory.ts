import { residentMiB } from './cpu.js';
import { median } from './stats.js';
import { wanted } from './wires.js';
import type { BenchOptions } from './options.js';
import type { Row } from './report.js';
import { polymq, polymqAmqpOnly } from '../server/polymq.js';
import { rabbitmq } from '../server/rabbitmq.js';
import type { Contender } from '../server/server.js';

/** After a start, until whatever it left is collected. */
const QUIET_SECONDS = 10;
const SAMPLES = 5;

/** Memory of a server that was started and does nothing. */
export const MEMORY_MEASURES = [{ id: 'memory-amqp' }] as const;

interface AtRest {
  readonly contender: string;
  /** One figure a start: the median of samples a second apart. */
  readonly mebibytes: readonly number[];
  readonly failure?: string;
}

/** RabbitMQ without plug-ins serves AMQP only: we are compared with it as AMQP's server alone, and as everything at once. */
export async function measureMemory({ id }: { readonly id: string }, options: BenchOptions) {
  const theirs = wanted(rabbitmq, options) ? await atRest(rabbitmq, options) : undefined;
  const rows: Row[] = [];
  const details: AtRest[] = theirs === undefined ? [] : [theirs];
  for (const [contender, title] of [
    [polymqAmqpOnly, 'AMQP alone'],
    [polymq, 'every connector'],
  ] as const) {
    const ours = await atRest(contender, options);
    details.push(ours);
    rows.push({
      id,
      measure: `memory at rest, ${title}`,
      unit: 'MiB',
      ours: figure(ours),
      against: theirs?.contender ?? 'nothing',
      other: theirs === undefined ? undefined : figure(theirs),
      target: theirs === undefined ? undefined : { kind: 'at-most', value: 0.5 },
      note: [ours, theirs].flatMap((one) => one?.failure ?? []).join('; '),
    });
  }
  return { rows, details };
}

function figure({ mebibytes }: AtRest): number | undefined {
  return mebibytes.length === 0 ? undefined : median(mebibytes);
}

async function atRest(contender: Contender, options: BenchOptions): Promise<AtRest> {
  const { name } = contender;
  const absent = contender.absent();
  if (absent !== undefined) return { contender: name, mebibytes: [], failure: `${name}: skipped: ${absent}` };
  try {
    const mebibytes: number[] = [];
    for (let run = 0; run < options.runs; run++) mebibytes.push(await oneStart(contender));
    return { contender: name, mebibytes };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { contender: name, mebibytes: [], failure: `${name}: ${failure.split('\n')[0] ?? ''}` };
  }
}

async function oneStart(contender: Contender): Promise<number> {
  const server = await contender.start();
  try {
    await seconds(QUIET_SECONDS);
    const samples: number[] = [];
    while (samples.length < SAMPLES) {
      samples.push(residentMiB(server.pid));
      await seconds(1);
    }
    if (samples.includes(0)) throw new Error('its memory cannot be read');
    return median(samples);
  } finally {
    await server.stop();
  }
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, count * 1000));
}
