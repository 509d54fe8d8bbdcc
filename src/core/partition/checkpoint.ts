import { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { EventLog } from '../log/event-log.js';
import type { LogService } from '../log/log-service.js';
import type { LogSettings } from '../log/types.js';
import type { DedupEntry, Family, Queue } from '../queue/family.js';
import { Chunk, CHUNK_SLOTS, SLOT_BYTES, State } from '../queue/message-table.js';
import type { QueueService } from '../queue/queue-service.js';
import type { SlotList } from '../queue/slot-list.js';
import type { QueueSettings } from '../queue/types.js';
import type { RegistryStore } from '../registry/registry-store.js';

/*
 * A checkpoint: magic and version, length of the description, the description (channels, settings, lists, extras, deadlines,
 * registry, aliases), padding to eight bytes, then the message table chunk by chunk as it lies in memory, of the last one the
 * part of each column that was ever used. Lists are linked through the table, so they need no order of their own here, and
 * opening costs one read.
 */
const MAGIC = 0x31435150;
const VERSION = 3;
const CHUNK_BYTES = CHUNK_SLOTS * SLOT_BYTES;
/** Chunks of format 1 end before the bytes of bodies, and are whole. Format 2 was never released. */
const CHUNK_BYTES_1 = CHUNK_BYTES - CHUNK_SLOTS * 4;
const HEAD_BYTES = 16;

export interface PartitionState {
  readonly core: CoreContext;
  readonly queues: QueueService;
  readonly logs: LogService;
  readonly registry: RegistryStore;
}

/** The whole state as bytes, taken in one go; later changes do not show. Slots in `arriving` count as arrived. */
export function writeCheckpoint(state: PartitionState, arriving: readonly number[]): Uint8Array[] {
  const { core, queues, logs, registry } = state;
  const { table } = core.queues;
  const w = new ByteWriter(64 * 1024);
  w.u32(queues.channels.ids.next);
  w.varint(core.queues.directory.freeIds.length);
  for (const id of core.queues.directory.freeIds) w.u32(id);
  const families: Family[] = [];
  for (const queue of core.queues.byId.values()) {
    if (!queue.isSubChannel && queue.family.settings.durable) families.push(queue.family);
  }
  w.varint(families.length);
  for (const family of families) writeFamily(w, family);
  w.varint(arriving.length);
  for (const slot of arriving) w.varint(slot);
  writeExtras(w, core);
  writeLogs(w, logs);
  writeNames(w, queues, registry);
  w.varint(table.end);
  const head = new ByteWriter(HEAD_BYTES);
  head.u32(MAGIC);
  head.u32(VERSION);
  head.u64(w.length);
  const padding = new Uint8Array((8 - (w.length % 8)) % 8);
  const parts: Uint8Array[] = [head.buffer.subarray(0, HEAD_BYTES), w.buffer.subarray(0, w.length), padding];
  table.chunks.forEach((chunk, i) => parts.push(...usedOf(chunk, table.end - i * CHUNK_SLOTS)));
  return parts;
}

/** A copy of the first `slots` of a chunk. */
function usedOf(chunk: Chunk, slots: number): Uint8Array[] {
  if (slots >= CHUNK_SLOTS) return [new Uint8Array(chunk.memory.slice(0))];
  return chunk.columns.map(({ start, bytesPerSlot }) =>
    new Uint8Array(chunk.memory, start, slots * bytesPerSlot).slice(),
  );
}

/** A chunk with the first `slots` of it read from `data`. */
function chunkOf(data: Uint8Array, slots: number): Chunk {
  const chunk = new Chunk();
  const bytes = new Uint8Array(chunk.memory);
  if (slots >= CHUNK_SLOTS) {
    bytes.set(data.subarray(0, CHUNK_BYTES));
    return chunk;
  }
  let at = 0;
  for (const { start, bytesPerSlot } of chunk.columns) {
    bytes.set(data.subarray(at, at + slots * bytesPerSlot), start);
    at += slots * bytesPerSlot;
  }
  return chunk;
}

function chunkOfFormat1(data: Uint8Array): Chunk {
  const chunk = new Chunk();
  new Uint8Array(chunk.memory).set(data.subarray(0, CHUNK_BYTES_1));
  // As format 1 counted them.
  chunk.bodyBytes.set(chunk.length);
  return chunk;
}

function writeFamily(w: ByteWriter, family: Family): void {
  w.u32(family.base.id);
  w.text(family.base.name);
  w.text(JSON.stringify(family.settings));
  w.u64(family.nextSequence);
  writeList(w, family.delayed);
  w.varint(family.dedup.size);
  for (const [id, entry] of family.dedup) {
    w.text(id);
    w.text(JSON.stringify(entry));
  }
  w.varint(family.members.size);
  for (const member of family.members) {
    w.u32(member.id);
    if (member.isSubChannel) w.text(member.name);
    w.varint(member.delayedCount);
    w.varint(member.held);
    w.u64(member.readyBytes);
    const { lists } = member;
    w.varint(lists.length);
    for (const list of lists) writeList(w, list);
  }
}

function writeList(w: ByteWriter, list: SlotList): void {
  w.u32(list.head + 1);
  w.u32(list.tail + 1);
  w.u32(list.count);
}

function writeExtras(w: ByteWriter, core: CoreContext): void {
  const { table, deadlines } = core.queues;
  w.varint(table.extras.size);
  for (const [slot, extras] of table.extras) {
    w.varint(slot);
    w.u64(extras.expiresAt);
    w.u64(extras.delayedTo);
    w.varint(extras.maxReceiveCount);
    w.text(extras.maxReceiveQueue);
    w.text(extras.reRoutedFrom);
    w.varint(extras.uncounted);
  }
  w.varint(deadlines.size);
  deadlines.forEach((slot, deadline) => {
    w.varint(slot);
    w.u64(deadline);
  });
}

function writeLogs(w: ByteWriter, logs: LogService): void {
  w.varint(logs.byId.size);
  for (const log of logs.byId.values()) {
    w.u32(log.id);
    w.text(log.name);
    w.text(JSON.stringify(log.settings));
    w.u64(log.lastStoredAt);
    w.u64(log.index.first);
    w.u64(log.index.end);
    for (let s = log.index.first; s < log.index.end; s++) {
      w.u64(log.index.position(s));
      w.u32(log.index.length(s));
      w.u64(log.index.storedAt(s));
    }
    w.varint(log.cursors.size);
    for (const [name, sequence] of log.cursors) {
      w.text(name);
      w.u64(sequence);
    }
  }
}

function writeNames(w: ByteWriter, queues: QueueService, registry: RegistryStore): void {
  const entries = [...registry.all()];
  w.varint(entries.length);
  for (const { kind, key, version, value } of entries) {
    w.text(kind);
    w.text(key);
    w.varint(version);
    w.text(JSON.stringify(value));
  }
  w.varint(queues.channels.aliases.size);
  for (const [alias, channel] of queues.channels.aliases) {
    w.text(alias);
    w.text(channel);
  }
}

/** Rebuilds an empty state from a checkpoint's bytes. Throws `internal` when they are none. */
export function readCheckpoint(state: PartitionState, data: Uint8Array): void {
  const head = new ByteReader(data, 0, HEAD_BYTES);
  if (head.u32() !== MAGIC) throw new BrokerError('internal', 'not a checkpoint');
  const version = head.u32();
  if (version !== VERSION && version !== 1) {
    throw new BrokerError(
      'internal',
      `checkpoint format ${String(version)} is not format ${String(VERSION)}`,
    );
  }
  const isFormat1 = version === 1;
  const end = HEAD_BYTES + head.u64();
  const r = new ByteReader(data, HEAD_BYTES, end);
  const { core, queues, logs, registry } = state;
  queues.channels.ids.next = r.u32();
  for (let left = r.varint(); left > 0; left--) core.queues.directory.freeIds.push(r.u32());
  for (let left = r.varint(); left > 0; left--) readFamily(r, core);
  const arriving: number[] = [];
  for (let left = r.varint(); left > 0; left--) arriving.push(r.varint());
  const deadlines = readExtras(r, core);
  for (let left = r.varint(); left > 0; left--) readLog(r, core, logs);
  readNames(r, queues, registry);
  restoreTable(core, { data, at: Math.ceil(end / 8) * 8, isFormat1, slots: r.varint(), arriving });
  for (const [slot, deadline] of deadlines) {
    if (core.queues.table.state(slot) !== State.free) core.queues.deadlines.set(slot, deadline);
  }
  core.queues.live.shareAll();
}

function readFamily(r: ByteReader, core: CoreContext): void {
  const id = r.u32();
  const name = r.text() as ChannelName;
  const base = core.queues.createQueue(id, name, JSON.parse(r.text()) as QueueSettings);
  const { family } = base;
  family.nextSequence = r.u64();
  readList(r, family.delayed);
  for (let left = r.varint(); left > 0; left--) {
    const dedupId = r.text();
    core.queues.dedupIds.restore(family, dedupId, JSON.parse(r.text()) as DedupEntry);
  }
  for (let left = r.varint(); left > 0; left--) {
    const memberId = r.u32();
    const member =
      memberId === id
        ? base
        : core.queues.directory.createSubChannel(memberId, r.text() as ChannelName, family);
    readMember(r, member);
  }
}

function readMember(r: ByteReader, member: Queue): void {
  member.delayedCount = r.varint();
  member.held = r.varint();
  // Counted anew with the table: format 1 counted other bytes.
  r.skip(8);
  const levels = r.varint();
  for (let i = 0; i < levels; i++) {
    const list = member.list(i);
    readList(r, list);
    member.ready += list.count;
  }
  member.family.ready += member.ready;
}

function readList(r: ByteReader, list: SlotList): void {
  list.head = r.u32() - 1;
  list.tail = r.u32() - 1;
  list.count = r.u32();
}

function readExtras(r: ByteReader, core: CoreContext): [number, number][] {
  for (let left = r.varint(); left > 0; left--) {
    const slot = r.varint();
    const expiresAt = r.u64();
    const delayedTo = r.u64();
    const maxReceiveCount = r.varint();
    const maxReceiveQueue = r.text();
    const reRoutedFrom = r.text();
    const uncounted = r.varint();
    core.queues.table.extras.set(slot, {
      expiresAt,
      delayedTo,
      maxReceiveCount,
      maxReceiveQueue,
      reRoutedFrom,
      uncounted,
    });
  }
  const deadlines: [number, number][] = [];
  for (let left = r.varint(); left > 0; left--) deadlines.push([r.varint(), r.u64()]);
  return deadlines;
}

function readLog(r: ByteReader, core: CoreContext, logs: LogService): void {
  const id = r.u32();
  const name = r.text() as ChannelName;
  const log = logs.adopt(new EventLog(id, name, JSON.parse(r.text()) as LogSettings));
  log.lastStoredAt = r.u64();
  const first = r.u64();
  const end = r.u64();
  log.index.startAt(first);
  for (let s = first; s < end; s++) {
    const position = r.u64();
    const length = r.u32();
    log.index.push(position, length, r.u64());
    log.bytes += length;
    core.queues.live.add(position, length);
  }
  log.committed = end - 1;
  for (let left = r.varint(); left > 0; left--) {
    const cursor = r.text();
    log.cursors.set(cursor, r.u64());
  }
}

function readNames(r: ByteReader, queues: QueueService, registry: RegistryStore): void {
  for (let left = r.varint(); left > 0; left--) {
    const kind = r.text();
    const key = r.text();
    const version = r.varint();
    const json = r.text();
    registry.put({ kind, key, version, value: JSON.parse(json) }, json.length);
  }
  for (let left = r.varint(); left > 0; left--) {
    const alias = r.text();
    queues.channels.aliases.set(alias, r.text() as ChannelName);
  }
}

function restoreTable(
  core: CoreContext,
  source: { data: Uint8Array; at: number; isFormat1: boolean; slots: number; arriving: readonly number[] },
): void {
  const { table, byId, live } = core.queues;
  const chunks: Chunk[] = [];
  const { isFormat1, slots } = source;
  const bytesPerChunk = isFormat1 ? CHUNK_BYTES_1 : CHUNK_BYTES;
  for (let i = 0; i * CHUNK_SLOTS < slots; i++) {
    const data = source.data.subarray(source.at + i * bytesPerChunk);
    chunks.push(isFormat1 ? chunkOfFormat1(data) : chunkOf(data, slots - i * CHUNK_SLOTS));
  }
  const arriving = new Set(source.arriving);
  const picked: number[] = [];
  // Free: what never came to be, and what lived in memory only.
  const isFree = (chunk: Chunk, i: number, slot: number): boolean =>
    chunk.state[i] === State.free ||
    (chunk.state[i] === State.pending && !arriving.has(slot)) ||
    (chunk.position[i] ?? 0) < 0 ||
    !byId.has(chunk.queue[i] ?? 0);
  table.restore(chunks, source.slots, isFree);
  for (let slot = 0; slot < source.slots; slot++) {
    const state = table.state(slot);
    if (state === State.free) {
      table.extras.delete(slot);
      continue;
    }
    const queue = byId.get(table.queue(slot)) as Queue;
    queue.family.bytes += table.length(slot);
    live.add(table.position(slot), table.length(slot));
    if (state === State.ready) queue.readyBytes += table.bodyBytes(slot);
    else if (state === State.inFlight) {
      queue.inFlight++;
      queue.family.inFlight.set(table.sequence(slot), slot);
    } else if (state === State.picked) {
      queue.picked++;
      picked.push(slot);
    } else if (state === State.pending) queue.arriving++;
  }
  for (const slot of source.arriving) {
    if (table.state(slot) === State.pending) core.queues.arrive(byId.get(table.queue(slot)) as Queue, slot);
  }
  for (const slot of picked.reverse()) core.queues.putBack(byId.get(table.queue(slot)) as Queue, slot);
  for (const queue of byId.values()) {
    queue.family.enroll(queue);
    core.queues.armRetention(queue.family);
  }
}
