import { ByteWriter } from '../../base/bytes.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { encodeMessage, mintedId } from '../message-codec.js';
import type { PendingOperation } from '../partition/pipeline.js';
import type { Arrival } from '../partition/records.js';
import { RecordType, writeArrival } from '../partition/records.js';
import type { Admission } from './admission.js';
import type { Channels } from './channels.js';
import type { DeadLetters } from './dead-letters.js';
import type { DedupEntry, Family, Queue } from './family.js';
import type { SendOptions, SendOutcome, SendResult } from './types.js';

/** Bytes of an entry around one message's content, to size the entry. */
const ARRIVAL_BYTES = 128;

const QUEUE_GONE = new BrokerError('not-found', 'the queue was deleted');

/** One send on its way to the disk. */
class SendOperation implements PendingOperation {
  position = -1;
  readonly slots: number[] = [];
  readonly queues: Queue[] = [];
  /** Index of each slot's message in the batch. */
  readonly indexes: number[] = [];
  readonly outcomes: SendOutcome[];
  resolve: (outcomes: readonly SendOutcome[]) => void = () => undefined;
  reject: (error: BrokerError) => void = () => undefined;
  readonly #arrivals: Arrivals;

  constructor(arrivals: Arrivals, outcomes: SendOutcome[]) {
    this.#arrivals = arrivals;
    this.outcomes = outcomes;
  }

  commit(): void {
    for (const i of this.#arrivals.land(this.slots, this.queues)) {
      this.outcomes[this.indexes[i] as number] = { ok: false, error: QUEUE_GONE };
    }
    this.resolve(this.outcomes);
  }

  lose(error: BrokerError): void {
    this.#arrivals.abandon(this.slots, this.queues);
    this.reject(error);
  }
}

/** A message's place in the send that brings it. */
interface Place {
  readonly operation: SendOperation;
  readonly index: number;
}

/** Sends: checks, the entry, and what happens when it is durable. */
export class Arrivals {
  readonly #core: CoreContext;
  readonly #channels: Channels;
  readonly #deadLetters: DeadLetters;
  readonly #admission: Admission;
  readonly #scratch = new ByteWriter(4096);

  constructor(core: CoreContext, channels: Channels, deadLetters: DeadLetters, admission: Admission) {
    this.#core = core;
    this.#channels = channels;
    this.#deadLetters = deadLetters;
    this.#admission = admission;
  }

  send(messages: readonly OutgoingMessage[], options: SendOptions): Promise<readonly SendOutcome[]> {
    const now = this.#core.clock.now();
    const bytes = this.#admission.check(messages);
    const outcomes = new Array<SendOutcome>(messages.length);
    const queues = this.#findQueues(messages, options, outcomes, now);
    const operation = new SendOperation(this, outcomes);
    const written = this.#write(messages, queues, { operation, now, bytes });
    return new Promise((resolve, reject) => {
      operation.resolve = resolve;
      operation.reject = reject;
      if (written.durable > 0)
        this.#core.pipeline.append(this.#core.pipeline.main, written.forced, operation);
      // Duplicates answer when their original is safe; memory-only messages need no disk.
      else if (written.duplicates) this.#core.pipeline.afterPending(operation);
      else operation.commit();
      if (written.durable > 0) this.#settlePositions(operation);
    });
  }

  /** Queue of each message that will be stored; refusals and duplicates get their outcome here. */
  #findQueues(
    messages: readonly OutgoingMessage[],
    options: SendOptions,
    outcomes: SendOutcome[],
    now: number,
  ): (Queue | undefined)[] {
    const queues = new Array<Queue | undefined>(messages.length);
    let refused: BrokerError | undefined;
    let last: Queue | undefined;
    let lastName: string | undefined;
    for (let i = 0; i < messages.length; i++) {
      const message = messages[i] as OutgoingMessage;
      try {
        const queue =
          message.channel === lastName && last !== undefined && !last.deleted
            ? last
            : this.#channels.forArrival(message.channel, options.createMissing === true);
        last = queue;
        lastName = message.channel;
        this.#checkRoom(queue, message);
        const duplicate = this.#duplicateOf(queue.family, message.dedupId, now);
        if (duplicate !== undefined) outcomes[i] = duplicate;
        else queues[i] = queue;
      } catch (caught) {
        refused = BrokerError.from(caught);
        outcomes[i] = { ok: false, error: refused };
      }
    }
    if (refused !== undefined && options.allOrNothing === true) {
      for (let i = 0; i < messages.length; i++) {
        queues[i] = undefined;
        if (outcomes[i]?.ok !== false) outcomes[i] = { ok: false, error: refused };
      }
    }
    return queues;
  }

  #checkRoom(queue: Queue, message: OutgoingMessage): void {
    const { settings, base } = queue.family;
    if (settings.overflow === 'drop-head') return;
    const { maxLength, maxLengthBytes } = settings;
    const full =
      (maxLength > 0 && base.ready + base.arriving >= maxLength) ||
      (maxLengthBytes > 0 && base.readyBytes + message.body.length > maxLengthBytes);
    if (!full) return;
    if (settings.overflow === 'reject-dead-letter') this.#deadLetters.refuse(queue, message);
    throw new BrokerError('limit', `queue '${queue.name}' is full`);
  }

  #duplicateOf(family: Family, dedupId: string | undefined, now: number): SendResult | undefined {
    if (dedupId === undefined || family.settings.dedupWindowMs === 0) return undefined;
    const known = family.dedup.get(dedupId);
    if (known === undefined || known.at + family.settings.dedupWindowMs <= now) return undefined;
    return { ok: true, duplicate: true, ...withoutAt(known) };
  }

  /** Writes the entry and takes slots; positions in them are offsets until `#settlePositions`. */
  #write(
    messages: readonly OutgoingMessage[],
    queues: readonly (Queue | undefined)[],
    batch: { operation: SendOperation; now: number; bytes: number },
  ): { durable: number; forced: boolean; duplicates: boolean } {
    const { main } = this.#core.pipeline;
    let durable = 0;
    let forced = false;
    let duplicates = false;
    for (let i = 0; i < messages.length; i++) {
      const queue = queues[i];
      const message = messages[i] as OutgoingMessage;
      if (queue === undefined) {
        if (batch.operation.outcomes[i]?.ok === true) duplicates = true;
        continue;
      }
      // The same id twice in one batch: the second finds the first.
      const duplicate = this.#duplicateOf(queue.family, message.dedupId, batch.now);
      if (duplicate !== undefined) {
        batch.operation.outcomes[i] = duplicate;
        duplicates = true;
        continue;
      }
      const arrival = newArrival(queue, message, batch.now);
      if (queue.family.settings.durable) {
        if (durable++ === 0) main.begin(batch.bytes + messages.length * ARRIVAL_BYTES);
        if (message.transient !== true) forced = true;
        this.#writeDurable(queue, message, arrival, { operation: batch.operation, index: i });
      } else {
        this.#keep(queue, message, arrival, { operation: batch.operation, index: i });
      }
      batch.operation.outcomes[i] = this.#accepted(queue, message, arrival);
    }
    return { durable, forced, duplicates };
  }

  #writeDurable(queue: Queue, message: OutgoingMessage, arrival: Arrival, batch: Place): void {
    const { main } = this.#core.pipeline;
    main.u8(RecordType.send);
    writeArrival(main, arrival);
    const lengthAt = main.offset;
    main.u32(0);
    const at = main.offset;
    encodeMessage(main, message, queue.id, arrival.sequence);
    const length = main.offset - at;
    main.patchU32(lengthAt, length);
    // The position is an offset until the entry has one; live bytes are counted then, too.
    this.#take(queue, arrival, batch.operation, { position: at, length, index: batch.index });
  }

  #keep(queue: Queue, message: OutgoingMessage, arrival: Arrival, batch: Place): void {
    const scratch = this.#scratch;
    scratch.length = 0;
    encodeMessage(scratch, message, queue.id, arrival.sequence);
    const bytes = Buffer.from(scratch.buffer.subarray(0, scratch.length));
    const slot = this.#take(queue, arrival, batch.operation, {
      position: -1,
      length: bytes.length,
      index: batch.index,
    });
    this.#core.queues.table.keepInMemory(slot, bytes);
  }

  #take(
    queue: Queue,
    arrival: Arrival,
    operation: SendOperation,
    place: { position: number; length: number; index: number },
  ): number {
    const slot = this.#core.queues.allocateUncounted(queue, {
      sequence: arrival.sequence,
      enqueuedAt: arrival.enqueuedAt,
      queue: queue.id,
      priority: arrival.priority,
      position: place.position,
      length: place.length,
    });
    setExtras(this.#core, slot, arrival);
    operation.slots.push(slot);
    operation.queues.push(queue);
    operation.indexes.push(place.index);
    return slot;
  }

  #settlePositions(operation: SendOperation): void {
    for (const slot of operation.slots) this.#core.queues.place(slot, operation.position);
  }

  #accepted(queue: Queue, message: OutgoingMessage, arrival: Arrival): SendResult {
    const { family } = queue;
    const id = message.id ?? mintedId(queue.id, arrival.sequence);
    if (message.dedupId !== undefined && family.settings.dedupWindowMs > 0) {
      remember(family, message.dedupId, {
        at: arrival.enqueuedAt,
        id,
        channel: queue.name,
        sequence: arrival.sequence,
        enqueuedAt: arrival.enqueuedAt,
        expiresAt: arrival.expiresAt,
        delayedTo: arrival.delayedTo,
        limit: this.#core.limits.dedupIdsMax,
      });
    }
    return {
      ok: true,
      channel: queue.name,
      id,
      sequence: arrival.sequence,
      enqueuedAt: arrival.enqueuedAt,
      expiresAt: arrival.expiresAt,
      delayedTo: arrival.delayedTo,
      duplicate: false,
    };
  }

  /** Arrivals are durable: into their queues. Gives the places of those whose queue was deleted before them. */
  land(slots: readonly number[], queues: readonly Queue[]): readonly number[] {
    const store = this.#core.queues;
    let gone: number[] = NONE;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i] as number;
      const queue = queues[i] as Queue;
      if (queue.deleted) {
        store.abandon(queue, slot);
        gone = [...gone, i];
        continue;
      }
      store.arrive(queue, slot);
      queue.family.sent++;
      const { maxLength, maxLengthBytes, overflow } = queue.family.settings;
      if ((maxLength > 0 || maxLengthBytes > 0) && overflow === 'drop-head') this.#deadLetters.trim(queue);
    }
    return gone;
  }

  /** Arrivals will never be durable. */
  abandon(slots: readonly number[], queues: readonly Queue[]): void {
    const store = this.#core.queues;
    for (let i = slots.length - 1; i >= 0; i--) {
      const slot = slots[i] as number;
      const queue = queues[i] as Queue;
      forget(queue.family, store.table.sequence(slot));
      store.abandon(queue, slot);
      store.dropIfEmpty(queue);
    }
  }
}

const NONE: number[] = [];

/** The arrival of `message` in `queue`: the next sequence, and its times by the message's policy and the queue's settings. */
export function newArrival(queue: Queue, message: OutgoingMessage, now: number): Arrival {
  const { family } = queue;
  const { settings } = family;
  const policy = message.policy;
  const delayMs = policy?.delayMs ?? 0;
  const own = policy?.expirationMs ?? 0;
  const ttl = settings.messageTtlMs;
  const lifeMs = own > 0 && ttl > 0 ? Math.min(own, ttl) : own + ttl;
  return {
    queue: queue.id,
    sequence: family.nextSequence++,
    enqueuedAt: now,
    expiresAt: lifeMs > 0 ? now + delayMs + lifeMs : 0,
    delayedTo: delayMs > 0 ? now + delayMs : 0,
    priority: Math.min(message.priority ?? 0, settings.maxPriority),
    maxReceiveCount: policy?.maxReceiveCount ?? 0,
    maxReceiveQueue: policy?.maxReceiveQueue ?? '',
    dedupId: settings.dedupWindowMs > 0 ? (message.dedupId ?? '') : '',
    reRoutedFrom: '',
  };
}

/** Keeps what few messages have beside the table. */
export function setExtras(core: CoreContext, slot: number, a: Arrival): void {
  const { expiresAt, delayedTo, maxReceiveCount, maxReceiveQueue, reRoutedFrom } = a;
  if (expiresAt === 0 && delayedTo === 0 && maxReceiveCount === 0 && reRoutedFrom === '') return;
  Object.assign(core.queues.table.extrasOf(slot), {
    expiresAt,
    delayedTo,
    maxReceiveCount,
    maxReceiveQueue,
    reRoutedFrom,
  });
}

/** Puts an accepted id into the window; ids past it leave from the front, as do the oldest of too many. */
export function remember(
  family: Family,
  dedupId: string,
  entry: DedupEntry & { readonly limit: number },
): void {
  const { dedup } = family;
  const { limit, ...kept } = entry;
  dedup.delete(dedupId);
  dedup.set(dedupId, kept);
  const oldest = entry.at - family.settings.dedupWindowMs;
  for (const [id, known] of dedup) {
    if (known.at > oldest && dedup.size <= limit) break;
    dedup.delete(id);
  }
}

function forget(family: Family, sequence: number): void {
  for (const [id, known] of family.dedup) if (known.sequence === sequence) family.dedup.delete(id);
}

function withoutAt(entry: DedupEntry): Omit<DedupEntry, 'at'> {
  const { at: _at, ...rest } = entry;
  return rest;
}
