import { BrokerError } from '../../../core/errors.js';
import type { OutgoingMessage } from '../../../core/message.js';
import type { LogEvent } from '../../../core/log/types.js';
import { archiveChannel, replayChannel } from '../names.js';
import { archivedContent } from './archive.js';
import { copyOrLetter } from './fan-out.js';
import { FilterValues } from './filter-values.js';
import { isUnderWay, replaySpan } from './replay-policy.js';
import type { ReplayStatus } from './replay-policy.js';
import { replayChanges } from './replay-progress.js';
import type { ReplayServices } from './replays.js';
import type { Subscription } from './subscription.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

/** Messages replayed in one step, and their bytes. */
const STEP_EVENTS_MAX = 100;
const STEP_BYTES_MAX = 4 * 1024 * 1024;
/** Pause before a failed step is tried again. */
const RETRY_MS = 1_000;
/** Longest that a timer can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface ReplayTask {
  readonly key: string;
  readonly topic: string;
  readonly id: string;
  /** What has to end first. */
  readonly after: Promise<void> | undefined;
  /** Does work while nothing is published to the topic. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * One replay. Each step puts copies into the queue and, in the same entry, the place it came to: a crash neither repeats nor
 * skips a message. Until it is done the subscription gets nothing else; then it is handed over to the publishers while none
 * of them is at work, so that every message comes once and in order.
 */
export class ReplayRun {
  readonly id: string;
  readonly topic: string;
  /** Settles, never rejects, when nothing of it runs any more. */
  readonly finished: Promise<void>;
  readonly #services: ReplayServices;
  readonly #task: ReplayTask;
  /** Last archived event that was dealt with. */
  #position: number | undefined;
  #interrupted = false;
  #wake: (() => void) | undefined;

  constructor(services: ReplayServices, task: ReplayTask) {
    this.#services = services;
    this.#task = task;
    this.id = task.id;
    this.topic = task.topic;
    this.finished = this.#run();
  }

  /** Something was published. */
  wake(): void {
    this.#wake?.();
  }

  /** Stops here; the registry still says that it goes on. */
  async interrupt(): Promise<void> {
    this.#interrupted = true;
    this.#wake?.();
    await this.finished;
  }

  async #run(): Promise<void> {
    await this.#task.after;
    // Whoever began it is told first.
    await Promise.resolve();
    while (!this.#interrupted) {
      try {
        if (await this.#go()) return;
      } catch (error) {
        const { kind, message } = BrokerError.from(error);
        if (kind === 'draining') return;
        const { key } = this.#task;
        this.#services.log.warn('a step of a replay failed; it is tried again', {
          subscription: key,
          message,
        });
        await this.#pause(RETRY_MS);
      }
    }
  }

  /** One step or one wait; true when it is over. */
  async #go(): Promise<boolean> {
    const subscription = this.#subscription();
    if (subscription === undefined) return true;
    if (this.#services.broker.logStats(archiveChannel(this.topic)) === undefined) {
      await this.#settle('Failed');
      return true;
    }
    if (subscription.record.replay?.status === 'Pending') await this.#settle('In progress');
    const { until } = this.#span(subscription);
    if (await this.#step(subscription)) return false;
    const left = until === undefined ? 0 : until - this.#services.clock.now();
    if (left >= 0 && until !== undefined) {
      await this.#pause(Math.min(left + 1, TIMER_MS_MAX));
      return false;
    }
    return this.#task.alone(async () => {
      for (;;) {
        const now = this.#subscription();
        if (now === undefined) return true;
        if (this.#interrupted) return false;
        if (!(await this.#step(now))) break;
      }
      await this.#settle('Completed');
      return true;
    });
  }

  #span({ record }: Subscription): ReturnType<typeof replaySpan> {
    return replaySpan(record.attributes['ReplayPolicy'] ?? '');
  }

  /** The subscription while this replay is what it asks for. */
  #subscription(): Subscription | undefined {
    const subscription = this.#services.topics.findSubscription(this.#task.key);
    const replay = subscription?.record.replay;
    return replay?.id === this.id && isUnderWay(replay) ? subscription : undefined;
  }

  /** Replays the next archived messages; false when there are none. */
  async #step(subscription: Subscription): Promise<boolean> {
    const { broker } = this.#services;
    const channel = archiveChannel(this.topic);
    const position = (this.#position ??= await this.#begin(subscription));
    const events = await broker.readLog({
      channel,
      fromSequence: position + 1,
      max: STEP_EVENTS_MAX,
      maxBytes: STEP_BYTES_MAX,
    });
    const last = events.at(-1);
    if (last === undefined) return false;
    const copies = this.#copies(subscription, events);
    await broker.send([...copies, this.#mark(last.sequence)]);
    this.#position = last.sequence;
    return true;
  }

  #copies(subscription: Subscription, events: readonly LogEvent[]): OutgoingMessage[] {
    const { from, until = Infinity } = this.#span(subscription);
    const copies: OutgoingMessage[] = [];
    for (const { message } of events) {
      const content = archivedContent(message);
      if (content === undefined || content.timestamp < from || content.timestamp > until) continue;
      const { filter } = subscription;
      if (filter !== undefined && !new FilterValues(content.attributes).passes(filter, content.text))
        continue;
      const copy = copyOrLetter(this.#services, subscription, content);
      if (copy !== undefined) copies.push(copy);
    }
    return copies;
  }

  /** The place a replay came to, as a message of its own queue. */
  #mark(position: number): OutgoingMessage {
    const body = Buffer.from(JSON.stringify({ id: this.id, position }));
    return { channel: replayChannel(this.#task.key), body };
  }

  /** Where to go on: behind its mark, or before the first message of its span. */
  async #begin(subscription: Subscription): Promise<number> {
    const { broker } = this.#services;
    const [mark] = await broker.peek(replayChannel(this.#task.key), 1);
    if (mark !== undefined) {
      const { body } = mark.message;
      const kept = JSON.parse(Buffer.from(body).toString()) as { id: string; position: number };
      if (kept.id === this.id) return kept.position;
    }
    return broker.sequenceAt(archiveChannel(this.topic), this.#span(subscription).from) - 1;
  }

  async #settle(status: ReplayStatus): Promise<void> {
    for (;;) {
      const subscription = this.#subscription();
      if (subscription === undefined) return;
      const { key, record, version } = subscription;
      const value = { ...record, replay: { id: this.id, status } };
      const over = status === 'In progress' ? [] : replayChanges(key, false);
      try {
        await this.#services.broker.change([
          { do: 'put', kind: SUBSCRIPTION_KIND, key, value, expected: version },
          ...over,
        ]);
        return;
      } catch (error) {
        if (BrokerError.from(error).kind !== 'precondition') throw error;
      }
    }
  }

  /** Waits, or less when something happens. */
  async #pause(ms: number): Promise<void> {
    if (this.#interrupted) return;
    await new Promise<void>((resolve) => {
      const timer = this.#services.clock.after(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
