import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import type { OutgoingMessage } from '../message.js';
import type { MessageView } from '../message-codec.js';
import { encodeMessage } from '../message-codec.js';
import type { PendingOperation } from '../partition/pipeline.js';
import type { Arrival } from '../partition/records.js';
import { RecordType, writeArrival, writeSequences } from '../partition/records.js';
import { newArrival, setExtras } from './arrival.js';
import type { Bodies } from './bodies.js';
import type { Channels } from './channels.js';
import type { Effects } from './effects.js';
import type { Queue } from './family.js';
import type { LettersUnderWay } from './letters-under-way.js';
import type { DeadLetterCopy } from './types.js';

export interface MoveOrder {
  readonly target: ChannelName;
  readonly reRoutedFrom: string;
  readonly keepExpiry: boolean;
  readonly createMissing: boolean;
}

/** A message on its way into a queue. */
interface Landing {
  readonly target: Queue;
  readonly slot: number;
}

/** Takes messages from one queue to another in one journal entry, without copying their bodies where they have a place. */
export class Mover {
  readonly #core: CoreContext;
  readonly #channels: Channels;
  readonly #effects: Effects;
  readonly #bodies: Bodies;
  readonly #underWay: LettersUnderWay;

  constructor(
    core: CoreContext,
    parts: { channels: Channels; effects: Effects; bodies: Bodies; underWay: LettersUnderWay },
  ) {
    this.#core = core;
    this.#channels = parts.channels;
    this.#effects = parts.effects;
    this.#bodies = parts.bodies;
    this.#underWay = parts.underWay;
  }

  /**
   * Moves one message from any state. Throws `not-found` without `createMissing`; nothing has changed then. Gives a promise
   * when its body has to be read first.
   */
  move(queue: Queue, slot: number, order: MoveOrder): Promise<void> | undefined {
    const target = this.#channels.forArrival(this.#placeIn(queue, order.target), order.createMissing);
    this.#core.queues.pick(queue, slot);
    if (queue.family.settings.durable && target.family.settings.durable) {
      this.#transfer(queue, slot, target, order);
      return undefined;
    }
    // Between memory and disk the body itself has to travel.
    const body = this.#bodies.peek(slot);
    if (body !== undefined) {
      this.#carry({ queue, slot, target, order, body });
      return undefined;
    }
    return this.#bodies.read(slot).then(
      (read) => {
        if (queue.deleted || target.deleted) this.#return(queue, slot);
        else this.#carry({ queue, slot, target, order, body: read });
      },
      (caught: unknown) => {
        this.#core.log.error('a message could not be read and stays in its queue', {
          error: String(caught),
        });
        this.#return(queue, slot);
      },
    );
  }

  /** A picked message that could not leave; its queue may have gone meanwhile. */
  #return(queue: Queue, slot: number): void {
    if (queue.deleted) this.#core.queues.discardPicked(slot);
    else this.#core.queues.putBack(queue, slot);
  }

  /** A message of a sub-channel goes to the same sub-channel of its target when the target has such. */
  #placeIn(queue: Queue, target: ChannelName): ChannelName {
    if (!queue.isSubChannel) return target;
    const suffix = queue.name.slice(queue.family.base.name.length);
    const marks = this.#channels.find(target)?.family.settings.subChannelMarks ?? [];
    return marks.some((mark) => suffix.startsWith(mark)) ? ((target + suffix) as ChannelName) : target;
  }

  #arrival(slot: number, target: Queue, order: MoveOrder): Arrival {
    const { table } = this.#core.queues;
    const expiresAt = order.keepExpiry ? (table.extras.get(slot)?.expiresAt ?? 0) : 0;
    const fresh = newArrival(target, NO_MESSAGE, this.#core.clock.now());
    return {
      ...fresh,
      expiresAt: expiresAt > 0 ? expiresAt : fresh.expiresAt,
      priority: Math.min(table.priority(slot), target.family.settings.maxPriority),
      reRoutedFrom: order.reRoutedFrom,
    };
  }

  #transfer(queue: Queue, slot: number, target: Queue, order: MoveOrder): void {
    const { queues, pipeline } = this.#core;
    const sequence = queues.table.sequence(slot);
    const arrival = this.#arrival(slot, target, order);
    const w = pipeline.side(128);
    w.u8(RecordType.transfer);
    w.u32(queue.family.base.id);
    w.u64(sequence);
    writeArrival(w, arrival);
    applyTransfer(this.#core, { queue, slot, target, arrival });
    pipeline.forceSide(this.#landing(target, slot));
  }

  #landing(target: Queue, slot: number): PendingOperation {
    this.#underWay.left(target.family);
    const land = (): void => {
      this.#land(target, slot);
    };
    // Lost on disk, the message is still in its old queue there; in memory it goes on in the new one.
    return { position: -1, slots: [slot], commit: land, lose: land };
  }

  #land(target: Queue, slot: number): void {
    const store = this.#core.queues;
    this.#underWay.landed(target.family);
    if (target.deleted) store.abandon(target, slot);
    else store.land(target, slot);
  }

  #carry(m: { queue: Queue; slot: number; target: Queue; order: MoveOrder; body: Uint8Array }): void {
    const { queue, slot, target, order, body } = m;
    const { queues, pipeline } = this.#core;
    const arrival = this.#arrival(slot, target, order);
    const stored = { length: body.length, bodyBytes: queues.table.bodyBytes(slot) };
    if (!target.family.settings.durable) {
      const kept = queues.allocate(target, arrival, -1, stored);
      queues.table.keepInMemory(kept, Buffer.from(body));
      setExtras(this.#core, kept, arrival);
      queues.land(target, kept);
    } else {
      const { main } = pipeline;
      main.begin(body.length + 256);
      main.u8(RecordType.send);
      writeArrival(main, arrival);
      main.u32(body.length);
      const at = main.offset;
      main.bytes(body);
      const moved = queues.allocateUnplaced(target, arrival, at, stored);
      setExtras(this.#core, moved, arrival);
      this.#keep([{ target, slot: moved }]);
    }
    this.#effects.remove(queue.family, [queues.table.sequence(slot)]);
    queues.remove(queue, slot);
  }

  /** Sends copies of a message to `copies` and, in the same entry, removes the picked slot it came from, if any. */
  resend(
    view: MessageView,
    copies: readonly DeadLetterCopy[],
    from: { queue: Queue; slot: number } | undefined,
  ): void {
    const { queues, pipeline, clock } = this.#core;
    const targets = copies.map((copy) => this.#channels.forArrival(copy.channel, true));
    pipeline.flushSide();
    const { main } = pipeline;
    main.begin(view.payload.length * Math.max(1, copies.length) + 256);
    if (from?.queue.family.settings.durable === true) {
      main.u8(RecordType.remove);
      main.u32(from.queue.family.base.id);
      writeSequences(main, [queues.table.sequence(from.slot)]);
    }
    const landings: Landing[] = [];
    copies.forEach((copy, i) => {
      const target = targets[i] as Queue;
      const message = copyOf(view, copy, from !== undefined);
      const arrival = { ...newArrival(target, message, clock.now()), reRoutedFrom: from?.queue.name ?? '' };
      main.u8(RecordType.send);
      writeArrival(main, arrival);
      const lengthAt = main.offset;
      main.u32(0);
      const at = main.offset;
      encodeMessage(main, message, target.family.base.id, arrival.sequence);
      const length = main.offset - at;
      main.patchU32(lengthAt, length);
      const stored = { length, bodyBytes: message.body.length };
      const slot = queues.allocateUnplaced(target, arrival, at, stored);
      setExtras(this.#core, slot, arrival);
      landings.push({ target, slot });
    });
    if (from !== undefined) queues.remove(from.queue, from.slot);
    if (main.offset === 0) {
      main.abandon();
      return;
    }
    this.#keep(landings);
  }

  /** Sends out the main entry, which holds the only bytes of these messages: until it is durable it is written again. */
  #keep(landings: readonly Landing[]): void {
    const { queues, pipeline } = this.#core;
    for (const { target } of landings) this.#underWay.left(target.family);
    let base = -1;
    pipeline.appendKept(pipeline.main, {
      slots: landings.map(({ slot }) => slot),
      placed: (position) => {
        for (const { slot } of landings) {
          if (base < 0) queues.place(slot, position);
          else queues.shift(slot, position - base);
        }
        base = position;
      },
      commit: () => {
        for (const { target, slot } of landings) this.#land(target, slot);
      },
    });
  }
}

/** The in-memory half of a transfer record; the slot is pending in `target` afterwards. Replay uses it, too. */
export function applyTransfer(
  core: Pick<CoreContext, 'queues'>,
  t: { queue: Queue; slot: number; target: Queue; arrival: Arrival },
): void {
  const { table } = core.queues;
  const { arrival } = t;
  core.queues.rehome(t.queue, t.slot, t.target, arrival.sequence);
  const c = table.chunk(t.slot);
  const i = table.index(t.slot);
  c.enqueuedAt[i] = arrival.enqueuedAt;
  c.priority[i] = arrival.priority;
  const extras = table.extrasOf(t.slot);
  extras.expiresAt = arrival.expiresAt;
  extras.delayedTo = arrival.delayedTo;
  extras.maxReceiveCount = 0;
  extras.maxReceiveQueue = '';
  extras.reRoutedFrom = arrival.reRoutedFrom;
  extras.uncounted = 0;
}

const NO_MESSAGE: OutgoingMessage = { channel: '' as ChannelName, body: new Uint8Array(0) };

/** A dead letter as a message of its own: its policy has done its work and is gone. */
export function copyOf(view: MessageView, copy: DeadLetterCopy, keepMinted: boolean): OutgoingMessage {
  const protocol = copy.originProtocol ?? view.origin?.protocol;
  const bytes = copy.originBytes ?? view.origin?.bytes;
  return {
    channel: copy.channel,
    body: view.body,
    id: keepMinted || view.hasOwnId ? view.id : undefined,
    clientId: view.clientId,
    // With origin bytes of its own, tags and metadata come from their translator.
    ...(protocol !== undefined && protocol === view.origin?.protocol
      ? {}
      : { metadata: view.metadata, tags: view.tags }),
    ...(protocol === undefined || bytes === undefined ? {} : { origin: { protocol, bytes } }),
    priority: view.priority,
  };
}
