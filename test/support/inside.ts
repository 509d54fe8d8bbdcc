import { MessageView } from '../../src/core/message-codec.js';
import type { LogService } from '../../src/core/log/log-service.js';
import { LogService as Logs } from '../../src/core/log/log-service.js';
import { State } from '../../src/core/queue/message-table.js';
import type { Family, Queue } from '../../src/core/queue/family.js';
import { QueueStore } from '../../src/core/queue/queue-store.js';
import type { Journal } from '../../src/core/ports/journal.js';

/*
 * A look into a running broker, for tests only: the store and the logs of the broker that was opened last are caught as they
 * make their first channel.
 */
let lastStore: QueueStore | undefined;
let lastLogs: LogService | undefined;

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
const createQueue = QueueStore.prototype.createQueue;
QueueStore.prototype.createQueue = function (...args) {
  // eslint-disable-next-line @typescript-eslint/no-this-alias -- catching it is the point
  lastStore = this;
  return createQueue.apply(this, args);
};
// eslint-disable-next-line @typescript-eslint/unbound-method -- likewise
const adopt = Logs.prototype.adopt;
Logs.prototype.adopt = function (...args) {
  // eslint-disable-next-line @typescript-eslint/no-this-alias -- likewise
  lastLogs = this;
  return adopt.apply(this, args);
};

/** Forgets what was caught: call before a broker is opened. */
export function forgetInside(): void {
  lastStore = undefined;
  lastLogs = undefined;
}

/** One stored message as it lies in the table. */
export interface Seen {
  readonly text: string;
  readonly channel: string;
  readonly state: 'pending' | 'ready' | 'delayed' | 'inFlight' | 'picked';
  readonly sequence: number;
  /** Deliveries that count, and deliveries that were made. */
  readonly count: number;
  readonly attempt: number;
  readonly maxReceiveCount: number;
  readonly maxReceiveQueue: string;
  readonly wasOut: boolean;
  readonly bodyBytes: number;
  readonly priority: number;
  readonly enqueuedAt: number;
  readonly expiresAt: number;
  readonly reRoutedFrom: string;
  /** When the delay or the lease ends; undefined = never. */
  readonly deadline: number | undefined;
}

export interface Inside {
  readonly messages: readonly Seen[];
  /** Ready messages in the order of their hand-out: highest priority first. By channel. */
  readonly ready: ReadonlyMap<string, readonly Seen[]>;
  readonly dedup: ReadonlyMap<
    string,
    ReadonlyMap<string, { readonly at: number; readonly sequence: number }>
  >;
  readonly faults: readonly string[];
}

const STATES = ['free', 'pending', 'ready', 'delayed', 'inFlight', 'picked'] as const;

/** Positions kept for durable readers of a log, by name. */
export function cursorsOf(log: string): ReadonlyMap<string, number> {
  return lastLogs?.byName.get(log)?.cursors ?? new Map<string, number>();
}

/** The text a test put at the front of a body, up to its first colon. */
export function textOf(body: Uint8Array): string {
  const text = Buffer.from(body).toString('latin1');
  const colon = text.indexOf(':');
  return colon < 0 ? text : text.slice(0, colon);
}

/** Reads everything, and checks that what is counted is what is there. */
export function inside(journal: Pick<Journal, 'peek'>): Inside {
  const store = lastStore;
  if (store === undefined) return { messages: [], ready: new Map(), dedup: new Map(), faults: [] };
  const faults: string[] = [];
  const bySlot = readTable(store, journal, faults);
  const ready = new Map<string, Seen[]>();
  const dedup = new Map<string, Map<string, { at: number; sequence: number }>>();
  const families = new Set(store.byId.values().map((queue) => queue.family));
  for (const family of families) {
    checkFamily(store, family, bySlot, faults);
    for (const member of family.members) ready.set(member.name, readyOf(store, member, bySlot));
    dedup.set(family.base.name, new Map(family.dedup));
  }
  checkTable(store, bySlot, faults);
  return { messages: [...bySlot.values()], ready, dedup, faults };
}

function readTable(store: QueueStore, journal: Pick<Journal, 'peek'>, faults: string[]): Map<number, Seen> {
  const { table } = store;
  const found = new Map<number, Seen>();
  for (let slot = 0; slot < table.end; slot++) {
    const state = STATES[table.state(slot)];
    if (state === 'free' || state === undefined) continue;
    const position = table.position(slot);
    const payload = position < 0 ? table.memory.get(slot) : journal.peek(position, table.length(slot));
    if (payload === undefined) {
      faults.push(`slot ${slot} (${state}): no body at ${position}`);
      continue;
    }
    const extras = table.extras.get(slot);
    const { body } = new MessageView(payload, new Map());
    found.set(slot, {
      text: textOf(body),
      bodyBytes: body.length,
      attempt: table.count(slot),
      maxReceiveCount: extras?.maxReceiveCount ?? 0,
      maxReceiveQueue: extras?.maxReceiveQueue ?? '',
      wasOut: (table.chunk(slot).firstReceived[table.index(slot)] ?? 0) > 0,
      channel: store.byId.get(table.queue(slot))?.name ?? '?',
      state,
      sequence: table.sequence(slot),
      count: table.receives(slot),
      priority: table.priority(slot),
      enqueuedAt: table.enqueuedAt(slot),
      expiresAt: extras?.expiresAt ?? 0,
      reRoutedFrom: extras?.reRoutedFrom ?? '',
      deadline: store.deadlines.of(slot),
    });
  }
  return found;
}

function readyOf(store: QueueStore, member: Queue, bySlot: ReadonlyMap<number, Seen>): Seen[] {
  const out: Seen[] = [];
  for (const list of [...member.lists].reverse()) {
    for (let slot = list.head; slot >= 0; slot = store.table.next(slot)) {
      const seen = bySlot.get(slot);
      if (seen !== undefined) out.push(seen);
    }
  }
  return out;
}

function checkFamily(
  store: QueueStore,
  family: Family,
  bySlot: ReadonlyMap<number, Seen>,
  faults: string[],
): void {
  const { table } = store;
  const same = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) faults.push(`${what} is ${String(found)}, counted ${String(expected)}`);
  };
  const slotsOf = (queue: Queue, state: number): number[] =>
    [...bySlot.keys()].filter((slot) => table.queue(slot) === queue.id && table.state(slot) === state);
  let ready = 0;
  let bytes = 0;
  let delayed = 0;
  let inFlight = 0;
  for (const member of family.members) {
    const name = member.name;
    const readySlots = slotsOf(member, State.ready);
    same(`${name}.ready`, member.ready, readySlots.length);
    same(`${name} lists`, readyOf(store, member, bySlot).length, readySlots.length);
    same(
      `${name}.readyBytes`,
      member.readyBytes,
      sum(readySlots, (slot) => bySlot.get(slot)?.bodyBytes ?? 0),
    );
    same(`${name}.inFlight`, member.inFlight, slotsOf(member, State.inFlight).length);
    same(`${name}.delayedCount`, member.delayedCount, slotsOf(member, State.delayed).length);
    same(`${name}.picked`, member.picked, slotsOf(member, State.picked).length);
    const arriving = slotsOf(member, State.pending).length;
    if (member.arriving < arriving)
      faults.push(`${name}.arriving is ${member.arriving}, counted ${arriving}`);
    if (member.isSubChannel && member.empty) faults.push(`${name} is empty and still there`);
    if (member.eligible && !member.inRing) faults.push(`${name} may hand out and is not in the rotation`);
    same(`${name} by id`, store.byId.get(member.id), member);
    same(`${name} by name`, store.byName.get(name), member);
    ready += readySlots.length;
    delayed += member.delayedCount;
    inFlight += member.inFlight;
    bytes += sum(
      [...bySlot.keys()].filter((slot) => table.queue(slot) === member.id),
      (slot) => table.length(slot),
    );
  }
  const name = family.base.name;
  same(`${name} family.ready`, family.ready, ready);
  same(`${name} family.bytes`, family.bytes, bytes);
  same(`${name} family.delayed`, family.delayed.count, delayed);
  same(`${name} family.inFlight`, family.inFlight.size, inFlight);
  const sequences = new Set<number>();
  for (const member of family.members) {
    for (const slot of bySlot.keys()) {
      if (table.queue(slot) !== member.id) continue;
      if (sequences.has(table.sequence(slot))) faults.push(`${name}: sequence ${table.sequence(slot)} twice`);
      sequences.add(table.sequence(slot));
      if (table.sequence(slot) >= family.nextSequence) faults.push(`${name}: a sequence from the future`);
    }
  }
}

function checkTable(store: QueueStore, bySlot: ReadonlyMap<number, Seen>, faults: string[]): void {
  const { table, live, deadlines } = store;
  if (table.used !== bySlot.size) faults.push(`table.used is ${table.used}, counted ${bySlot.size}`);
  const placed = [...bySlot.keys()].filter((slot) => table.position(slot) >= 0);
  let liveBytes = sum(placed, (slot) => table.length(slot));
  for (const log of lastLogs?.byId.values() ?? []) {
    for (let s = log.index.first; s < log.index.end; s++) liveBytes += log.index.length(s);
  }
  if (live.total !== liveBytes) faults.push(`live bytes are ${live.total}, counted ${liveBytes}`);
  for (const slot of table.extras.keys()) if (!bySlot.has(slot)) faults.push(`extras of free slot ${slot}`);
  for (const slot of table.memory.keys()) if (!bySlot.has(slot)) faults.push(`memory of free slot ${slot}`);
  deadlines.forEach((slot) => {
    if (!bySlot.has(slot)) faults.push(`a deadline of free slot ${slot}`);
  });
  for (const [slot, seen] of bySlot) {
    if (seen.channel === '?' && seen.state !== 'pending' && seen.state !== 'picked')
      faults.push(`slot ${slot} has no queue`);
    if (seen.state === 'delayed' && seen.deadline === undefined)
      faults.push(`slot ${slot} is delayed for ever`);
  }
  const inUse = new Set(store.directory.freeIds.filter((id) => store.byId.has(id)));
  if (inUse.size > 0) faults.push(`ids ${[...inUse].join()} are free and in use`);
  if (new Set(store.directory.freeIds).size !== store.directory.freeIds.length)
    faults.push('an id is free twice');
}

function sum(slots: readonly number[], of: (slot: number) => number): number {
  return slots.reduce((total, slot) => total + of(slot), 0);
}
