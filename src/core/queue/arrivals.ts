import { ByteWriter } from '../../base/bytes.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { encodeMessage } from '../message-codec.js';
import { RecordType, writeArrival } from '../partition/records.js';
import { AcksAlong } from './acks-along.js';
import { NOTHING_ALONG, type Along, type AppendAlong, type EventsAlong } from './along.js';
import type { Admission } from './admission.js';
import { blankArrival, fillArrival, setExtras } from './arrival.js';
import { exceeds } from './bounds.js';
import type { Channels } from './channels.js';
import type { DeadLetters } from './dead-letters.js';
import type { EarlyDelivery } from './early-deliveries.js';
import type { DedupEntry, Queue } from './family.js';
import type { HandOut } from './hand-out.js';
import { Acceptance, SendOperation } from './send-operation.js';
import type { SendOptions, SendOutcome, SendResult } from './types.js';

/** Bytes of an entry around one message's content, to size the entry. */
const ARRIVAL_BYTES = 128;

/** Sends: checks, the entry, and what happens when it is durable. */
export class Arrivals {
  readonly #core: CoreContext;
  readonly #channels: Channels;
  readonly #deadLetters: DeadLetters;
  readonly #admission: Admission;
  readonly #handOut: HandOut;
  readonly #scratch = new ByteWriter(4096);
  /** What the batch at hand has taken so far of the room of queues that refuse when they are full. */
  readonly #taken = new Map<Queue, { messages: number; bytes: number }>();
  // Filled anew for each message: it is read at once and never kept.
  readonly #arrival = blankArrival();
  // What writing the batch at hand came to: records in the journal's entry, and whether one of them must be on disk before it is acknowledged.
  #records = 0;
  #forced = false;
  /** Set once there are logs. */
  appendAlong: AppendAlong | undefined;

  constructor(
    core: CoreContext,
    parts: { channels: Channels; deadLetters: DeadLetters; admission: Admission; handOut: HandOut },
  ) {
    this.#core = core;
    this.#channels = parts.channels;
    this.#deadLetters = parts.deadLetters;
    this.#admission = parts.admission;
    this.#handOut = parts.handOut;
  }

  send(messages: readonly OutgoingMessage[], options: SendOptions): Promise<readonly SendOutcome[]> {
    const now = this.#core.clock.now();
    const bytes = this.#admission.check(messages);
    const outcomes = new Array<SendOutcome>(messages.length);
    const duplicates = this.#decide(messages, options, outcomes, now);
    const along = this.#along(options, outcomes);
    const { acks, events } = along;
    // Its records must find the deliveries they are about.
    if (acks !== undefined) this.#core.pipeline.flushSide();
    this.#records = 0;
    this.#forced = false;
    // First, for this is what may be refused, and nothing has to be taken back then.
    if (events !== undefined) this.#writeEvents(events, bytes + messages.length * ARRIVAL_BYTES);
    this.#write(messages, outcomes, bytes, now);
    if (acks?.durable === true) this.#writeAcks(acks);
    // Kept here: who gets messages now may send in the same call.
    const written = this.#records > 0;
    const forced = this.#forced;
    const operation = new SendOperation(this, outcomes, along);
    const mayBeEarly = options.early === true && written && along === NOTHING_ALONG;
    const early = mayBeEarly ? this.#early(outcomes) : NOBODY;
    if (early.length > 0) {
      this.#appendEarly(operation, early, forced);
    } else if (written) {
      const { pipeline, queues } = this.#core;
      const position = pipeline.append(pipeline.main, forced, operation);
      events?.place(position);
      for (const outcome of outcomes) if (outcome instanceof Acceptance) queues.place(outcome.slot, position);
    }
    const done = operation.wait();
    if (!written) {
      // Duplicates answer when their original is safe; memory-only messages need no disk.
      if (duplicates) this.#core.pipeline.afterPending(operation);
      else operation.commit();
    }
    return done;
  }

  /** What goes to those who wait for it before it is durable. */
  #early(outcomes: readonly SendOutcome[]): readonly Acceptance[] {
    const early: Acceptance[] = [];
    for (const outcome of outcomes)
      if (outcome instanceof Acceptance && this.#handOut.takesEarly(outcome.queue, outcome.slot))
        early.push(outcome);
    return early;
  }

  /** Sends out an entry of which some is handed out now: that is not taken back, so it is written until the disk has it. */
  #appendEarly(operation: SendOperation, early: readonly Acceptance[], forced: boolean): void {
    const { pipeline, queues } = this.#core;
    const all = operation.outcomes.filter((outcome) => outcome instanceof Acceptance);
    const slots = all.filter((one) => !early.includes(one)).map(({ slot }) => slot);
    let base = -1;
    pipeline.appendKept(pipeline.main, {
      forced,
      size: operation.size,
      slots,
      placed: (position) => {
        for (const { slot, early: delivery } of all) {
          if (base < 0) queues.place(slot, position);
          else if (delivery === undefined || queues.early.isOf(slot, delivery))
            queues.shift(slot, position - base);
        }
        base = position;
      },
      commit: () => operation.commit(),
      refused: (error) => operation.refuse(error),
    });
    for (const acceptance of early) {
      acceptance.early = this.#handOut.handEarly(acceptance.queue, acceptance.slot);
      if (acceptance.early === undefined) slots.push(acceptance.slot);
    }
  }

  /** The acknowledgements and events that go with a batch, unless all of it was refused. */
  #along(options: SendOptions, outcomes: readonly SendOutcome[]): Along {
    const { acks = [], append = [] } = options;
    const refused = options.allOrNothing === true && outcomes[0]?.ok === false;
    if (refused || acks.length + append.length === 0) return NOTHING_ALONG;
    return {
      acks: acks.length === 0 ? undefined : new AcksAlong(this.#core, acks),
      events: append.length === 0 ? undefined : this.appendAlong?.(append),
    };
  }

  #writeEvents(events: EventsAlong, bytes: number): void {
    const { main } = this.#core.pipeline;
    main.begin(bytes + events.bytes);
    events.write();
    this.#records++;
    this.#forced = true;
  }

  #writeAcks(acks: AcksAlong): void {
    const { main } = this.#core.pipeline;
    if (this.#records++ === 0) main.begin(ARRIVAL_BYTES);
    this.#forced = true;
    acks.write(main);
  }

  /** Who is taken, who is refused, who was here before; true when there are duplicates. */
  #decide(
    messages: readonly OutgoingMessage[],
    options: SendOptions,
    outcomes: SendOutcome[],
    now: number,
  ): boolean {
    if (this.#taken.size > 0) this.#taken.clear();
    let refused: BrokerError | undefined;
    let duplicates = false;
    let last: Queue | undefined;
    let lastName: string | undefined;
    for (let i = 0; i < messages.length; i++) {
      const message = messages[i] as OutgoingMessage;
      try {
        if (message.channel !== lastName || last === undefined || last.deleted) {
          last = this.#channels.forArrival(message.channel, options.createMissing === true);
          lastName = message.channel;
        }
        this.#checkRoom(last, message);
        const known = this.#core.queues.dedupIds.recall(last.family, message.dedupId, now);
        if (known !== undefined) duplicates = true;
        outcomes[i] = known === undefined ? new Acceptance(last, message) : duplicateOf(known);
      } catch (caught) {
        refused = BrokerError.from(caught);
        outcomes[i] = { ok: false, error: refused };
      }
    }
    if (refused !== undefined && options.allOrNothing === true) {
      for (let i = 0; i < outcomes.length; i++) {
        if (outcomes[i]?.ok === true) outcomes[i] = { ok: false, error: refused };
      }
    }
    return duplicates;
  }

  #checkRoom(queue: Queue, message: OutgoingMessage): void {
    const { settings, base } = queue.family;
    if (settings.overflow === 'drop-head') return;
    const { maxLength, maxLengthBytes } = settings;
    if (maxLength === 0 && maxLengthBytes === 0) return;
    const taken = this.#taken.get(base) ?? { messages: 0, bytes: 0 };
    const full =
      exceeds(maxLength, base.ready + base.arriving + taken.messages + 1) ||
      exceeds(maxLengthBytes, base.readyBytes + base.arrivingBytes + taken.bytes + message.body.length);
    if (!full) {
      taken.messages++;
      taken.bytes += message.body.length;
      this.#taken.set(base, taken);
      return;
    }
    if (settings.overflow === 'reject-dead-letter') this.#deadLetters.refuse(queue, message);
    throw new BrokerError('limit', `queue '${queue.name}' is full`);
  }

  /** Writes the entry and takes slots; their positions are offsets until the entry has its own. */
  #write(messages: readonly OutgoingMessage[], outcomes: SendOutcome[], bytes: number, now: number): void {
    const { main } = this.#core.pipeline;
    for (let i = 0; i < outcomes.length; i++) {
      const outcome = outcomes[i];
      if (!(outcome instanceof Acceptance)) continue;
      const message = messages[i] as OutgoingMessage;
      const { queue } = outcome;
      if (message.dedupId !== undefined) {
        // The same id twice in one batch: the second finds the first.
        const known = this.#core.queues.dedupIds.recall(queue.family, message.dedupId, now);
        if (known !== undefined) {
          outcomes[i] = duplicateOf(known);
          continue;
        }
      }
      fillArrival(this.#arrival, queue, message, now);
      if (queue.family.settings.durable) {
        if (this.#records++ === 0) main.begin(bytes + messages.length * ARRIVAL_BYTES);
        if (message.transient !== true) this.#forced = true;
        outcome.slot = this.#writeDurable(queue, message);
      } else {
        outcome.slot = this.#keep(queue, message);
      }
      this.#accept(outcome, message);
    }
  }

  #writeDurable(queue: Queue, message: OutgoingMessage): number {
    const { main } = this.#core.pipeline;
    const arrival = this.#arrival;
    main.u8(RecordType.send);
    writeArrival(main, arrival);
    const lengthAt = main.offset;
    main.u32(0);
    const at = main.offset;
    encodeMessage(main, message, queue.family.base.id, arrival.sequence);
    const length = main.offset - at;
    main.patchU32(lengthAt, length);
    const stored = { length, bodyBytes: message.body.length };
    const slot = this.#core.queues.allocateUnplaced(queue, arrival, at, stored);
    setExtras(this.#core, slot, arrival);
    return slot;
  }

  #keep(queue: Queue, message: OutgoingMessage): number {
    const scratch = this.#scratch;
    scratch.length = 0;
    encodeMessage(scratch, message, queue.family.base.id, this.#arrival.sequence);
    const bytes = Buffer.from(scratch.buffer.subarray(0, scratch.length));
    const stored = { length: bytes.length, bodyBytes: message.body.length };
    const slot = this.#core.queues.allocate(queue, this.#arrival, -1, stored);
    setExtras(this.#core, slot, this.#arrival);
    this.#core.queues.table.keepInMemory(slot, bytes);
    return slot;
  }

  #accept(outcome: Acceptance, message: OutgoingMessage): void {
    const { sequence, enqueuedAt, expiresAt, delayedTo } = this.#arrival;
    outcome.sequence = sequence;
    outcome.enqueuedAt = enqueuedAt;
    outcome.expiresAt = expiresAt;
    outcome.delayedTo = delayedTo;
    const { family } = outcome.queue;
    if (message.dedupId === undefined || family.settings.dedupWindowMs === 0) return;
    const { id, channel } = outcome;
    const entry = { at: enqueuedAt, id, channel, sequence, enqueuedAt, expiresAt, delayedTo };
    this.#core.queues.dedupIds.remember(family, message.dedupId, entry, this.#core.limits.dedupIdsMax);
  }

  /** An arrival is durable: into its queue. False when that was deleted before it. */
  land(queue: Queue, slot: number): boolean {
    const store = this.#core.queues;
    if (queue.deleted) {
      store.abandon(queue, slot);
      return false;
    }
    store.land(queue, slot);
    queue.family.sent++;
    return true;
  }

  /** Likewise for one that somebody had before. */
  landEarly(queue: Queue, slot: number, early: EarlyDelivery): void {
    queue.family.sent++;
    const deliveries = this.#core.queues.early;
    if (deliveries.isOf(slot, early)) deliveries.end(slot);
  }

  /** An arrival will never be durable. */
  abandon(queue: Queue, slot: number, dedupId?: string): void {
    const store = this.#core.queues;
    if (dedupId !== undefined) store.dedupIds.forget(queue.family, dedupId, store.table.sequence(slot));
    store.abandon(queue, slot);
    store.dropIfEmpty(queue);
  }
}

const NOBODY: readonly Acceptance[] = [];

function duplicateOf(known: DedupEntry): SendResult {
  const { id, channel, sequence, enqueuedAt, expiresAt, delayedTo } = known;
  return { ok: true, duplicate: true, id, channel, sequence, enqueuedAt, expiresAt, delayedTo };
}
