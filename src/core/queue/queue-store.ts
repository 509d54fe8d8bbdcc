import { DeadlineHeap } from '../../base/deadline-heap.js';
import type { ChannelName } from '../channel-name.js';
import type { LiveExtents } from '../partition/live-extents.js';
import { dropsHead } from './bounds.js';
import { DedupWindows } from './dedup-windows.js';
import { Directory } from './directory.js';
import { EarlyDeliveries } from './early-deliveries.js';
import type { Family, Queue } from './family.js';
import { MessageTable, State, type Stored } from './message-table.js';
import type { SlotList } from './slot-list.js';
import type { QueueSettings } from './types.js';

/** What a slot takes over from an arrival. */
export interface SlotArrival {
  readonly sequence: number;
  readonly enqueuedAt: number;
  readonly priority: number;
}

/**
 * The state of all queues and its transitions. No policy, no clock, no journal: live traffic and replay drive the same code, so
 * a restart arrives where the running broker was.
 */
export class QueueStore {
  readonly table = new MessageTable();
  /** By slot: end of the delay, of the lease, or of the message's life, as its state says. */
  readonly deadlines = new DeadlineHeap();
  /** By base id: when the family's retention should next be looked at. */
  readonly retention = new DeadlineHeap();
  readonly dedupIds = new DedupWindows();
  readonly directory = new Directory();
  readonly byId = this.directory.byId;
  readonly byName = this.directory.byName;
  readonly live: LiveExtents;
  /** Families with something new to hand out. */
  dirty: Family[] = [];
  /**
   * Came in this turn, or were due in it, with a life that may have ended by now: whoever waits for them gets them all the
   * same.
   */
  readonly landed = new Set<number>();
  readonly early = new EarlyDeliveries();

  constructor(live: LiveExtents) {
    this.live = live;
  }

  createQueue(id: number, name: ChannelName, settings: QueueSettings): Queue {
    return this.directory.createQueue(id, name, settings);
  }

  updateSettings(family: Family, settings: QueueSettings): void {
    this.directory.setSettings(family, settings);
    // A bound that became smaller holds for what is there, too.
    for (const member of family.members) this.#noteGrown(member);
    // Looked at soon, whatever the bound was before.
    if (settings.retentionMs > 0 && family.ready > 0) this.retention.set(family.base.id, 0);
    else this.retention.remove(family.base.id);
    if (settings.retentionMs > 0) this.#armLives(family);
  }

  #armLives(family: Family): void {
    for (const member of family.members) {
      for (const list of member.lists) {
        for (let slot = list.head; slot >= 0; slot = this.table.next(slot)) this.armLife(family, slot);
      }
    }
  }

  /** Drops a sub-channel that became empty. Returns whether it went. */
  dropIfEmpty(queue: Queue): boolean {
    if (!queue.isSubChannel || queue.deleted || !queue.empty) return false;
    this.directory.forget(queue);
    return true;
  }

  /** Drops a family with all its messages. */
  dropFamily(family: Family): void {
    for (const member of family.members) {
      for (const list of member.lists) this.#releaseList(list);
      member.ready = 0;
    }
    this.#releaseList(family.delayed);
    for (const slot of family.inFlight.values()) this.#release(slot);
    family.inFlight.clear();
    family.ready = 0;
    this.dedupIds.clear(family);
    this.directory.forgetFamily(family);
    this.retention.remove(family.base.id);
  }

  #releaseList(list: SlotList): void {
    const table = this.table;
    for (let slot = list.head; slot >= 0;) {
      const next = table.next(slot);
      this.#release(slot);
      slot = next;
    }
    list.head = list.tail = -1;
    list.count = 0;
  }

  // Slots ------------------------------------------------------------------------------------------------------

  /** A slot for a message on its way in; `arrive` puts it in its queue. The position is final (or -1). */
  allocate(queue: Queue, arrival: SlotArrival, position: number, stored: Stored): number {
    this.live.add(position, stored.length);
    return this.allocateUnplaced(queue, arrival, position, stored);
  }

  /** Likewise, while the position is still an offset into an entry that is being written: `place` makes it final. */
  allocateUnplaced(queue: Queue, arrival: SlotArrival, position: number, stored: Stored): number {
    queue.arriving++;
    queue.arrivingBytes += stored.bodyBytes;
    queue.family.bytes += stored.length;
    const slot = this.table.allocate(queue.id, position, stored);
    const c = this.table.chunk(slot);
    const i = this.table.index(slot);
    c.sequence[i] = arrival.sequence;
    c.enqueuedAt[i] = arrival.enqueuedAt;
    c.priority[i] = arrival.priority;
    return slot;
  }

  /** The entry of a new slot begins at `base`. Messages kept in memory stay where they are. */
  place(slot: number, base: number): void {
    const c = this.table.chunk(slot);
    const i = this.table.index(slot);
    const offset = c.position[i] as number;
    if (offset < 0) return;
    c.position[i] = base + offset;
    this.live.add(base + offset, c.length[i] as number);
  }

  /** The entry of a placed slot was written again, this much further on. */
  shift(slot: number, by: number): void {
    const c = this.table.chunk(slot);
    const i = this.table.index(slot);
    const position = c.position[i] as number;
    if (position < 0) return;
    const length = c.length[i] as number;
    this.live.remove(position, length);
    c.position[i] = position + by;
    this.live.add(position + by, length);
  }

  /** Gives up a slot whose message never came to be. */
  abandon(queue: Queue, slot: number): void {
    queue.arriving--;
    queue.arrivingBytes -= this.table.bodyBytes(slot);
    this.#release(slot);
  }

  #release(slot: number): void {
    const table = this.table;
    const length = table.length(slot);
    this.live.remove(table.position(slot), length);
    const queue = this.byId.get(table.queue(slot));
    if (queue !== undefined) queue.family.bytes -= length;
    this.deadlines.remove(slot);
    if (this.early.size > 0) this.early.end(slot);
    table.release(slot);
  }

  /** Pending, into its queue: delayed when its extras say so, else ready. */
  arrive(queue: Queue, slot: number): void {
    queue.arriving--;
    queue.arrivingBytes -= this.table.bodyBytes(slot);
    const delayedTo = this.table.extras.size > 0 ? (this.table.extras.get(slot)?.delayedTo ?? 0) : 0;
    if (delayedTo > 0) {
      this.#delay(queue, slot, delayedTo);
      return;
    }
    this.#makeReady(queue, slot);
  }

  /** Likewise, in a turn of the broker. */
  land(queue: Queue, slot: number): void {
    this.arrive(queue, slot);
    if (this.table.extras.size > 0 && this.table.extras.has(slot)) this.landed.add(slot);
  }

  /** Pending, `picked` at once: it is its turn. */
  arrivePicked(queue: Queue, slot: number): void {
    queue.arriving--;
    queue.arrivingBytes -= this.table.bodyBytes(slot);
    this.table.setState(slot, State.picked);
    queue.picked++;
  }

  /** Pending, into its queue, with nothing to wait for. */
  arriveInPlace(queue: Queue, slot: number): void {
    queue.arriving--;
    queue.arrivingBytes -= this.table.bodyBytes(slot);
    this.#makeReady(queue, slot);
  }

  #noteGrown(queue: Queue): void {
    if (dropsHead(queue.family.settings)) queue.family.grown.add(queue);
  }

  #delay(queue: Queue, slot: number, until: number): void {
    this.table.setState(slot, State.delayed);
    queue.family.delayed.append(this.table, slot);
    queue.delayedCount++;
    if (this.wasOut(slot)) queue.held++;
    this.deadlines.set(slot, until);
  }

  /** A message's place among those of its priority is its sequence, whatever it went through: so it is the same after a restart. */
  #makeReady(queue: Queue, slot: number): void {
    const table = this.table;
    const family = queue.family;
    table.setState(slot, State.ready);
    const list = queue.list(table.priority(slot));
    list.insertBySequence(table, slot);
    queue.ready++;
    queue.readyBytes += table.bodyBytes(slot);
    family.ready++;
    this.armLife(family, slot);
    const { retentionMs } = family.settings;
    if (retentionMs > 0 && this.retention.of(family.base.id) === undefined) {
      this.retention.set(family.base.id, table.enqueuedAt(slot) + retentionMs);
    }
    family.enroll(queue);
    this.#noteGrown(queue);
    this.touch(family);
  }

  /**
   * Sets the clock for the end of a ready message's life. Retention looks at the fronts of the lists: what came back, or late,
   * may stand behind younger messages and is looked at by itself.
   */
  armLife(family: Family, slot: number): void {
    const { table } = this;
    const extras = table.extras.size > 0 ? table.extras.get(slot) : undefined;
    let endsAt = extras?.expiresAt ?? 0;
    const { retentionMs } = family.settings;
    if (retentionMs > 0 && (this.wasOut(slot) || (extras?.delayedTo ?? 0) > 0)) {
      const keptUntil = table.enqueuedAt(slot) + retentionMs;
      if (endsAt === 0 || keptUntil < endsAt) endsAt = keptUntil;
    }
    if (endsAt > 0) this.deadlines.set(slot, endsAt);
  }

  /** Whether the message was handed out before, counted or not. */
  wasOut(slot: number): boolean {
    return (this.table.chunk(slot).firstReceived[this.table.index(slot)] as number) > 0;
  }

  /** Sets the clock for a family that was read from a checkpoint. */
  armRetention(family: Family): void {
    if (family.settings.retentionMs > 0 && family.ready > 0) this.retention.set(family.base.id, 0);
  }

  touch(family: Family): void {
    if (family.dirty) return;
    family.dirty = true;
    this.dirty.push(family);
  }

  /** Takes a slot out of wherever it stands; it is `picked` until one of the methods below places it. */
  pick(queue: Queue, slot: number): void {
    const table = this.table;
    const family = queue.family;
    const state = table.state(slot);
    if (state === State.ready) {
      queue.list(table.priority(slot)).remove(table, slot);
      queue.ready--;
      queue.readyBytes -= table.bodyBytes(slot);
      family.ready--;
    } else if (state === State.delayed) {
      family.delayed.remove(table, slot);
      queue.delayedCount--;
      if (this.wasOut(slot)) queue.held--;
    } else if (state === State.inFlight) {
      family.inFlight.delete(table.sequence(slot));
      queue.inFlight--;
    } else {
      return;
    }
    this.deadlines.remove(slot);
    table.setState(slot, State.picked);
    queue.picked++;
  }

  /** A picked slot found its next place; the last one of an ordered sub-channel frees it for its next message. */
  #unpick(queue: Queue): void {
    queue.picked--;
    if (queue.isSubChannel && queue.eligible) {
      queue.family.enroll(queue);
      this.touch(queue.family);
    }
  }

  /** Picked to in flight. `leaseEndsAt` 0 = until settled. */
  lease(queue: Queue, slot: number, at: number, leaseEndsAt: number): void {
    const table = this.table;
    const c = table.chunk(slot);
    const i = table.index(slot);
    c.state[i] = State.inFlight;
    const count = c.count[i] as number;
    if (count < 0xffff) c.count[i] = count + 1;
    if (c.firstReceived[i] === 0) {
      c.firstReceived[i] = Math.min(Math.max(1, at - (c.enqueuedAt[i] as number)), 0xffffffff);
    }
    queue.picked--;
    queue.inFlight++;
    queue.family.inFlight.set(c.sequence[i] as number, slot);
    if (leaseEndsAt > 0) this.deadlines.set(slot, leaseEndsAt);
  }

  /** Moves a lease's end; 0 = until settled. */
  extend(slot: number, leaseEndsAt: number): void {
    if (leaseEndsAt > 0) this.deadlines.set(slot, leaseEndsAt);
    else this.deadlines.remove(slot);
  }

  /** Picked, back to its old place. */
  putBack(queue: Queue, slot: number): void {
    queue.picked--;
    this.#makeReady(queue, slot);
  }

  /** Picked, back behind all others with a new sequence. It is no younger for that: retention counts from its arrival. */
  putLast(queue: Queue, slot: number, sequence: number): void {
    this.table.chunk(slot).sequence[this.table.index(slot)] = sequence;
    queue.picked--;
    this.#makeReady(queue, slot);
  }

  /** Picked, back but not to be handed out before `until`. */
  putDelayed(queue: Queue, slot: number, until: number): void {
    this.table.extrasOf(slot).delayedTo = until;
    this.#delay(queue, slot, until);
    this.#unpick(queue);
  }

  /** A picked slot whose queue went away meanwhile. */
  discardPicked(slot: number): void {
    if (this.table.state(slot) === State.picked) this.#release(slot);
  }

  /** The delivery is not to count. */
  uncount(slot: number): void {
    if (this.table.receives(slot) > 0) this.table.extrasOf(slot).uncounted++;
  }

  /** Delay over: it stands where its number says. */
  endDelay(queue: Queue, slot: number): void {
    this.pick(queue, slot);
    queue.picked--;
    this.#makeReady(queue, slot);
  }

  /** Out of its queue for good, from any state. */
  remove(queue: Queue, slot: number): void {
    this.pick(queue, slot);
    this.#release(slot);
    this.#unpick(queue);
    this.dropIfEmpty(queue);
  }

  /** Picked slot changes hands: it belongs to `to` (arriving there) as a new arrival, its bytes stay where they are. */
  rehome(from: Queue, slot: number, to: Queue, sequence: number): void {
    const table = this.table;
    const c = table.chunk(slot);
    const i = table.index(slot);
    to.arriving++;
    to.arrivingBytes += c.bodyBytes[i] as number;
    from.family.bytes -= c.length[i] as number;
    to.family.bytes += c.length[i] as number;
    c.queue[i] = to.id;
    c.sequence[i] = sequence;
    c.count[i] = 0;
    c.firstReceived[i] = 0;
    c.state[i] = State.pending;
    this.#unpick(from);
    this.dropIfEmpty(from);
  }
}
