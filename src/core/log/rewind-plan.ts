import type { CoreContext } from '../core-context.js';
import type { Family } from '../queue/family.js';
import { State } from '../queue/message-table.js';
import type { EventLog } from './event-log.js';
import { listedSlots } from './held-copies.js';
import { sorted, type Sliced } from './slices.js';
import type { RewindRequest } from './types.js';

/** What a rewind is about. */
export interface RewindScope {
  readonly family: Family;
  readonly log: EventLog | undefined;
  readonly request: RewindRequest;
  /** What the family held when it began has sequences below; what it is to hold begins here. */
  readonly first: number;
  /** The log's last durable event then. What is appended later has its own fan-out. */
  readonly upTo: number;
}

/** Events that the queue is to hold, and the slot of each that it holds now (-1: none), in the order of the log. */
export interface Plan {
  readonly sequences: readonly number[];
  readonly slots: readonly number[];
  /** Slots to be kept that are no copy of an event, by time. */
  readonly others: readonly number[];
  /** How many of the oldest missing ones give way. */
  readonly skipped: number;
}

type Core = Pick<CoreContext, 'queues' | 'limits'>;

/** Whether the slot is what the family held when the rewind began. */
export function isOld({ queues }: Core, { family, first }: RewindScope, slot: number): boolean {
  const { table, byId } = queues;
  const state = table.state(slot);
  if (state !== State.ready && state !== State.delayed && state !== State.inFlight) return false;
  return table.sequence(slot) < first && byId.get(table.queue(slot))?.family === family;
}

/** Visits what the family held when the rewind began and still holds. `visit` may remove it. */
export function* eachOld(core: Core, scope: RewindScope, visit: (slot: number) => void): Sliced<void> {
  const { table } = core.queues;
  const { family } = scope;
  const slice = core.limits.rewindSliceMax;
  if (family.ready + family.delayed.count + family.inFlight.size <= slice) {
    for (const slot of listedSlots(core, family)) if (isOld(core, scope, slot)) visit(slot);
    return;
  }
  // Not along the lists: they change between the turns.
  for (let slot = 0; slot < table.end; slot++) {
    if (isOld(core, scope, slot)) visit(slot);
    if (slot % slice === slice - 1) yield;
  }
}

/** Decides what the queue is to hold of the events there are, and of what else it holds. */
export function* planOf(core: Core, scope: RewindScope): Sliced<Plan> {
  const { table } = core.queues;
  const { log, request, upTo } = scope;
  const slice = core.limits.rewindSliceMax;
  // A copy has its event's place in the journal.
  const held = new Map<number, number>();
  yield* eachOld(core, scope, (slot) => held.set(table.position(slot), slot));
  const sequences: number[] = [];
  const slots: number[] = [];
  let missing = 0;
  for (let s = log?.index.first ?? 1; log !== undefined && s <= upTo; s++) {
    if (s % slice === 0) yield;
    // Retention may have moved on.
    if (s < log.index.first) continue;
    const position = log.index.position(s);
    const slot = held.get(position) ?? -1;
    if (slot >= 0) held.delete(position);
    if (!request.wants(s, log.index.storedAt(s), slot >= 0)) continue;
    sequences.push(s);
    slots.push(slot);
    if (slot < 0) missing++;
  }
  const others: number[] = [];
  let looked = 0;
  for (const slot of held.values()) {
    if (++looked % slice === 0) yield;
    if (request.keeps(table.enqueuedAt(slot))) others.push(slot);
  }
  const byTime = (a: number, b: number): number =>
    table.enqueuedAt(a) - table.enqueuedAt(b) || table.position(a) - table.position(b);
  return {
    sequences,
    slots,
    others: yield* sorted(others, byTime, slice),
    skipped: Math.max(missing - request.restoreMax, 0),
  };
}
