import { median } from './stats.js';
import { benchModule, PRODUCT_FLAGS } from './paths.js';
import { Child, GENERATOR_CORE } from './process.js';
import type { BenchOptions } from './options.js';
import type { LoadJob, Phase, Run } from '../load/job.js';
import type { Contender } from '../server/server.js';

/** Long enough to make both sides' compilers busy. */
const WARM_UP_SECONDS = 3;
/** A drain that takes longer is cut. */
const DRAIN_SECONDS_MAX = 20;
/** A send phase ends here too, so that drains compare and peers that keep all in memory live. */
const MESSAGES_MAX = 200_000;
/** All runs of the slowest measure, on a machine that does other things too. */
const WORKER_SECONDS_MAX = 1800;

/** The runs of one load against one contender. */
export interface Measured {
  readonly contender: string;
  readonly load: string;
  readonly runs: readonly Run[];
  /** Why there are no runs. */
  readonly failure?: string;
}

export interface MeasureRequest {
  readonly contender: Contender;
  readonly load: string;
  /** Wire whose port the load speaks to. */
  readonly wire: string;
  readonly options: BenchOptions;
  readonly drainSecondsMax?: number | undefined;
  readonly messagesMax?: number | undefined;
}

/** Starts the contender, runs the load in a process of its own, stops the contender. Never throws. */
export async function measure(request: MeasureRequest): Promise<Measured> {
  const { contender, load, options } = request;
  const absent = contender.absent();
  if (absent !== undefined)
    return { contender: contender.name, load, runs: [], failure: `skipped: ${absent}` };
  try {
    const server = await contender.start();
    try {
      const port = server.ports[request.wire];
      if (port === undefined)
        throw new Error(`no ${request.wire} port among ${JSON.stringify(server.ports)}`);
      const job: LoadJob = {
        load,
        port,
        serverPid: server.pid,
        seconds: options.seconds,
        warmUpSeconds: contender.warmUpSeconds ?? WARM_UP_SECONDS,
        runs: options.runs,
        messagesMax: request.messagesMax ?? MESSAGES_MAX,
        drainSecondsMax: request.drainSecondsMax ?? DRAIN_SECONDS_MAX,
      };
      return { contender: contender.name, load, runs: await runWorker(job) };
    } finally {
      await server.stop();
    }
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { contender: contender.name, load, runs: [], failure };
  }
}

async function runWorker(job: LoadJob): Promise<readonly Run[]> {
  const args = [benchModule('load/worker.js'), JSON.stringify(job)];
  return runJson<readonly Run[]>(args, GENERATOR_CORE);
}

/** Runs a module of the bench and reads the JSON it prints last. */
export async function runJson<T>(args: readonly string[], core: number | undefined): Promise<T> {
  const child = new Child({ command: process.execPath, args: [...PRODUCT_FLAGS, ...args], core });
  let text = '';
  child.process.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  const timer = setTimeout(() => child.process.kill('SIGKILL'), WORKER_SECONDS_MAX * 1000);
  const code = await new Promise<number | null>((resolve) => child.process.once('close', resolve));
  clearTimeout(timer);
  if (code !== 0) throw new Error(`the load ended with ${String(code)}: ${child.output.slice(-1500).trim()}`);
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as T;
}

/** Median rate of a phase over all runs; undefined without runs. */
export function rate(measured: Measured, phase: number): number | undefined {
  const phases = phasesOf(measured, phase);
  return phases.length === 0 ? undefined : median(phases.map((one) => one.perSecond));
}

/** Median of a latency of a phase over all runs. */
export function latency(measured: Measured, phase: number, which: 'p50' | 'p99'): number | undefined {
  const values = phasesOf(measured, phase).map((one) => one.latencyMs?.[which] ?? Number.NaN);
  return values.length === 0 ? undefined : median(values);
}

function phasesOf(measured: Measured, phase: number): Phase[] {
  return measured.runs.map((run) => run.phases[phase]).filter((one) => one !== undefined);
}

/** What a reader must know of these runs: failures, losses, who was the bottleneck. */
export function noteOf(measured: Measured, phase: number): string {
  if (measured.failure !== undefined)
    return `${measured.contender}: ${measured.failure.split('\n')[0] ?? ''}`;
  const sum = (of: (run: Run) => number) => measured.runs.reduce((total, run) => total + of(run), 0);
  const lost = sum((run) => (run.drained ? run.counts.lost : 0));
  const duplicated = sum((run) => run.counts.duplicated);
  const foreign = sum((run) => run.counts.foreign);
  const notes: string[] = [];
  if (lost + duplicated + foreign > 0) {
    notes.push(`LOST ${String(lost)} DUPLICATED ${String(duplicated)} FOREIGN ${String(foreign)}`);
  } else {
    notes.push(measured.runs.every((run) => run.drained) ? 'exact' : 'no duplicate, drain cut');
  }
  const phases = phasesOf(measured, phase);
  const cores = (of: (one: Phase) => number) => median(phases.map(of)).toFixed(2);
  notes.push(
    `cores: server ${cores((one) => one.serverCores)} generator ${cores((one) => one.generatorCores)} other ${cores((one) => one.otherCores)}`,
  );
  // What one core can do at most, whatever else runs on the machine.
  const cost = median(phases.map((one) => (one.serverCores / one.perSecond) * 1_000_000));
  notes.push(`server ${cost.toFixed(1)} µs a message`);
  return `${measured.contender}: ${notes.join(', ')}`;
}
