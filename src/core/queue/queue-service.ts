import type { DeadlineSource } from '../../base/scheduler.js';
import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import { isFarBehind, refuseWhenFarBehind } from '../partition/backlog.js';
import { PurgeBits } from '../partition/records.js';
import { Admission } from './admission.js';
import type { AppendAlong } from './along.js';
import { Arrivals } from './arrivals.js';
import { Bodies } from './bodies.js';
import type { ChannelIds } from './channels.js';
import { Channels } from './channels.js';
import { DeadLetters } from './dead-letters.js';
import { MessageOut } from './delivery.js';
import { Effects } from './effects.js';
import type { Family, Queue } from './family.js';
import { HandOut } from './hand-out.js';
import type { LetterLogs } from './letter-routes.js';
import { LettersUnderWay } from './letters-under-way.js';
import type { MessageTable } from './message-table.js';
import { State } from './message-table.js';
import { Mover } from './mover.js';
import { applyPurge } from './purge.js';
import { Settlements } from './settlements.js';
import type { SlotList } from './slot-list.js';
import type {
  Consumer,
  ConsumeRequest,
  Delivery,
  LeaseToken,
  PeekedMessage,
  PurgeResult,
  PurgeScope,
  QueueSettings,
  QueueStats,
  ReceiveRequest,
  SendOptions,
  SendOutcome,
  SettleRequest,
  SettleResult,
} from './types.js';

/** Most messages one peek looks at. */
const PEEK_MAX = 10_000;

/** All operations on queues of one partition. */
export class QueueService {
  readonly #core: CoreContext;
  readonly channels: Channels;
  readonly admission: Admission;
  readonly bodies: Bodies;
  readonly #effects: Effects;
  readonly #arrivals: Arrivals;
  readonly handOut: HandOut;
  readonly #settlements: Settlements;
  readonly #deadLetters: DeadLetters;
  readonly lettersUnderWay: LettersUnderWay;

  constructor(core: CoreContext, ids: ChannelIds) {
    this.#core = core;
    const channels = new Channels(core, ids);
    const effects = new Effects(core.pipeline);
    const bodies = new Bodies(core);
    const underWay = new LettersUnderWay(core);
    const mover = new Mover(core, { channels, effects, bodies, underWay });
    const deadLetters = new DeadLetters(core, { channels, effects, bodies, mover, underWay });
    this.lettersUnderWay = underWay;
    this.#deadLetters = deadLetters;
    this.channels = channels;
    this.bodies = bodies;
    this.admission = new Admission(core);
    this.#effects = effects;
    const handOut = new HandOut(core, { bodies, effects, deadLetters });
    this.handOut = handOut;
    this.#arrivals = new Arrivals(core, { channels, deadLetters, admission: this.admission, handOut });
    this.#settlements = new Settlements(core, { effects, deadLetters, mover });
    core.scheduler.add(this.#deadlineSource());
    core.scheduler.add(this.#retentionSource());
    core.scheduler.add(core.queues.dedupIds.source((id) => core.queues.byId.get(id)?.family));
  }

  /** Dead letters, and events in the entry of a send, may go to these logs from now on. */
  connectLogs(logs: LetterLogs, appendAlong: AppendAlong): void {
    this.#deadLetters.logs = logs;
    this.#arrivals.appendAlong = appendAlong;
  }

  #retentionSource(): DeadlineSource {
    const { retention, byId } = this.#core.queues;
    const retire = (now: number): void => {
      for (let id = retention.pop(now); id >= 0; id = retention.pop(now)) {
        const family = byId.get(id)?.family;
        if (family !== undefined && family.settings.retentionMs > 0) this.#settlements.retire(family, now);
      }
    };
    return {
      get next() {
        return retention.next;
      },
      run: retire,
    };
  }

  #deadlineSource(): DeadlineSource {
    const core = this.#core;
    const { deadlines } = core.queues;
    const sweep = (now: number): void => {
      this.#settlements.sweep(now);
      this.handOut.serveDirty();
    };
    return {
      // What would be journaled waits until the journal is there again.
      get next() {
        return isFarBehind(core) ? Infinity : deadlines.next;
      },
      run: sweep,
    };
  }

  /** After a restart: leases without an end had a holder that is gone. They go back to their places; the delivery counts. */
  returnEndless(): void {
    const { byId, deadlines } = this.#core.queues;
    for (const queue of byId.values()) {
      if (queue.isSubChannel || queue.family.inFlight.size === 0) continue;
      const slots = [...queue.family.inFlight.values()].filter((slot) => deadlines.of(slot) === undefined);
      if (slots.length > 0) this.#settlements.returnEndless(queue.family, slots);
    }
  }

  // These do not await what they return: a promise less for each call.
  send(messages: readonly OutgoingMessage[], options: SendOptions): Promise<readonly SendOutcome[]> {
    if (messages.length === 0) return Promise.resolve([]);
    try {
      const sent = this.#arrivals.send(messages, options);
      this.handOut.serveDirty();
      return sent;
    } catch (caught) {
      return Promise.reject(BrokerError.from(caught));
    }
  }

  /** Whether the dedup window knows the id now; a queue that is not there knows none. */
  remembers(name: ChannelName, dedupId: string): boolean {
    const queue = this.channels.find(name);
    const { dedupIds } = this.#core.queues;
    return (
      queue !== undefined && dedupIds.recall(queue.family, dedupId, this.#core.clock.now()) !== undefined
    );
  }

  /** Copies made by a log are durable: into their queues. */
  land(slots: readonly number[], queues: readonly Queue[]): void {
    slots.forEach((slot, i) => this.#arrivals.land(queues[i] as Queue, slot));
  }

  /** Copies made by a log will never be durable. */
  abandon(slots: readonly number[], queues: readonly Queue[]): void {
    for (let i = slots.length - 1; i >= 0; i--)
      this.#arrivals.abandon(queues[i] as Queue, slots[i] as number);
  }

  receive(request: ReceiveRequest): Promise<readonly Delivery[]> {
    try {
      if (request.max < 1) throw new BrokerError('invalid-argument', 'max must be at least 1');
      const place = this.channels.forConsumer(request.channel, request.createMissing === true);
      return this.handOut.receive(place, request);
    } catch (caught) {
      return Promise.reject(BrokerError.from(caught));
    }
  }

  consume(request: ConsumeRequest): Consumer {
    return this.handOut.consume(this.channels.forConsumer(request.channel, false), request);
  }

  settle(request: SettleRequest): Promise<SettleResult> {
    try {
      const settled = this.#settlements.settle(request);
      this.handOut.serveDirty();
      return settled;
    } catch (caught) {
      return Promise.reject(BrokerError.from(caught));
    }
  }

  lettersInto(name: ChannelName): Promise<void> | undefined {
    const queue = this.channels.find(name);
    return this.lettersUnderWay.awaited(queue?.family ?? this.channels.resolve(name));
  }

  holds(token: LeaseToken): boolean {
    return this.#settlements.slotOf(token) >= 0;
  }

  async peek(name: ChannelName, max: number): Promise<readonly PeekedMessage[]> {
    const { family, only } = this.channels.forConsumer(name, false);
    const { table, byName } = this.#core.queues;
    const one = only === undefined ? undefined : byName.get(only);
    const members = only === undefined ? [...family.members] : one === undefined ? [] : [one];
    const now = this.#core.clock.now();
    const slots: number[] = [];
    for (const member of members) {
      for (const list of [...member.lists].reverse()) {
        for (let slot = list.head; slot >= 0; slot = table.next(slot)) {
          if (slots.length >= Math.min(max, PEEK_MAX)) break;
          const expiresAt = table.extras.get(slot)?.expiresAt ?? 0;
          if (expiresAt === 0 || expiresAt > now) slots.push(slot);
        }
      }
    }
    // All is noted before the first wait: the messages may move on meanwhile.
    const { translators } = this.#core;
    const found = slots.map((slot) => {
      const queue = this.#core.queues.byId.get(table.queue(slot)) as Queue;
      const body = this.bodies.peek(slot);
      const source = { payload: body ?? UNREAD, translators, leaseEndsAt: undefined };
      const out = new MessageOut(queue, slot, table, source);
      return { out, position: body === undefined ? table.position(slot) : -1, length: table.length(slot) };
    });
    for (const { out, position, length } of found) {
      if (position >= 0) out.fill(await this.#core.journal.read(position, length));
    }
    return found.map(({ out }) => out);
  }

  async purge(name: ChannelName, scope: PurgeScope): Promise<PurgeResult> {
    const { family, only } = this.channels.forConsumer(name, false);
    refuseWhenFarBehind(this.#core);
    // What a rewind brings back is purged like all else.
    while (family.rewinding !== undefined) await family.rewinding;
    if (family.base.deleted) throw new BrokerError('not-found', `no queue '${name}'`);
    const bits =
      (scope.ready ? PurgeBits.ready : 0) |
      (scope.delayed ? PurgeBits.delayed : 0) |
      (scope.inFlight ? PurgeBits.inFlight : 0);
    const member = only === undefined ? undefined : this.#core.queues.byName.get(only);
    if (only !== undefined && member === undefined) return { ready: 0, delayed: 0, inFlight: 0 };
    // What is due has happened: a delay that is over makes a message ready, whenever the clock's turn comes.
    const now = this.#core.clock.now();
    this.#settlements.sweep(now);
    // Messages still on their way to the disk are not there yet and stay.
    const below = this.#firstArriving(family);
    const gone: Mutable<PurgeResult> = { ready: 0, delayed: 0, inFlight: 0 };
    if (member === undefined) {
      this.#effects.purge(family, bits, below, now);
      add(gone, applyPurge(this.#core, family, { scope: bits, below, only: undefined }));
    }
    // One by one: a single sub-channel, and what was put behind a message that is still on its way.
    if (member !== undefined || below < family.nextSequence) this.#removeEach(family, { bits, member, gone });
    this.handOut.serveDirty();
    if (!family.settings.durable) return gone;
    return new Promise((resolve, reject) => {
      this.#core.pipeline.side(0);
      this.#core.pipeline.forceSide({
        position: -1,
        commit: () => {
          resolve(gone);
        },
        lose: reject,
      });
    });
  }

  #removeEach(
    family: Family,
    order: { bits: number; member: Queue | undefined; gone: Mutable<PurgeResult> },
  ): void {
    const { queues } = this.#core;
    const { table } = queues;
    const members = order.member === undefined ? [...family.members] : [order.member];
    const ready = members.flatMap((member) => member.lists.flatMap((list) => [...slotsOf(table, list)]));
    const isOurs = (slot: number): boolean =>
      order.member === undefined || table.queue(slot) === order.member.id;
    const delayed = [...slotsOf(table, family.delayed)].filter(isOurs);
    const inFlight = [...family.inFlight.values()].filter(isOurs);
    const take = (bit: number, slots: readonly number[]): number => {
      if ((order.bits & bit) === 0 || slots.length === 0) return 0;
      this.#effects.remove(
        family,
        slots.map((slot) => table.sequence(slot)),
      );
      for (const slot of slots) queues.remove(queues.byId.get(table.queue(slot)) as Queue, slot);
      return slots.length;
    };
    order.gone.ready += take(PurgeBits.ready, ready);
    order.gone.delayed += take(PurgeBits.delayed, delayed);
    order.gone.inFlight += take(PurgeBits.inFlight, inFlight);
  }

  /** The lowest sequence that is still on its way; the next one when none is. */
  #firstArriving(family: Family): number {
    let arriving = false;
    for (const member of family.members) if (member.arriving > 0) arriving = true;
    let lowest = family.nextSequence;
    if (!arriving) return lowest;
    const { table, byId } = this.#core.queues;
    for (let slot = 0; slot < table.end; slot++) {
      if (table.state(slot) !== State.pending || byId.get(table.queue(slot))?.family !== family) continue;
      lowest = Math.min(lowest, table.sequence(slot));
    }
    return lowest;
  }

  /** New settings in memory; the caller has journaled them. */
  update(family: Family, settings: QueueSettings): void {
    this.#core.queues.updateSettings(family, settings);
    this.#core.queues.touch(family);
  }

  /** Deletes a family in memory; the caller has journaled it. */
  drop(family: Family): void {
    this.handOut.cancelAll(family);
    this.#core.queues.dropFamily(family);
  }

  stats(name: ChannelName): QueueStats | undefined {
    const queue = this.channels.find(name);
    if (queue === undefined) return undefined;
    const { family } = queue;
    const one = queue.isSubChannel;
    const firstOf = this.#firstSequence.bind(this);
    return {
      channel: queue.name,
      settings: family.settings,
      ready: one ? queue.ready : family.ready,
      delayed: one ? queue.delayedCount : family.delayed.count,
      inFlight: one ? queue.inFlight : family.inFlight.size,
      bytes: family.bytes,
      subChannels: family.members.size - 1,
      consumers: family.consumers.length,
      waiters: family.waiters.size,
      // Takes a look at every member: for who asks for it only.
      get firstSequence() {
        return firstOf(family);
      },
      lastSequence: family.nextSequence - 1,
      sent: family.sent,
      delivered: family.delivered,
      acknowledged: family.acknowledged,
      expired: family.expired,
      deadLettered: family.deadLettered,
    };
  }

  /** Of the first ready message; 0 = none. */
  #firstSequence(family: Family): number {
    const { queues } = this.#core;
    let first = Infinity;
    for (const member of family.members) {
      const slot = member.front;
      if (slot >= 0) first = Math.min(first, queues.table.sequence(slot));
    }
    return first === Infinity ? 0 : first;
  }

  names(prefix: string): readonly ChannelName[] {
    const out: ChannelName[] = [];
    for (const queue of this.#core.queues.byName.values()) {
      if (!queue.isSubChannel && queue.name.startsWith(prefix)) out.push(queue.name);
    }
    return out.sort();
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function add(sum: Mutable<PurgeResult>, more: PurgeResult): void {
  sum.ready += more.ready;
  sum.delayed += more.delayed;
  sum.inFlight += more.inFlight;
}

function* slotsOf(table: MessageTable, list: SlotList): Generator<number> {
  for (let slot = list.head; slot >= 0; slot = table.next(slot)) yield slot;
}

const UNREAD = new Uint8Array(1);
