import type { Clock } from '../../../base/clock.js';
import { Scheduler, Timeouts } from '../../../base/scheduler.js';
import { integerOf } from '../mapping/queue-arguments.js';
import type { Queue } from './types.js';

export interface IdleQueuesOptions {
  readonly clock: Clock;
  /** Whether somebody uses the queue now, over AMQP or otherwise. */
  readonly inUse: (queue: Queue) => boolean;
  /** Its time has passed without any use. */
  readonly onIdle: (queue: Queue) => void;
}

/**
 * Queues with `x-expires`: they go when nobody consumed from them, took from them or declared them for that long. The time
 * begins anew with every use, and with a restart. One timer for all of them.
 */
export class IdleQueues {
  readonly #options: IdleQueuesOptions;
  readonly #scheduler: Scheduler;
  readonly #timeouts = new Timeouts();
  /** The next look at each queue that expires. */
  readonly #looks = new Map<Queue, number>();

  constructor(options: IdleQueuesOptions) {
    this.#options = options;
    this.#scheduler = new Scheduler(options.clock);
    this.#scheduler.add(this.#timeouts);
  }

  /** Looks after a queue that is new, or whose life was changed; of no consequence without `x-expires`. */
  add(queue: Queue): void {
    const look = this.#looks.get(queue);
    if (look !== undefined) {
      this.#timeouts.cancel(look);
      this.#looks.delete(queue);
    }
    const field = queue.effective.get('x-expires');
    const expiresMs = field === undefined ? undefined : integerOf(field);
    if (expiresMs === undefined) return;
    this.touch(queue);
    this.#look(queue, expiresMs, queue.usedAt + expiresMs);
  }

  touch(queue: Queue): void {
    queue.usedAt = this.#options.clock.now();
  }

  #look(queue: Queue, expiresMs: number, at: number): void {
    const look = this.#timeouts.set(at, () => {
      this.#looks.delete(queue);
      if (!queue.alive) return;
      if (this.#options.inUse(queue)) this.touch(queue);
      const due = queue.usedAt + expiresMs;
      if (due > this.#options.clock.now()) this.#look(queue, expiresMs, due);
      else this.#options.onIdle(queue);
    });
    this.#looks.set(queue, look);
    this.#scheduler.poke();
  }

  stop(): void {
    this.#scheduler.stop();
  }
}
