import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { Scheduler, Timeouts } from '../../base/scheduler.js';
import { DEFAULT_CORE_LIMITS, type CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { LogService } from '../log/log-service.js';
import type { Journal, JournalListener, Position } from '../ports/journal.js';
import { UNCONTESTED } from '../ports/tenure.js';
import { ChannelIds } from '../queue/channels.js';
import { State } from '../queue/message-table.js';
import { QueueService } from '../queue/queue-service.js';
import { QueueStore } from '../queue/queue-store.js';
import { RegistryStore } from '../registry/registry-store.js';
import { readCheckpoint, writeCheckpoint, type PartitionState } from './checkpoint.js';
import { EntryWriter } from './entry-writer.js';
import { LiveExtents } from './live-extents.js';
import { Pipeline } from './pipeline.js';
import { Recovery } from './recovery.js';
import { RecordType, visitRecords } from './records.js';

/** Everything a store holds, in an order in which it can be taken in: bodies first, then the state that refers to them. */
export type PortableItem =
  | { readonly kind: 'body'; readonly position: Position; readonly bytes: Uint8Array }
  | { readonly kind: 'state'; readonly bytes: Uint8Array };

/** What was carried over. */
export interface PortableFigures {
  messages: number;
  events: number;
  bodies: number;
  bytes: number;
}

export interface PortableParts {
  /** Opened, not started; whoever opened it closes it. */
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Positions of bodies on their way: no journal has such, so that old and new places never meet. */
const CARRIED_FROM = 2 ** 50;
/** Bytes of bodies in one entry, and between two waits for the journal. */
const ENTRY_BYTES = 1 << 20;
const AHEAD_BYTES = 16 << 20;

/** The state of a store as its journal tells it, and a body at a time. Nobody else may use the store meanwhile. */
export async function* exportState(parts: PortableParts): AsyncGenerator<PortableItem, PortableFigures> {
  const { journal } = parts;
  const state = await recovered(parts);
  journal.start(new Losses());
  const figures = { messages: 0, events: 0, bodies: 0, bytes: 0 };
  const bodies = bodiesOf(state, figures);
  const carried = new Recovery(state);
  let next = CARRIED_FROM;
  for (const [position, length] of bodies) {
    const bytes = journal.peek(position, length) ?? (await journal.read(position, length));
    yield { kind: 'body', position: next, bytes };
    carried.relocate(position, next);
    next += length;
    figures.bodies++;
    figures.bytes += length;
  }
  carried.finish();
  for (const bytes of writeCheckpoint(state, [])) yield { kind: 'state', bytes };
  return figures;
}

/** Fills an empty store. Rejects with `precondition` when it is not; until it resolves, the store is of no use. */
export async function importState(
  parts: PortableParts,
  items: AsyncIterable<PortableItem>,
): Promise<PortableFigures> {
  const { journal } = parts;
  await mustBeEmpty(journal);
  const losses = new Losses();
  journal.start(losses);
  const bodies = new BodyWriter(journal, losses);
  const described: Uint8Array[] = [];
  for await (const item of items) {
    if (item.kind === 'body') await bodies.add(item.position, item.bytes);
    else described.push(item.bytes);
  }
  await bodies.flush();
  const state = emptyState(parts);
  readCheckpoint(state, Buffer.concat(described));
  const figures = { messages: 0, events: 0, bodies: 0, bytes: 0 };
  const wanted = bodiesOf(state, figures);
  for (const position of wanted.keys())
    if (!bodies.places.has(position))
      throw new BrokerError('invalid-argument', 'a message is there without its body');
  const carried = new Recovery(state);
  for (const [from, to] of bodies.places) carried.relocate(from, to);
  carried.finish();
  await journal.writeCheckpoint(journal.position, writeCheckpoint(state, []));
  figures.bodies = bodies.places.size;
  figures.bytes = bodies.bytes;
  return figures;
}

async function mustBeEmpty(journal: Journal): Promise<void> {
  let entries = (await journal.checkpoint()) === undefined ? 0 : 1;
  await journal.replay(0, () => entries++);
  if (entries > 0) throw new BrokerError('precondition', 'the store is not empty');
}

/** Puts bodies into the journal, and knows where. */
class BodyWriter {
  readonly places = new Map<Position, Position>();
  bytes = 0;
  readonly #journal: Journal;
  readonly #losses: Losses;
  readonly #writer = new EntryWriter(ENTRY_BYTES);
  #open: { readonly from: Position; readonly offset: number }[] = [];
  #openBytes = 0;
  #ahead = 0;

  constructor(journal: Journal, losses: Losses) {
    this.#journal = journal;
    this.#losses = losses;
  }

  async add(from: Position, bytes: Uint8Array): Promise<void> {
    const w = this.#writer;
    if (this.#open.length === 0) w.begin(Math.max(ENTRY_BYTES, bytes.byteLength + 64));
    w.u8(RecordType.relocate);
    w.u64(from);
    w.u32(bytes.byteLength);
    this.#open.push({ from, offset: w.offset });
    w.bytes(bytes);
    this.bytes += bytes.byteLength;
    this.#openBytes += bytes.byteLength;
    this.#ahead += bytes.byteLength;
    if (this.#openBytes >= ENTRY_BYTES) this.#close();
    if (this.#ahead >= AHEAD_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    this.#close();
    this.#ahead = 0;
    await this.#journal.flush();
    this.#losses.check();
  }

  #close(): void {
    if (this.#open.length === 0) return;
    const base = this.#journal.append(this.#writer.take(), true);
    for (const { from, offset } of this.#open) this.places.set(from, base + offset);
    this.#open = [];
    this.#openBytes = 0;
  }
}

/** Hears whether the journal lost something. */
class Losses implements JournalListener {
  #error: BrokerError | undefined;

  committed(): void {
    // `flush` tells.
  }

  lost(_from: Position, error: BrokerError): void {
    this.#error = error;
  }

  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }
}

/** Every body that something refers to, in the order of the journal. */
function bodiesOf(state: PartitionState, figures: PortableFigures): Map<Position, number> {
  const { table } = state.core.queues;
  const found = new Map<Position, number>();
  for (let slot = 0; slot < table.end; slot++) {
    if (table.state(slot) === State.free || table.position(slot) < 0) continue;
    figures.messages++;
    found.set(table.position(slot), table.length(slot));
  }
  for (const { index } of state.logs.byId.values()) {
    for (let s = index.first; s < index.end; s++) {
      figures.events++;
      found.set(index.position(s), index.length(s));
    }
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

async function recovered(parts: PortableParts): Promise<PartitionState> {
  const { journal } = parts;
  const state = emptyState(parts);
  const checkpoint = await journal.checkpoint();
  if (checkpoint !== undefined) readCheckpoint(state, checkpoint.data);
  const recovery = new Recovery(state);
  await journal.replay(checkpoint?.position ?? 0, (position, payload) =>
    visitRecords(position, payload, recovery),
  );
  recovery.finish();
  return state;
}

function emptyState({ journal, clock, log }: PortableParts): PartitionState {
  const core: CoreContext = {
    clock,
    log,
    journal,
    tenure: UNCONTESTED,
    pipeline: new Pipeline(journal, () => undefined),
    queues: new QueueStore(new LiveExtents(journal.extentBytes)),
    scheduler: new Scheduler(clock),
    timeouts: new Timeouts(),
    translators: new Map(),
    routers: new Map(),
    limits: DEFAULT_CORE_LIMITS,
  };
  const queues = new QueueService(core, new ChannelIds());
  return { core, queues, logs: new LogService(core, queues), registry: new RegistryStore() };
}
