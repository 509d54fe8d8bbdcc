import type { ChannelName } from '../channel-name.js';
import { NOT_HELD_RETRY_MS, type CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { isFarBehind, refuseWhenFarBehind } from '../partition/backlog.js';
import type { Bodies } from './bodies.js';
import type { ConsumePlace } from './channels.js';
import type { DeadLetters } from './dead-letters.js';
import type { EarlyDelivery } from './early-deliveries.js';
import type { Effects } from './effects.js';
import type { ConsumerState } from './consumer-rotation.js';
import { hungry, leave, nextConsumer } from './consumer-rotation.js';
import type { Family, Queue } from './family.js';
import { Leases } from './leases.js';
import { State } from './message-table.js';
import type { PickLimits } from './picker.js';
import { Picker } from './picker.js';
import type { Consumer, ConsumeRequest, Delivery, ReceiveRequest } from './types.js';
import { Waits, type Waiter } from './waits.js';

/** Hands messages out: to waiting receives in order of arrival, to consumers in turn by their credit. */
export class HandOut {
  readonly #core: CoreContext;
  readonly #bodies: Bodies;
  readonly #picker: Picker;
  readonly #leases: Leases;
  readonly #waits: Waits;
  readonly #deadLetters: DeadLetters;
  #serving = false;
  #servesLater = false;
  /** In all families. */
  #consumers = 0;

  constructor(core: CoreContext, parts: { bodies: Bodies; effects: Effects; deadLetters: DeadLetters }) {
    this.#core = core;
    this.#bodies = parts.bodies;
    this.#picker = new Picker(core, parts.deadLetters);
    this.#leases = new Leases(core, parts.effects);
    this.#waits = new Waits(core);
    this.#deadLetters = parts.deadLetters;
  }

  /** Serves every family that has something new. Ends each turn of the broker. */
  serveDirty(): void {
    // Deliveries run the holders' code, which may call back in: the loop below picks up what that adds.
    if (this.#serving) return;
    const store = this.#core.queues;
    if (store.dirty.length > 0 || store.landed.size > 0) this.#serveTurn();
    else this.#core.scheduler.poke();
  }

  #serveTurn(): void {
    const store = this.#core.queues;
    if (!this.#core.tenure.held) {
      this.#serveLater();
      return;
    }
    // The next commit looks again.
    if (isFarBehind(this.#core)) return;
    this.#serving = true;
    try {
      do {
        const grown = this.#serveAll();
        // What is over leaves before what is too much: it takes no living one with it.
        if (store.landed.size > 0) this.#endLives();
        if (grown !== undefined) for (const family of grown) this.#trim(family);
      } while (store.dirty.length > 0);
    } finally {
      this.#serving = false;
      if (store.landed.size > 0) store.landed.clear();
    }
    this.#core.scheduler.poke();
  }

  /** Serves them; those that took messages and may hold too much now. */
  #serveAll(): Set<Family> | undefined {
    const store = this.#core.queues;
    let grown: Set<Family> | undefined;
    while (store.dirty.length > 0) {
      const families = store.dirty;
      store.dirty = [];
      for (const family of families) {
        family.dirty = false;
        this.#serve(family);
        if (family.grown.size > 0) (grown ??= new Set()).add(family);
      }
    }
    return grown;
  }

  /** What came, or had its delay behind it, when its time was over, and nobody took, leaves. */
  #endLives(): void {
    const store = this.#core.queues;
    const { table, landed } = store;
    const now = this.#core.clock.now();
    for (const slot of landed) {
      const queue = table.state(slot) === State.ready ? store.byId.get(table.queue(slot)) : undefined;
      if (queue === undefined || this.#deadLetters.endLife(queue, slot, { now })) continue;
      // Its clock rang, and was left to this look; settings may have changed since it was set.
      if (store.deadlines.of(slot) === undefined) store.armLife(queue.family, slot);
    }
    landed.clear();
  }

  /** Somebody else may serve them now; should the tenure go on after all, nobody may be left waiting. */
  #serveLater(): void {
    if (this.#servesLater || this.#core.queues.dirty.length === 0) return;
    this.#servesLater = true;
    this.#core.timeouts.set(this.#core.clock.now() + NOT_HELD_RETRY_MS, () => {
      this.#servesLater = false;
      this.serveDirty();
    });
    this.#core.scheduler.poke();
  }

  /** What nobody took and is too much leaves from the front. */
  #trim(family: Family): void {
    // Its content is about to be replaced: then, it is looked at again.
    if (family.paused > 0) return;
    const grown = [...family.grown];
    family.grown.clear();
    for (const queue of grown) if (!queue.deleted) this.#deadLetters.trim(queue);
  }

  receive(place: ConsumePlace, request: ReceiveRequest): Promise<readonly Delivery[]> {
    const { family, only } = place;
    if (request.signal?.aborted === true) return Promise.resolve([]);
    refuseWhenFarBehind(this.#core);
    // Waiters were served when the messages came: what is ready now, none of them may have.
    const slots = this.#picker.pick(family, limitsOf(request, only));
    if (slots.length === 0 && request.waitMs <= 0) return Promise.resolve([]);
    if (slots.length === 0 && this.#waits.full) {
      return Promise.reject(new BrokerError('limit', 'too many waiting receives'));
    }
    const bodies = slots.length > 0 ? this.#bodies.peekAll(slots) : undefined;
    if (bodies !== undefined) {
      const leased = this.#leases.grant(family, slots, { bodies, handOut: request.handOut });
      this.#core.scheduler.poke();
      return Promise.resolve(leased);
    }
    return new Promise((resolve, reject) => {
      const waiter = this.#waits.create(family, { only, request, resolve, reject });
      if (slots.length > 0) {
        this.#complete(family, waiter, slots);
        this.#core.scheduler.poke();
        return;
      }
      this.#waits.add(family, waiter);
      this.#core.scheduler.poke();
    });
  }

  consume(place: ConsumePlace, request: ConsumeRequest): Consumer {
    const { family, only } = place;
    const taken = family.consumers.some((c) => c.request.exclusive === true);
    if (taken || (request.exclusive === true && family.consumers.length > 0)) {
      throw new BrokerError('forbidden', `queue '${family.base.name}' is in exclusive use`);
    }
    if (this.#consumers >= this.#core.limits.consumersMax)
      throw new BrokerError('limit', 'too many consumers');
    const consumer: ConsumerState = {
      only,
      request,
      priority: request.priority ?? 0,
      credit: request.credit,
      creditBytes: request.creditBytes ?? Infinity,
      loading: false,
      cancelled: false,
      batch: [],
    };
    family.consumers.push(consumer);
    if (request.early !== true) family.lateConsumers++;
    this.#consumers++;
    if (request.single === true) family.active ??= consumer;
    // In a turn of its own: the holder gets its handle before its first delivery.
    queueMicrotask(() => {
      this.#core.queues.touch(family);
      this.serveDirty();
    });
    return {
      grant: (messages, bytes) => {
        consumer.credit += messages;
        consumer.creditBytes += bytes ?? 0;
        if (family.ready === 0 || consumer.cancelled) return;
        this.#core.queues.touch(family);
        this.serveDirty();
      },
      cancel: () => {
        this.#dropConsumer(family, consumer);
      },
    };
  }

  #dropConsumer(family: Family, consumer: ConsumerState): void {
    if (!consumer.cancelled) {
      this.#consumers--;
      if (consumer.request.early !== true) family.lateConsumers--;
    }
    if (!leave(family, consumer) || family.ready === 0) return;
    queueMicrotask(() => {
      this.#core.queues.touch(family);
      this.serveDirty();
    });
  }

  /** The family goes away: waiting receives end empty-handed, consumers are told. */
  cancelAll(family: Family): void {
    const error = new BrokerError('not-found', `queue '${family.base.name}' was deleted`);
    this.#waits.endAll(family, error);
    family.active = undefined;
    for (const consumer of [...family.consumers]) {
      this.#dropConsumer(family, consumer);
      consumer.request.onCancel(error);
    }
  }

  /** Ends all waits with nothing: the broker is going away. */
  endWaits(families: Iterable<Family>): void {
    for (const family of families) this.#waits.endAll(family);
  }

  #serve(family: Family): void {
    while (family.ready > 0) {
      let progress = false;
      for (const waiter of family.waiters) {
        const slots = this.#picker.pick(family, limitsOf(waiter.request, waiter.only));
        if (slots.length === 0) {
          // One that takes a single sub-channel may find nothing while the next one would.
          if (waiter.only !== undefined) continue;
          break;
        }
        this.#waits.remove(family, waiter);
        this.#complete(family, waiter, slots);
        progress = true;
        break;
      }
      if (family.consumers.length > 0 && this.#serveConsumers(family)) progress = true;
      if (!progress) return;
    }
  }

  /** Whether an arrival may go to a consumer before it is durable: all who are there take such, and nothing comes before it. */
  takesEarly(queue: Queue, slot: number): boolean {
    const { family } = queue;
    if (family.consumers.length === 0 || family.lateConsumers > 0 || family.waiters.size > 0) return false;
    if (queue.isSubChannel || family.ready + queue.picked > 0 || queue.arriving > 1) return false;
    if (this.#serving || family.paused > 0 || isFarBehind(this.#core)) return false;
    return (this.#core.queues.table.extras.get(slot)?.delayedTo ?? 0) === 0;
  }

  /** Hands out an arrival for which that holds; undefined when nobody has room. */
  handEarly(queue: Queue, slot: number): EarlyDelivery | undefined {
    const store = this.#core.queues;
    const body = this.#bodies.peek(slot);
    const consumer = body === undefined ? undefined : nextConsumer(queue.family, store.byName);
    if (body === undefined || consumer === undefined) return undefined;
    const delivery = store.early.begin(slot);
    store.arrivePicked(queue, slot);
    consumer.credit--;
    if (consumer.creditBytes !== Infinity) consumer.creditBytes -= store.table.length(slot);
    this.#hand(queue.family, consumer, { slots: [slot], bodies: [body] });
    return delivery;
  }

  /** One round over the consumers; true when something was handed out. */
  #serveConsumers(family: Family): boolean {
    const most = this.#core.limits.deliveriesPerTurnMax;
    const { consumers } = family;
    if (consumers.length === 1) {
      const only = consumers[0] as ConsumerState;
      if (!hungry(only)) return false;
      this.#feed(family, only, Math.min(only.credit, most));
    } else {
      for (let handed = 0; handed < most; handed++) {
        const { turn } = family;
        const consumer = nextConsumer(family, this.#core.queues.byName);
        if (consumer !== undefined && this.#feed(family, consumer, 1)) continue;
        // Nobody took anything: it is still the same one's turn.
        family.turn = turn;
        break;
      }
    }
    let progress = false;
    // A holder's code may cancel consumers while this runs.
    for (const consumer of [...consumers]) {
      if (consumer.batch.length === 0) continue;
      const slots = consumer.batch;
      consumer.batch = [];
      progress = true;
      this.#deliver(family, consumer, slots);
    }
    return progress;
  }

  #feed(family: Family, consumer: ConsumerState, max: number): boolean {
    const { table } = this.#core.queues;
    const slots = this.#picker.pick(family, {
      only: consumer.only,
      max,
      maxBytes: consumer.creditBytes,
      perSubChannelMax: consumer.request.perSubChannelMax ?? Infinity,
    });
    if (slots.length === 0) return false;
    consumer.credit -= slots.length;
    if (consumer.creditBytes !== Infinity)
      for (const slot of slots) consumer.creditBytes -= table.length(slot);
    if (consumer.batch.length === 0) consumer.batch = slots;
    else consumer.batch.push(...slots);
    return true;
  }

  #complete(family: Family, waiter: Waiter, slots: number[]): void {
    const bodies = this.#bodies.peekAll(slots);
    if (bodies !== undefined) {
      waiter.request.signal?.removeEventListener('abort', waiter.abort);
      waiter.resolve(this.#leases.grant(family, slots, { bodies, handOut: waiter.request.handOut }));
      return;
    }
    this.#bodies.readAll(slots).then(
      (read) => {
        waiter.request.signal?.removeEventListener('abort', waiter.abort);
        if (waiter.cancelled || !this.#core.tenure.held) {
          this.#picker.putBack(slots);
          waiter.resolve([]);
        } else {
          waiter.resolve(
            this.#leases.grant(family, slots, { bodies: read, handOut: waiter.request.handOut }),
          );
        }
        this.serveDirty();
      },
      (caught: unknown) => {
        waiter.reject(BrokerError.from(caught));
        this.#unreadable(family, slots, caught);
      },
    );
  }

  #deliver(family: Family, consumer: ConsumerState, slots: number[]): void {
    const bodies = this.#bodies.peekAll(slots);
    if (bodies !== undefined) {
      if (consumer.cancelled) this.#picker.putBack(slots);
      else this.#hand(family, consumer, { slots, bodies });
      return;
    }
    consumer.loading = true;
    this.#bodies.readAll(slots).then(
      (read) => {
        consumer.loading = false;
        if (consumer.cancelled || !this.#core.tenure.held) {
          this.#giveCreditBack(consumer, slots);
          this.#picker.putBack(slots);
        } else {
          this.#hand(family, consumer, { slots, bodies: read });
        }
        this.#core.queues.touch(family);
        this.serveDirty();
      },
      (caught: unknown) => {
        consumer.loading = false;
        this.#giveCreditBack(consumer, slots);
        this.#unreadable(family, slots, caught);
      },
    );
  }

  /** For what was picked for a consumer and did not reach it. */
  #giveCreditBack(consumer: ConsumerState, slots: readonly number[]): void {
    consumer.credit += slots.length;
    if (consumer.creditBytes === Infinity) return;
    for (const slot of slots) consumer.creditBytes += this.#core.queues.table.length(slot);
  }

  #hand(family: Family, consumer: ConsumerState, batch: { slots: number[]; bodies: Uint8Array[] }): void {
    const deliveries = this.#leases.grant(family, batch.slots, {
      bodies: batch.bodies,
      handOut: consumer.request.handOut,
    });
    if (consumer.creditBytes !== Infinity) {
      // Picking knew stored lengths only; credit is of bodies, which is what holders count and give back.
      for (const payload of batch.bodies) consumer.creditBytes += payload.length;
      for (const { message } of deliveries) consumer.creditBytes -= message.body.length;
    }
    if (deliveries.length === 0) return;
    try {
      consumer.request.onDeliveries(deliveries);
    } catch (caught) {
      this.#core.log.error('a consumer failed to take its deliveries', { error: String(caught) });
    }
  }

  /** Bodies the disk did not give: kept, and tried again later; soon when it only did not answer. */
  #unreadable(family: Family, slots: readonly number[], caught: unknown): void {
    this.#core.log.error('messages could not be read; they are tried again later', { error: String(caught) });
    const store = this.#core.queues;
    const isSilence = caught instanceof BrokerError && caught.kind === 'unavailable';
    const until = this.#core.clock.now() + (isSilence ? UNANSWERED_RETRY_MS : UNREADABLE_RETRY_MS);
    const ordered: number[] = [];
    for (const slot of slots) {
      const queue = store.byId.get(store.table.queue(slot));
      if (queue === undefined) store.discardPicked(slot);
      else if (queue.isOrdered) ordered.push(slot);
      else store.putDelayed(queue, slot, until);
    }
    if (ordered.length > 0) {
      // Still picked, so that their sub-channel waits for them: nothing overtakes them.
      this.#core.timeouts.set(until, () => {
        this.#picker.putBack(ordered);
        this.serveDirty();
      });
    }
    store.touch(family);
    this.serveDirty();
  }
}

/** How long a message whose body could not be read is set aside. */
const UNREADABLE_RETRY_MS = 30_000;
const UNANSWERED_RETRY_MS = 1_000;

function limitsOf(request: ReceiveRequest, only: ChannelName | undefined): PickLimits {
  return {
    only,
    max: request.max,
    maxBytes: request.maxBytes ?? Infinity,
    perSubChannelMax: request.perSubChannelMax ?? Infinity,
  };
}
