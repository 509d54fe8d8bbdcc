import type { LedgerCounts } from '../client/ledger.js';
import { machineSeconds, processSeconds } from '../harness/cpu.js';

/** What a load worker is told, as one JSON argument. */
export interface LoadJob {
  /** A name of `load/worker.ts`. */
  readonly load: string;
  readonly port: number;
  /** The server's process, to read its processor time. */
  readonly serverPid: number;
  /** Length of a timed phase. */
  readonly seconds: number;
  /** Length of the untimed run before the timed ones. */
  readonly warmUpSeconds: number;
  /** Timed runs. */
  readonly runs: number;
  /** A send phase also ends here. */
  readonly messagesMax: number;
  /** A drain is cut after this; then losses cannot be told. */
  readonly drainSecondsMax: number;
}

/** One timed part of a run. */
export interface Phase {
  readonly name: string;
  readonly messages: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly latencyMs?: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly serverCores: number;
  readonly generatorCores: number;
  /** Load of everything else on the machine. */
  readonly otherCores: number;
}

/** One run of a load. */
export interface Run {
  readonly phases: readonly Phase[];
  readonly counts: LedgerCounts;
  /** Whether everything confirmed could be received in the time given. */
  readonly drained: boolean;
}

/** What one run is given. `label` is new for each run: part of the names of its queues. */
export interface RunContext {
  readonly job: LoadJob;
  readonly label: string;
}

export type Load = (context: RunContext) => Promise<Run>;

/** Times `work`, which gives the number of messages it handled. */
export async function phase(name: string, job: LoadJob, work: () => Promise<number>): Promise<Phase> {
  const before = [machineSeconds(), processSeconds(job.serverPid), ownSeconds()] as const;
  const start = performance.now();
  const messages = await work();
  const seconds = (performance.now() - start) / 1000;
  const server = processSeconds(job.serverPid) - before[1];
  const own = ownSeconds() - before[2];
  return {
    name,
    messages,
    seconds,
    perSecond: messages / seconds,
    serverCores: server / seconds,
    generatorCores: own / seconds,
    otherCores: Math.max(0, (machineSeconds() - before[0] - server - own) / seconds),
  };
}

/** Several phases as one. */
export function together(phases: readonly Phase[]): Phase {
  const sum = (of: (one: Phase) => number): number => phases.reduce((total, one) => total + of(one), 0);
  const seconds = sum((one) => one.seconds);
  const messages = sum((one) => one.messages);
  const cores = (of: (one: Phase) => number): number => sum((one) => of(one) * one.seconds) / seconds;
  return {
    name: phases[0]?.name ?? '',
    messages,
    seconds,
    perSecond: messages / seconds,
    serverCores: cores((one) => one.serverCores),
    generatorCores: cores((one) => one.generatorCores),
    otherCores: cores((one) => one.otherCores),
  };
}

function ownSeconds(): number {
  const usage = process.cpuUsage();
  return (usage.user + usage.system) / 1_000_000;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Throws unless `condition`: an answer that is not what the protocol promises ends the measurement. */
export function expect(condition: boolean, what: string, answer?: unknown): asserts condition {
  if (condition) return;
  const text = answer instanceof Uint8Array ? Buffer.from(answer).toString('utf8') : JSON.stringify(answer);
  throw new Error(answer === undefined ? what : `${what}: ${text.slice(0, 400)}`);
}

/** Calls `send` at `perSecond` for `seconds`; late ticks are made up, so the rate holds. */
export async function paced(perSecond: number, seconds: number, send: () => void): Promise<void> {
  const start = performance.now();
  const total = Math.floor(perSecond * seconds);
  for (let done = 0; done < total;) {
    const due = Math.min(total, Math.floor(((performance.now() - start) / 1000) * perSecond) + 1);
    for (; done < due; done++) send();
    await sleep(1);
  }
}

/** Waits until `done` or the time is over; gives whether it was done. */
export async function waitUntil(done: () => boolean, secondsMax: number): Promise<boolean> {
  const end = performance.now() + secondsMax * 1000;
  while (!done()) {
    if (performance.now() > end) return false;
    await sleep(1);
  }
  return true;
}
