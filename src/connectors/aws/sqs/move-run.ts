import { channelName } from '../../../core/channel-name.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import type { Delivery } from '../../../core/queue/types.js';
import { SQS_FAULTS } from '../errors.js';
import { groupOfChannel, queueChannel } from '../names.js';
import { groupPlace } from './group-place.js';
import type { MoveTask, MoveTasksOptions, MoveTaskStatus } from './move-tasks.js';

/** Messages moved in one step, and their bodies. */
const STEP_MESSAGES_MAX = 100;
const STEP_BYTES_MAX = 4 * 1024 * 1024;
/** How long a step owns its messages: far more than it takes. */
const LEASE_MS = 60_000;
/** Pause between steps that keep to a rate, and before a failed step is tried again. */
const RATE_STEP_MS = 100;
const RETRY_MS = 1_000;
/** How often the figure of moved messages is written down. */
const SAVE_MS = 1_000;

const NO_QUEUE = SQS_FAULTS.queueDoesNotExist.code;
const NO_SOURCE = 'CouldNotDetermineMessageSource';

interface Ending {
  readonly status: MoveTaskStatus;
  readonly reason?: string;
}

/** One running move task. It ends when as many messages were moved as there were at its begin, or none is left. */
export class MoveRun {
  readonly id: string;
  /** Settles, never rejects, when nothing of the task runs any more. */
  readonly finished: Promise<void>;
  readonly #options: MoveTasksOptions;
  readonly #source: string;
  readonly #save: (task: MoveTask) => Promise<void>;
  #task: MoveTask;
  #moved: number;
  /** Of this run: what a rate counts from. */
  readonly #beganAt: number;
  #movedHere = 0;
  #savedAt: number;
  #cancelled = false;
  #interrupted = false;
  #wake: (() => void) | undefined;

  constructor(
    options: MoveTasksOptions,
    source: string,
    task: MoveTask,
    save: (task: MoveTask) => Promise<void>,
  ) {
    this.#options = options;
    this.#source = source;
    this.#task = task;
    this.#save = save;
    this.id = task.id;
    this.#moved = task.moved;
    this.#beganAt = options.clock.now();
    this.#savedAt = this.#beganAt;
    this.finished = this.#run();
  }

  get moved(): number {
    return this.#moved;
  }

  /** Ends it for good. False: it had ended by itself. */
  async cancel(): Promise<boolean> {
    this.#cancelled = true;
    this.#wake?.();
    await this.finished;
    return this.#task.status === 'CANCELLED';
  }

  /** Stops here; the registry still says that it runs. */
  async interrupt(): Promise<void> {
    this.#interrupted = true;
    this.#wake?.();
    await this.finished;
  }

  async #run(): Promise<void> {
    const { broker, log } = this.#options;
    // What was moved since the figure was last written is not in it: what is there now counts.
    let left = broker.queueStats(queueChannel(this.#source))?.ready ?? 0;
    while (!this.#interrupted) {
      try {
        const end = await this.#go(left);
        if (typeof end === 'object') {
          await this.#end(end.status, end.reason);
          return;
        }
        left -= end;
      } catch (error) {
        const { kind, message } = BrokerError.from(error);
        if (kind === 'draining') return;
        log.warn('a step of a message move task failed; it is tried again', { queue: this.#source, message });
        await this.#pause(RETRY_MS);
      }
    }
  }

  /** One step or one pause: gives the messages moved, or how the task ends. `left`: messages still to move. */
  async #go(left: number): Promise<number | Ending> {
    if (this.#cancelled) return { status: 'CANCELLED' };
    if (left <= 0) return { status: 'COMPLETED' };
    const allowed = Math.min(left, this.#allowance(), STEP_MESSAGES_MAX);
    if (allowed <= 0) {
      await this.#pause(RATE_STEP_MS);
      return 0;
    }
    const step = await this.#step(allowed);
    if (typeof step === 'string') return { status: 'FAILED', reason: step };
    if (step === 0) return { status: 'COMPLETED' };
    await this.#saveFigure();
    return step;
  }

  /** Messages the rate allows now. */
  #allowance(): number {
    const { rate } = this.#task;
    if (rate === undefined) return STEP_MESSAGES_MAX;
    const elapsedMs = this.#options.clock.now() - this.#beganAt;
    return Math.floor((elapsedMs * rate) / 1000) - this.#movedHere;
  }

  /** Moves up to `max` messages; gives how many, or why it cannot go on. */
  async #step(max: number): Promise<number | string> {
    const { broker } = this.#options;
    const channel = queueChannel(this.#source);
    if (broker.queueStats(channel) === undefined) return NO_QUEUE;
    const deliveries = await broker.receive({
      channel,
      max,
      maxBytes: STEP_BYTES_MAX,
      waitMs: 0,
      handOut: { kind: 'lease', leaseMs: LEASE_MS },
    });
    const byTarget = new Map<ChannelName, Delivery[]>();
    const stuck: Delivery[] = [];
    let reason: string | undefined;
    for (const delivery of deliveries) {
      const target = this.#targetOf(delivery);
      if (typeof target !== 'object') {
        const list = byTarget.get(target);
        if (list === undefined) byTarget.set(target, [delivery]);
        else list.push(delivery);
      } else {
        reason ??= target.reason;
        stuck.push(delivery);
      }
    }
    if (stuck.length > 0) {
      await broker.settle({ tokens: stuck, settlement: { kind: 'nack', to: 'origin', uncounted: true } });
    }
    let moved = 0;
    for (const [target, tokens] of byTarget) {
      const settlement = { kind: 'move', channel: target } as const;
      const { refused } = await broker.settle({ tokens, settlement, durable: true });
      const count = tokens.length - refused.length;
      moved += count;
      this.#moved += count;
      this.#movedHere += count;
    }
    return reason ?? moved;
  }

  /** Where a message goes: groups keep apart in their new queue. */
  #targetOf(delivery: Delivery): ChannelName | { readonly reason: string } {
    const { broker, queues } = this.#options;
    const { destination } = this.#task;
    if (destination === undefined) {
      if (delivery.reRoutedFrom === '') return { reason: NO_SOURCE };
      const source = channelName(delivery.reRoutedFrom);
      return broker.queueStats(broker.baseOf(source)) === undefined ? { reason: NO_QUEUE } : source;
    }
    const queue = queues.find(destination);
    if (queue === undefined) return { reason: NO_QUEUE };
    const base = broker.resolve(queue.channel);
    const group = groupOfChannel(broker.resolve(queueChannel(this.#source)), delivery.channel);
    return groupPlace(broker, base, group);
  }

  async #saveFigure(): Promise<void> {
    const now = this.#options.clock.now();
    if (now - this.#savedAt < SAVE_MS) return;
    this.#savedAt = now;
    this.#task = { ...this.#task, moved: this.#moved };
    await this.#save(this.#task);
  }

  async #end(status: MoveTaskStatus, failureReason?: string): Promise<void> {
    const task = { ...this.#task, status, moved: this.#moved, failureReason };
    await this.#save(task);
    this.#task = task;
  }

  /** Waits, or less when the task is to end. */
  async #pause(ms: number): Promise<void> {
    if (this.#cancelled || this.#interrupted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
