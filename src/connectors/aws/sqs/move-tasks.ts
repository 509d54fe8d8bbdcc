import { BrokerError } from '../../../core/errors.js';
import type { Broker } from '../../../core/broker-api.js';
import type { Clock } from '../../../base/clock.js';
import type { Log } from '../../../base/log.js';
import { MoveRun } from './move-run.js';
import type { QueueRegistry } from './queue-registry.js';

export const MOVE_TASKS_KIND = 'aws.move-tasks';
/** Tasks of one queue that are remembered, as many as ListMessageMoveTasks can show. */
export const MOVE_TASKS_MAX = 10;
/** Tries against concurrent writers. */
const ATTEMPTS_MAX = 5;

export type MoveTaskStatus = 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'FAILED';

/** One message move task, as the registry keeps it. */
export interface MoveTask {
  readonly id: string;
  /** Name of the destination queue; absent: each message goes to where it was dead-lettered from. */
  readonly destination?: string | undefined;
  /** Messages a second; absent: as fast as the disk goes. */
  readonly rate?: number | undefined;
  /** Unix ms. */
  readonly startedAt: number;
  readonly status: MoveTaskStatus;
  /** Messages in the queue when the task began. */
  readonly toMove: number;
  readonly moved: number;
  readonly failureReason?: string | undefined;
}

/** The registry's value under the name of the source queue: newest first, at most one of them running. */
interface MoveTasksRecord {
  readonly tasks: readonly MoveTask[];
}

/** What the running tasks work with. */
export interface MoveTasksOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly queues: QueueRegistry;
}

/** Message move tasks: kept in the registry, so that a restart goes on with those that run. */
export class MoveTasks {
  readonly #options: MoveTasksOptions;
  /** By source queue. */
  readonly #runs = new Map<string, MoveRun>();

  constructor(options: MoveTasksOptions) {
    this.#options = options;
  }

  /** Goes on with tasks that a stop or a crash interrupted. */
  start(): void {
    for (const { key, value } of this.#options.broker.registry.list<MoveTasksRecord>(MOVE_TASKS_KIND)) {
      const running = value.tasks.find(({ status }) => status === 'RUNNING');
      if (running !== undefined) this.#run(key, running);
    }
  }

  /** Interrupts all tasks after the batch they are at; they stay running in the registry. */
  async stop(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.interrupt()));
  }

  /** The tasks of a source queue, newest first, with live figures. */
  list(source: string): readonly MoveTask[] {
    const run = this.#runs.get(source);
    return this.#stored(source).tasks.map((task) =>
      run !== undefined && run.id === task.id && task.status === 'RUNNING'
        ? { ...task, moved: run.moved }
        : task,
    );
  }

  /** Begins a task. False: one is running already. */
  async begin(source: string, task: MoveTask): Promise<boolean> {
    const begun = await this.#change(source, (tasks) =>
      tasks.some(({ status }) => status === 'RUNNING')
        ? undefined
        : [task, ...tasks].slice(0, MOVE_TASKS_MAX),
    );
    if (begun) this.#run(source, task);
    return begun;
  }

  /** Ends a running task after the batch it is at and gives the number of messages moved; undefined: it does not run. */
  async cancel(source: string, id: string): Promise<number | undefined> {
    const run = this.#runs.get(source);
    if (run?.id !== id) return undefined;
    return (await run.cancel()) ? run.moved : undefined;
  }

  #run(source: string, task: MoveTask): void {
    const run = new MoveRun(this.#options, source, task, async (now) => {
      await this.#change(source, (tasks) =>
        tasks.some(({ id }) => id === now.id)
          ? tasks.map((one) => (one.id === now.id ? now : one))
          : undefined,
      );
    });
    this.#runs.set(source, run);
    void run.finished.then(() => {
      if (this.#runs.get(source) === run) this.#runs.delete(source);
    });
  }

  #stored(source: string): MoveTasksRecord & { readonly version: number } {
    const entry = this.#options.broker.registry.get<MoveTasksRecord>(MOVE_TASKS_KIND, source);
    return { tasks: entry?.value.tasks ?? [], version: entry?.version ?? 0 };
  }

  /** Compare-and-set of a queue's tasks; `change` gives undefined to leave them. Whether it changed them. */
  async #change(
    source: string,
    change: (tasks: readonly MoveTask[]) => readonly MoveTask[] | undefined,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      const { tasks, version } = this.#stored(source);
      const changed = change(tasks);
      if (changed === undefined) return false;
      try {
        await this.#options.broker.change([
          { do: 'put', kind: MOVE_TASKS_KIND, key: source, value: { tasks: changed }, expected: version },
        ]);
        return true;
      } catch (error) {
        if (BrokerError.from(error).kind !== 'precondition' || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  }
}
