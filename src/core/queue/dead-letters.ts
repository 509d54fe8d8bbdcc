import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import type { OutgoingMessage } from '../message.js';
import { encodeMessage, MessageView } from '../message-codec.js';
import { ByteWriter } from '../../base/bytes.js';
import type { Bodies } from './bodies.js';
import { exceeds } from './bounds.js';
import type { Channels } from './channels.js';
import type { Effects } from './effects.js';
import type { Family, Queue } from './family.js';
import { LetterRoutes, type LetterLogs } from './letter-routes.js';
import type { LettersUnderWay } from './letters-under-way.js';
import type { Mover } from './mover.js';
import type { DeadLetterReason, DeadLetterTarget } from './types.js';

/** Pause before a dead letter that could not be moved is tried again. */
const RETRY_MS = 1000;

/** Decides where a message goes that cannot stay, and takes it there in one journal entry. */
export class DeadLetters {
  readonly #core: CoreContext;
  readonly #effects: Effects;
  readonly #bodies: Bodies;
  readonly #mover: Mover;
  readonly #underWay: LettersUnderWay;
  readonly #routes: LetterRoutes;

  constructor(
    core: CoreContext,
    parts: {
      channels: Channels;
      effects: Effects;
      bodies: Bodies;
      mover: Mover;
      underWay: LettersUnderWay;
    },
  ) {
    this.#core = core;
    this.#effects = parts.effects;
    this.#bodies = parts.bodies;
    this.#mover = parts.mover;
    this.#underWay = parts.underWay;
    this.#routes = new LetterRoutes(core, parts, ({ queue, slot }) => this.#keep(queue, slot));
  }

  /** Letters may go to these logs from now on. */
  set logs(logs: LetterLogs) {
    this.#routes.logs = logs;
  }

  pastLife(slot: number, now: number): boolean {
    const expiresAt = this.#core.queues.table.extras.get(slot)?.expiresAt ?? 0;
    return expiresAt > 0 && expiresAt <= now;
  }

  /** Whether the queue has kept it as long as it keeps anything. */
  pastRetention(family: Family, slot: number, now: number): boolean {
    const { retentionMs } = family.settings;
    return retentionMs > 0 && this.#core.queues.table.enqueuedAt(slot) + retentionMs <= now;
  }

  /** Lets a message go whose time is over; false when it is not. `later` gets what ends only when a body was read from the disk. */
  endLife(
    queue: Queue,
    slot: number,
    { now, later }: { readonly now: number; readonly later?: Promise<void>[] },
  ): boolean {
    if (this.pastLife(slot, now)) {
      const leaving = this.bury(queue, slot, 'expired');
      if (leaving !== undefined) later?.push(leaving);
      return true;
    }
    if (!this.pastRetention(queue.family, slot, now)) return false;
    queue.family.expired++;
    this.drop(queue, slot);
    return true;
  }

  /** Whether the message has had all the deliveries it may have. */
  overLimit(queue: Queue, slot: number): boolean {
    const { table } = this.#core.queues;
    const own = table.extras.size > 0 ? (table.extras.get(slot)?.maxReceiveCount ?? 0) : 0;
    const limit = own > 0 ? own : (queue.family.settings.deadLetter?.maxReceiveCount ?? 0);
    return limit > 0 && table.receives(slot) >= limit;
  }

  /**
   * Takes a message out of its queue for good, from any state: to its dead-letter target, or nowhere. Gives a promise when
   * its body has to be read first.
   */
  bury(queue: Queue, slot: number, reason: DeadLetterReason): Promise<void> | undefined {
    const { family } = queue;
    if (reason === 'expired') family.expired++;
    const target = this.#targetOf(queue, slot, reason);
    if (target === undefined) {
      this.drop(queue, slot);
      return undefined;
    }
    family.deadLettered++;
    const leaving =
      'channel' in target
        ? this.#send(queue, slot, target.channel, reason)
        : this.#sendBy(target.route, queue, slot, reason);
    if (leaving !== undefined) this.#underWay.leavesAfter(leaving);
    return leaving;
  }

  #sendBy(route: string, queue: Queue, slot: number, reason: DeadLetterReason): Promise<void> | undefined {
    this.#core.queues.pick(queue, slot);
    const body = this.#bodies.peek(slot);
    if (body !== undefined) return this.#routes.send({ queue, slot }, { route, reason, body });
    return this.#bodies.read(slot).then(
      (read) => this.#routes.send({ queue, slot }, { route, reason, body: read }),
      (caught: unknown) => {
        this.#core.log.error('a dead letter could not be read; it is tried again', {
          channel: queue.name,
          error: String(caught),
        });
        this.#keep(queue, slot);
      },
    );
  }

  #send(
    queue: Queue,
    slot: number,
    target: ChannelName,
    reason: DeadLetterReason,
  ): Promise<void> | undefined {
    try {
      const keepExpiry = reason !== 'expired';
      const order = { target, reRoutedFrom: queue.name, keepExpiry, createMissing: true };
      return this.#mover.move(queue, slot, order);
    } catch (caught) {
      // Only a bound of the core refuses a move that makes its own target. The message is kept and tried again.
      this.#core.log.error('a dead letter could not be moved; it is tried again', {
        target,
        error: String(caught),
      });
      this.#core.queues.pick(queue, slot);
      this.#keep(queue, slot);
      return undefined;
    }
  }

  /** A picked message that cannot leave now stays in its queue, out of sight for a while. */
  #keep(queue: Queue, slot: number): void {
    if (queue.deleted) this.#core.queues.discardPicked(slot);
    else this.#core.queues.putDelayed(queue, slot, this.#core.clock.now() + RETRY_MS);
    this.#core.scheduler.poke();
  }

  drop(queue: Queue, slot: number): void {
    this.#effects.remove(queue.family, [this.#core.queues.table.sequence(slot)]);
    this.#core.queues.remove(queue, slot);
  }

  #targetOf(queue: Queue, slot: number, reason: DeadLetterReason): DeadLetterTarget | undefined {
    if (reason === 'max-receives') {
      const extras = this.#core.queues.table.extras.get(slot);
      if (extras !== undefined && extras.maxReceiveCount > 0) {
        return extras.maxReceiveQueue === '' ? undefined : { channel: extras.maxReceiveQueue as ChannelName };
      }
    }
    const settings = queue.family.settings.deadLetter;
    return settings?.reasons.includes(reason) === true ? settings.target : undefined;
  }

  /** Overflow: drops from the front of the highest priority until the queue is within its bounds. */
  trim(queue: Queue): void {
    const { maxLength, maxLengthBytes } = queue.family.settings;
    for (;;) {
      const over = exceeds(maxLength, queue.ready) || exceeds(maxLengthBytes, queue.readyBytes);
      const head = over ? queue.front : -1;
      if (head < 0) return;
      void this.bury(queue, head, 'overflow');
    }
  }

  /** A message that was refused at the door of a full queue: dead-lettered as it came. */
  refuse(queue: Queue, message: OutgoingMessage): void {
    const settings = queue.family.settings.deadLetter;
    if (settings?.reasons.includes('overflow') !== true) return;
    const w = new ByteWriter(message.body.length + 256);
    encodeMessage(w, message, queue.family.base.id, 0);
    const view = new MessageView(w.buffer.subarray(0, w.length), this.#core.translators);
    queue.family.deadLettered++;
    const { target } = settings;
    if ('channel' in target) this.#mover.resend(view, [{ channel: target.channel }], undefined);
    else this.#routes.resend(queue, target.route, view);
  }
}
