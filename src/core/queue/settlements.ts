import { deferred } from '../../base/deferred.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { refuseWhenFarBehind } from '../partition/backlog.js';
import type { PendingOperation } from '../partition/pipeline.js';
import { notOwner } from '../ports/tenure.js';
import type { GiveBack } from '../partition/records.js';
import { dropsHead } from './bounds.js';
import type { DeadLetters } from './dead-letters.js';
import { takeDue } from './due-slots.js';
import type { EarlyDelivery } from './early-deliveries.js';
import type { Effects } from './effects.js';
import type { Family, Queue } from './family.js';
import { LapsedLeases } from './lapsed-leases.js';
import { State } from './message-table.js';
import type { Mover } from './mover.js';
import type { BackoffSettings, LeaseToken, SettleRequest, SettleResult, Settlement } from './types.js';

/** Shortest time between two looks at a family's retention. */
const RETIRE_EVERY_MS = 1000;

/** How soon the end of a lease is looked at again whose message is not durable yet. */
const NOT_DURABLE_RETRY_MS = 10;

/** Leases of one family that a call settles. */
interface Batch {
  readonly family: Family;
  readonly slots: number[];
  /** Their sequences rise, so none is named twice. */
  rising: boolean;
  last: number;
}

/** Where messages go back to; see `GiveBack`. */
type Place = Omit<GiveBack, 'queue' | 'sequences'>;

/** A settlement on its way to the disk. */
class SettleOperation implements PendingOperation {
  position = -1;
  readonly done = deferred<SettleResult>();
  readonly #result: SettleResult;

  constructor(result: SettleResult) {
    this.#result = result;
  }

  commit(): void {
    this.done.resolve(this.#result);
  }

  lose(error: BrokerError): void {
    this.done.reject(error);
  }
}

const NOTHING_REFUSED: SettleResult = { refused: [] };

/** What holders decide about their deliveries, and what the clock decides for those who do not. */
export class Settlements {
  readonly #core: CoreContext;
  readonly #effects: Effects;
  readonly #deadLetters: DeadLetters;
  readonly #mover: Mover;
  readonly #lapsed: LapsedLeases;

  constructor(core: CoreContext, parts: { effects: Effects; deadLetters: DeadLetters; mover: Mover }) {
    this.#core = core;
    this.#effects = parts.effects;
    this.#deadLetters = parts.deadLetters;
    this.#mover = parts.mover;
    this.#lapsed = new LapsedLeases(core.queues);
  }

  /** The slot a token owns; -1 when it owns nothing any more. */
  slotOf(token: LeaseToken): number {
    const queue = this.#core.queues.byName.get(token.channel);
    return queue === undefined ? -1 : this.#slotIn(queue.family, token);
  }

  #slotIn(family: Family, token: LeaseToken): number {
    if (token.sequence < family.rewoundBelow) return -1;
    const slot = family.inFlight.get(token.sequence);
    return slot !== undefined && this.#core.queues.table.count(slot) === token.attempt ? slot : -1;
  }

  #lapsedSlot(family: Family, token: LeaseToken): number {
    const slot = this.#lapsed.slotOf(family, token);
    return slot >= 0 && this.#core.queues.table.sequence(slot) < family.rewoundBelow ? -1 : slot;
  }

  settle(request: SettleRequest): Promise<SettleResult> {
    const { tokens, settlement } = request;
    if (settlement.kind !== 'ack' && settlement.kind !== 'extend' && this.#core.queues.early.size > 0) {
      const early = this.#earlyOf(tokens);
      if (early !== undefined) return this.#afterwards(early, request);
    }
    // The one that a holder may repeat forever.
    if (settlement.kind === 'extend') refuseWhenFarBehind(this.#core);
    const late = request.late === true && settlement.kind === 'ack';
    const refused: number[] = [];
    const later: Promise<void>[] = [];
    let durable = false;
    let batch: Batch | undefined;
    let channel: string | undefined;
    let family: Family | undefined;
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i] as LeaseToken;
      if (token.channel !== channel) {
        channel = token.channel;
        family = this.#core.queues.byName.get(channel)?.family;
      }
      let slot = family === undefined ? -1 : this.#slotIn(family, token);
      if (slot < 0 && family !== undefined && late) slot = this.#lapsedSlot(family, token);
      if (family === undefined || slot < 0) {
        refused.push(i);
        continue;
      }
      if (batch?.family !== family) {
        if (batch !== undefined) this.#apply(batch, settlement, later);
        batch = { family, slots: [], rising: true, last: -1 };
        durable ||= family.settings.durable;
      }
      batch.slots.push(slot);
      const sequence = this.#core.queues.table.sequence(slot);
      if (sequence <= batch.last) batch.rising = false;
      batch.last = sequence;
    }
    // A token named twice owns its message once: the batch is applied slot by slot and skips what is settled already.
    if (batch !== undefined) this.#apply(batch, settlement, later);
    const result = refused.length === 0 ? NOTHING_REFUSED : { refused };
    if (request.durable !== true) return Promise.resolve(result);
    // What a refused token owned is settled already: that may not be on disk yet, and its holder takes this for the answer.
    if (!durable && refused.length === 0) return Promise.resolve(result);
    if (later.length === 0) return this.#whenDurable(result);
    return Promise.all(later).then(() => this.#whenDurable(result));
  }

  /** One of these messages that is not durable yet. */
  #earlyOf(tokens: readonly LeaseToken[]): EarlyDelivery | undefined {
    for (const token of tokens) {
      const delivery = this.#core.queues.early.at(this.slotOf(token));
      if (delivery !== undefined) return delivery;
    }
    return undefined;
  }

  /** What could give a message to others waits until it is durable: a crash may not take it back from them. */
  async #afterwards(early: EarlyDelivery, request: SettleRequest): Promise<SettleResult> {
    await new Promise<void>((resolve) => early.wait(resolve));
    if (!this.#core.tenure.held) throw notOwner();
    return this.settle(request);
  }

  #whenDurable(result: SettleResult): Promise<SettleResult> {
    const operation = new SettleOperation(result);
    this.#core.pipeline.whenDurable(operation);
    return operation.done.promise;
  }

  /** `later` gets what ends only when a body was read from the disk. */
  #apply(batch: Batch, settlement: Settlement, later: Promise<void>[]): void {
    const { family } = batch;
    const slots = batch.rising ? batch.slots : [...new Set(batch.slots)];
    switch (settlement.kind) {
      case 'ack':
        this.#ack(family, slots);
        return;
      case 'nack':
        this.giveBack(family, slots, settlement, later);
        return;
      case 'reject':
        for (const slot of slots) note(later, this.#deadLetters.bury(this.#queueOf(slot), slot, 'rejected'));
        return;
      case 'extend':
        this.#extend(family, slots, settlement.leaseMs);
        return;
      case 'move':
        for (const slot of slots) {
          const queue = this.#queueOf(slot);
          const order = {
            target: settlement.channel,
            reRoutedFrom: queue.name,
            keepExpiry: true,
            createMissing: false,
          };
          note(later, this.#mover.move(queue, slot, order));
        }
    }
  }

  #queueOf(slot: number): Queue {
    const { byId, table } = this.#core.queues;
    const queue = byId.get(table.queue(slot));
    if (queue === undefined) throw new BrokerError('internal', 'a message without a queue');
    return queue;
  }

  #ack(family: Family, slots: readonly number[]): void {
    const store = this.#core.queues;
    const sequences = new Array<number>(slots.length);
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i] as number;
      sequences[i] = store.table.sequence(slot);
      store.remove(this.#queueOf(slot), slot);
    }
    family.acknowledged += slots.length;
    this.#effects.remove(family, sequences);
  }

  #extend(family: Family, slots: readonly number[], leaseMs: number): void {
    const store = this.#core.queues;
    const leaseEndsAt = leaseMs > 0 ? this.#core.clock.now() + leaseMs : 0;
    for (const slot of slots) store.extend(slot, leaseEndsAt);
    this.#effects.extend(
      family,
      leaseEndsAt,
      slots.map((slot) => store.table.sequence(slot)),
    );
  }

  /** Leases go back to their queue; those over their limit or past their life are dead-lettered instead. */
  giveBack(
    family: Family,
    slots: readonly number[],
    how: Settlement & { kind: 'nack' },
    later: Promise<void>[] = [],
  ): void {
    const store = this.#core.queues;
    const now = this.#core.clock.now();
    const back: number[] = [];
    // By sequence, so that those that leave together arrive elsewhere in the order of their queue.
    const inOrder =
      slots.length > 1 ? [...slots].sort((a, b) => store.table.sequence(a) - store.table.sequence(b)) : slots;
    for (const slot of inOrder) {
      const queue = this.#queueOf(slot);
      if (this.#deadLetters.endLife(queue, slot, { now, later })) continue;
      if (how.uncounted !== true && this.#deadLetters.overLimit(queue, slot)) {
        note(later, this.#deadLetters.bury(queue, slot, 'max-receives'));
      } else back.push(slot);
    }
    this.#returnTo(family, back, { how, now });
    if (dropsHead(family.settings) && family.paused === 0) this.#trim(back);
  }

  /** A queue over its bound drops from its front before anybody is served, as RabbitMQ does: that may be what just came back. */
  #trim(returned: readonly number[]): void {
    const queues = new Set(returned.map((slot) => this.#queueOf(slot)));
    for (const queue of queues) this.#deadLetters.trim(queue);
  }

  #returnTo(
    family: Family,
    back: readonly number[],
    { how, now }: { how: Settlement & { kind: 'nack' }; now: number },
  ): void {
    if (family.settings.backoff !== undefined && how.delayMs === undefined && how.uncounted !== true) {
      this.#backOff(family, back, family.settings.backoff, now);
      return;
    }
    const delayedTo = (how.delayMs ?? 0) > 0 ? now + (how.delayMs ?? 0) : 0;
    const uncounted = how.uncounted === true;
    const place = { newSequence: 0, delayedTo, uncounted };
    // What is about to be replaced keeps its number: that is what it is known by.
    if (how.to === 'origin' || delayedTo > 0 || family.paused > 0) {
      this.#place(family, back, place);
      return;
    }
    // Ordered sub-channels keep their order, whatever else comes back with them.
    const ordered = back.filter((slot) => this.#queueOf(slot).isOrdered);
    const others = ordered.length === 0 ? back : back.filter((slot) => !this.#queueOf(slot).isOrdered);
    this.#place(family, ordered, place);
    const newSequence = family.nextSequence;
    family.nextSequence += others.length;
    this.#lapsed.note(family, others, newSequence);
    this.#place(family, others, { ...place, newSequence });
  }

  /** Back to their old places, each as late as its deliveries so far say. */
  #backOff(family: Family, slots: readonly number[], backoff: BackoffSettings, now: number): void {
    const byDelay = new Map<number, number[]>();
    for (const slot of slots) {
      const delayMs = backoffMs(backoff, this.#core.queues.table.receives(slot));
      const others = byDelay.get(delayMs);
      if (others === undefined) byDelay.set(delayMs, [slot]);
      else others.push(slot);
    }
    for (const [delayMs, together] of byDelay) {
      const delayedTo = delayMs > 0 ? now + delayMs : 0;
      this.#place(family, together, { newSequence: 0, delayedTo, uncounted: false });
    }
  }

  /**
   * Leases whose holder went with the process that gave them, as the broker opens. Those that leave their queue wait for
   * the first sweep: routers of dead letters register after the broker has opened.
   */
  returnEndless(family: Family, slots: readonly number[]): void {
    const now = this.#core.clock.now();
    const back: number[] = [];
    for (const slot of slots) {
      const leaves =
        this.#deadLetters.pastLife(slot, now) ||
        this.#deadLetters.pastRetention(family, slot, now) ||
        this.#deadLetters.overLimit(this.#queueOf(slot), slot);
      if (leaves) this.#core.queues.extend(slot, now);
      else back.push(slot);
    }
    this.giveBack(family, back, { kind: 'nack', to: 'origin' });
    this.#core.scheduler.poke();
  }

  #place(family: Family, slots: readonly number[], place: Place): void {
    if (slots.length === 0) return;
    const sequences = slots.map((slot) => this.#core.queues.table.sequence(slot));
    this.#effects.giveBack(family, { sequences, ...place });
    placeBack(this.#core, slots, place);
  }

  /** Drops what a family kept longer than it may, and sets when to look again. */
  retire(family: Family, now: number): void {
    const store = this.#core.queues;
    const { retentionMs } = family.settings;
    if (family.rewoundBelow > 0) {
      store.retention.set(family.base.id, now + RETIRE_EVERY_MS);
      return;
    }
    let oldest = Infinity;
    for (const member of [...family.members]) {
      for (const list of member.lists) {
        for (let slot = list.head; slot >= 0; slot = list.head) {
          const enqueuedAt = store.table.enqueuedAt(slot);
          if (enqueuedAt + retentionMs > now) {
            oldest = Math.min(oldest, enqueuedAt);
            break;
          }
          family.expired++;
          this.#deadLetters.drop(member, slot);
        }
      }
    }
    // Not more often than this, however many members there are; hand-out looks at each message's age itself.
    if (oldest !== Infinity)
      store.retention.set(family.base.id, Math.max(oldest + retentionMs, now + RETIRE_EVERY_MS));
  }

  /** The clock's part: delays over, leases and lives ended. */
  sweep(now: number): void {
    const store = this.#core.queues;
    const { table, deadlines } = store;
    const expired = new Map<Family, number[]>();
    // What is put back may be due at once.
    for (let due = takeDue(deadlines, table, now); due.length > 0; due = takeDue(deadlines, table, now))
      for (const slot of due) this.#end(slot, now, expired);
    for (const [family, slots] of expired) {
      this.giveBack(family, slots, { kind: 'nack', to: family.settings.expiredLeaseTo });
    }
  }

  /** The time of a message is over, for what it is in. `expired` gets the leases. */
  #end(slot: number, now: number, expired: Map<Family, number[]>): void {
    const store = this.#core.queues;
    const queue = store.byId.get(store.table.queue(slot));
    if (queue === undefined || store.table.sequence(slot) < queue.family.rewoundBelow) return;
    const state = store.table.state(slot);
    if (store.early.at(slot) !== undefined) store.deadlines.set(slot, now + NOT_DURABLE_RETRY_MS);
    else if (state === State.delayed) {
      if (store.wasOut(slot)) store.endDelay(queue, slot);
      else this.#join(queue, slot);
    } else if (state === State.ready) {
      // Its delay is over in this turn: whoever waits comes first, and then its life ends if that is over, too.
      if (store.landed.has(slot)) return;
      // Neither: the settings have changed since its clock was set.
      if (!this.#deadLetters.endLife(queue, slot, { now })) store.armLife(queue.family, slot);
    } else if (state === State.inFlight) {
      const slots = expired.get(queue.family);
      if (slots === undefined) expired.set(queue.family, [slot]);
      else slots.push(slot);
    }
  }

  /** The delay of a message is over that nobody had yet: it joins its queue now, behind what is there; an ordered one stands where it was sent. */
  #join(queue: Queue, slot: number): void {
    const store = this.#core.queues;
    const { family } = queue;
    store.landed.add(slot);
    // What is about to be replaced keeps its number.
    if (queue.isOrdered || family.paused > 0) store.endDelay(queue, slot);
    else this.#place(family, [slot], { newSequence: family.nextSequence++, delayedTo: 0, uncounted: false });
  }
}

function backoffMs({ minMs, maxMs }: BackoffSettings, deliveries: number): number {
  return Math.min(minMs * 2 ** Math.max(deliveries - 1, 0), maxMs);
}

function note(later: Promise<void>[], done: Promise<void> | undefined): void {
  if (done !== undefined) later.push(done);
}

/** The in-memory half of a giveBack record; replay uses it, too. Slots may be in any state. */
export function placeBack(core: Pick<CoreContext, 'queues'>, slots: readonly number[], back: Place): void {
  const store = core.queues;
  const { table } = store;
  // For old places the highest goes first, so that each finds its own at the front.
  const order =
    back.newSequence === 0 && slots.length > 1
      ? [...slots].sort((a, b) => table.sequence(b) - table.sequence(a))
      : slots;
  let next = back.newSequence;
  for (const slot of order) {
    const queue = store.byId.get(table.queue(slot));
    if (queue === undefined) continue;
    store.pick(queue, slot);
    if (back.uncounted) store.uncount(slot);
    if (back.delayedTo > 0) store.putDelayed(queue, slot, back.delayedTo);
    else if (next > 0) store.putLast(queue, slot, next++);
    else store.putBack(queue, slot);
  }
}
