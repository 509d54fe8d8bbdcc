import { BrokerError } from '../errors.js';
import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import type { OutgoingMessage } from '../message.js';
import { MessageView } from '../message-codec.js';
import type { Channels } from './channels.js';
import type { Queue } from './family.js';
import type { LettersUnderWay } from './letters-under-way.js';
import { copyOf, type Mover } from './mover.js';
import type { DeadLetterCopy, DeadLetterReason } from './types.js';

/** Where letters to logs go. */
export interface LetterLogs {
  has(name: ChannelName): boolean;
  /** The log's own name, when it goes by another one here. */
  nameOf(name: ChannelName): ChannelName;
  /**
   * Appends the letter and, in the same entry, takes the picked slot out of its queue, when there is one. `ended` hears whether
   * it was written; the slot is still picked when it was not. Throws what an append throws.
   */
  forward(
    events: readonly OutgoingMessage[],
    from: LetterPlace | undefined,
    ended: (written: boolean) => void,
  ): void;
}

/** Where a letter is until it has left: a picked slot. */
export interface LetterPlace {
  readonly queue: Queue;
  readonly slot: number;
}

interface PartedCopies {
  readonly toQueues: readonly DeadLetterCopy[];
  readonly toLogs: readonly DeadLetterCopy[];
}

/** Takes dead letters where a route says: to queues, to logs, or to both. */
export class LetterRoutes {
  readonly #core: CoreContext;
  readonly #channels: Channels;
  readonly #mover: Mover;
  readonly #underWay: LettersUnderWay;
  readonly #keep: (from: LetterPlace) => void;
  logs: LetterLogs | undefined;

  /** `keep` gets picked letters that cannot leave now. */
  constructor(
    core: CoreContext,
    parts: { channels: Channels; mover: Mover; underWay: LettersUnderWay },
    keep: (from: LetterPlace) => void,
  ) {
    this.#core = core;
    this.#channels = parts.channels;
    this.#mover = parts.mover;
    this.#underWay = parts.underWay;
    this.#keep = keep;
  }

  /** Sends a picked letter on its way. Gives a promise when it leaves for queues later. */
  send(
    from: LetterPlace,
    letter: { route: string; reason: DeadLetterReason; body: Uint8Array },
  ): Promise<void> | undefined {
    const { queue, slot } = from;
    const view = new MessageView(letter.body, this.#core.translators);
    const receiveCount = this.#core.queues.table.receives(slot);
    const copies = this.#resolve(letter.route, { queue, reason: letter.reason, view, receiveCount });
    if (copies === undefined) {
      this.#keep(from);
      return undefined;
    }
    const { toQueues, toLogs } = parted(copies);
    if (toLogs.length > 0 && toQueues.length > 0)
      return this.#sendToBoth(from, letter.body, { toQueues, toLogs });
    this.#trying(from, () => {
      if (toLogs.length === 0) this.#mover.resend(view, toQueues, from);
      else
        this.#forward(view, toLogs, from, (written) => {
          if (!written) this.#keep(from);
        });
    });
    return undefined;
  }

  /** Sends on what was refused at the door of a queue, as the route says. */
  resend(queue: Queue, route: string, view: MessageView): void {
    const copies = this.#resolve(route, { queue, reason: 'overflow', view, receiveCount: 0 });
    if (copies === undefined) return;
    const { toQueues, toLogs } = parted(copies);
    if (toQueues.length > 0) this.#mover.resend(view, toQueues, undefined);
    if (toLogs.length === 0) return;
    this.#forward(view, toLogs, undefined, (written) => {
      if (!written) this.#core.log.error('a dead letter was not stored', { channel: queue.name });
    });
  }

  /**
   * Logs first, then queues: what is written to logs only when the broker ends stays in its queue, and comes once more. Resolves
   * when the second step is taken.
   */
  #sendToBoth(from: LetterPlace, body: Uint8Array, { toQueues, toLogs }: PartedCopies): Promise<void> {
    // What was peeked at is not ours to keep.
    const view = new MessageView(Buffer.from(body), this.#core.translators);
    return new Promise((resolve) => {
      const ended = (written: boolean): void => {
        if (!written) this.#keep(from);
        else if (from.queue.deleted) {
          this.#mover.resend(view, toQueues, undefined);
          this.#core.queues.discardPicked(from.slot);
        } else this.#trying(from, () => this.#mover.resend(view, toQueues, from));
        resolve();
      };
      const begun = this.#trying(from, () => this.#forward(view, toLogs, undefined, ended));
      if (!begun) resolve();
    });
  }

  /** As with a move, only a bound of the core refuses: nothing has changed then, and the letter is tried again. */
  #trying(from: LetterPlace, move: () => void): boolean {
    try {
      move();
      return true;
    } catch (caught) {
      this.#core.log.error('a dead letter could not be moved; it is tried again', { error: String(caught) });
      this.#keep(from);
      return false;
    }
  }

  #forward(
    view: MessageView,
    copies: readonly DeadLetterCopy[],
    from: LetterPlace | undefined,
    ended: (written: boolean) => void,
  ): void {
    const { logs } = this;
    if (logs === undefined) return;
    const names = copies.map((copy) => logs.nameOf(copy.channel));
    const events = copies.map((copy) => copyOf(view, copy, false));
    const landed = (): void => {
      for (const name of names) this.#underWay.landed(name);
    };
    for (const name of names) this.#underWay.left(name);
    try {
      logs.forward(events, from, (written) => {
        landed();
        ended(written);
      });
    } catch (caught) {
      landed();
      throw caught;
    }
  }

  /** Where a route says the message goes; undefined when nobody can say. */
  #resolve(
    route: string,
    letter: { queue: Queue; reason: DeadLetterReason; view: MessageView; receiveCount: number },
  ): readonly DeadLetterCopy[] | undefined {
    const colon = route.indexOf(':');
    const router = this.#core.routers.get(route.slice(0, colon));
    if (router === undefined) {
      // At a start, its connector may still be on its way.
      this.#core.log.warn('no router for a dead-letter route; the message is kept', { route });
      return undefined;
    }
    try {
      const copies = router(route.slice(colon + 1), {
        message: letter.view,
        channel: letter.queue.name,
        reason: letter.reason,
        receiveCount: letter.receiveCount,
        now: this.#core.clock.now(),
      });
      return copies.filter((copy) =>
        copy.toLog === true
          ? this.logs?.has(copy.channel) === true
          : this.#channels.find(copy.channel) !== undefined,
      );
    } catch (caught) {
      this.#core.log.error('a dead-letter router failed; the message is kept', {
        route,
        error: BrokerError.from(caught).message,
      });
      return undefined;
    }
  }
}

function parted(copies: readonly DeadLetterCopy[]): PartedCopies {
  const toLogs = copies.filter((copy) => copy.toLog === true);
  return { toLogs, toQueues: toLogs.length === 0 ? copies : copies.filter((copy) => copy.toLog !== true) };
}
