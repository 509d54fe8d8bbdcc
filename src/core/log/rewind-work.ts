import { nextTurn } from '../../base/turn.js';
import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { RecordType, writeArrival, writeGiveBack } from '../partition/records.js';
import { blankArrival, setExtras, type MutableArrival } from '../queue/arrival.js';
import type { Family, Queue } from '../queue/family.js';
import { State, type Stored } from '../queue/message-table.js';
import type { QueueService } from '../queue/queue-service.js';
import type { EventLog } from './event-log.js';
import { eachOld, isOld, planOf, type Plan, type RewindScope } from './rewind-plan.js';
import { inSlices, type Sliced } from './slices.js';
import type { LogEvent, RewindResult } from './types.js';

/** Events and body bytes looked at in one read. */
const READ_EVENTS = 1000;
const READ_BYTES = 8 * 1024 * 1024;
/** How soon deliveries that are being read from the disk are looked for again. */
const PICKED_AGAIN_MS = 1;
/** Bytes of an entry around one copy. */
const STAGED_BYTES = 64;
const COMMIT_BYTES = 256;

/** What the service does for rewinds. */
export interface RewindHost {
  find(name: ChannelName): EventLog | undefined;
  read(log: EventLog, from: number, limits: { max: number; maxBytes: number }): Promise<readonly LogEvent[]>;
}

/** A copy that was decided upon. */
interface Wanted {
  /** Its event; 0 = it is of none. */
  readonly event: number;
  /** What the queue holds of it; -1 = nothing. */
  readonly slot: number;
  readonly channel: ChannelName;
  /** Of the event's message, when it was read. */
  readonly bodyBytes?: number;
}

/** A copy to be written. */
interface Copy {
  readonly channel: ChannelName;
  readonly arrival: MutableArrival;
  readonly position: number;
  readonly stored: Stored;
}

/**
 * One rewind under way. What the queue is to hold is staged: written, slice by slice, as records that count for nothing until
 * the last one, which takes what the queue held and lets them in. A crash before that leaves the queue as it was.
 */
export class RewindWork {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  readonly #host: RewindHost;
  readonly #scope: RewindScope;
  readonly #slice: number;
  /** Slots that wait for the last record, and the queue of each. */
  readonly #staged: { readonly slots: number[]; readonly queues: Queue[] } = { slots: [], queues: [] };
  #restored = 0;
  #kept = 0;
  #removed = 0;
  #nextSequence: number;
  // Events that were read ahead for their route.
  #read: readonly LogEvent[] = [];
  #readAt = 0;

  /** Gives what there is, and what is on its way in, its place: before and behind what the queue is to hold. */
  constructor(
    core: CoreContext,
    parts: { queues: QueueService; host: RewindHost },
    what: Pick<RewindScope, 'family' | 'log' | 'request'>,
  ) {
    const { family, log } = what;
    this.#core = core;
    this.#queues = parts.queues;
    this.#host = parts.host;
    this.#slice = core.limits.rewindSliceMax;
    const events = log === undefined ? 0 : Math.max(log.committed + 1 - log.index.first, 0);
    const held = family.ready + family.delayed.count + family.inFlight.size;
    const first = family.nextSequence;
    // More than the copies that there can be.
    family.nextSequence += events + held;
    this.#scope = { ...what, first, upTo: log?.committed ?? 0 };
    this.#nextSequence = first;
    this.#putBehind();
  }

  /** What is on its way in came later than all events there are: its place is behind them. */
  #putBehind(): void {
    const { queues, pipeline } = this.#core;
    const { table, byId } = queues;
    const { family } = this.#scope;
    const arriving = pipeline
      .waiting()
      .flatMap(({ slots }) => slots ?? [])
      .filter((slot) => table.state(slot) === State.pending && byId.get(table.queue(slot))?.family === family)
      .sort((a, b) => table.sequence(a) - table.sequence(b));
    if (arriving.length === 0) return;
    const sequences = arriving.map((slot) => table.sequence(slot));
    const newSequence = family.nextSequence;
    family.nextSequence += arriving.length;
    const back = { queue: family.base.id, newSequence, delayedTo: 0, uncounted: false, sequences };
    writeGiveBack(pipeline.side(arriving.length * 20 + 64), back);
    pipeline.flushSide();
    arriving.forEach((slot, i) => {
      table.chunk(slot).sequence[table.index(slot)] = newSequence + i;
    });
  }

  async run(): Promise<RewindResult> {
    this.#checkAlive();
    const plan = await inSlices(planOf(this.#core, this.#scope));
    const rest = await this.#stageAll(plan);
    await untilAllIsSettled(this.#core, this.#scope.family);
    this.#checkAlive();
    const durable = this.#commit(rest);
    // The first slice in the same turn: a small rewind is done then.
    await inSlices(this.#apply());
    await durable;
    this.#checkAlive();
    const removed = Math.max(this.#removed - this.#kept, 0);
    return { restored: this.#restored, kept: this.#kept, removed, skipped: plan.skipped };
  }

  /** It failed before its last record: nothing of it is left. */
  async abandon(): Promise<void> {
    await inSlices(this.#unstage());
  }

  *#unstage(): Sliced<void> {
    const { slots, queues } = this.#staged;
    for (let i = slots.length - 1; i >= 0; i--) {
      const queue = queues[i] as Queue;
      this.#core.queues.abandon(queue, slots[i] as number);
      this.#core.queues.dropIfEmpty(queue);
      if (i % this.#slice === 0) yield;
    }
    slots.length = queues.length = 0;
  }

  #checkAlive(): void {
    const { family, log } = this.#scope;
    if (family.base.deleted) throw new BrokerError('not-found', `queue '${family.base.name}' was deleted`);
    if (log?.deleted === true) throw new BrokerError('not-found', `log '${log.name}' was deleted`);
  }

  // Staging ----------------------------------------------------------------------------------------------------

  /** Stages what is wanted but the last slice, which goes with the last record. */
  async #stageAll(plan: Plan): Promise<readonly Wanted[]> {
    let wanted: Wanted[] = [];
    let looked = 0;
    for (const one of inOrder(plan, this.#scope, this.#core)) {
      if (++looked % this.#slice === 0) await nextTurn();
      const channel = one.slot < 0 ? await this.#route(one.event) : one;
      if (channel === undefined) continue;
      wanted.push({ ...one, ...channel });
      if (wanted.length < this.#slice) continue;
      await this.#stagePart(wanted);
      wanted = [];
    }
    return wanted;
  }

  /** Where an event goes that the queue does not hold; undefined: its filter says no, or it is gone. */
  async #route(event: number): Promise<Pick<Wanted, 'channel' | 'bodyBytes'> | undefined> {
    const { family, log, request } = this.#scope;
    const { route } = request;
    if (route === undefined || log === undefined) return { channel: family.base.name };
    while (this.#readAt < this.#read.length && (this.#read[this.#readAt]?.sequence ?? 0) < event)
      this.#readAt++;
    if (this.#readAt >= this.#read.length) {
      this.#read = await this.#host.read(log, event, { max: READ_EVENTS, maxBytes: READ_BYTES });
      this.#readAt = 0;
    }
    const found = this.#read[this.#readAt];
    // Retention may have taken it meanwhile.
    if (found?.sequence !== event) return undefined;
    const channel = route(found.message, event);
    return channel === undefined ? undefined : { channel, bodyBytes: found.message.body.length };
  }

  /** One slice as an entry of its own; resolves when it is on the disk, so that no more than one is on its way. */
  async #stagePart(wanted: readonly Wanted[]): Promise<void> {
    this.#checkAlive();
    const { pipeline } = this.#core;
    this.#write(wanted);
    if (pipeline.main.offset === 0) pipeline.main.abandon();
    else await this.#append();
    await nextTurn();
  }

  /** Lays stage records down in an entry that it leaves open. Throws what a channel is refused with. */
  #write(wanted: readonly Wanted[]): void {
    const { main } = this.#core.pipeline;
    main.begin(wanted.length * STAGED_BYTES + COMMIT_BYTES);
    try {
      for (const one of wanted) {
        const copy = this.#copyOf(one);
        if (copy !== undefined) this.#stage(copy);
      }
    } catch (caught) {
      main.abandon();
      throw BrokerError.from(caught);
    }
  }

  /** A copy as of now; undefined when it is not wanted any more. */
  #copyOf({ event, slot, channel, bodyBytes }: Wanted): Copy | undefined {
    const { log, request } = this.#scope;
    if (slot >= 0 && isOld(this.#core, this.#scope, slot)) {
      this.#kept++;
      return this.#slotCopy(slot);
    }
    if (event === 0 || log === undefined || event < log.index.first) return undefined;
    const storedAt = log.index.storedAt(event);
    // Settled since it was decided about.
    if (slot >= 0 && !request.wants(event, storedAt, false)) return undefined;
    this.#restored++;
    const length = log.index.length(event);
    return {
      channel,
      arrival: { ...blankArrival(), enqueuedAt: storedAt },
      position: log.index.position(event),
      // Nobody read it: all of it counts.
      stored: { length, bodyBytes: bodyBytes ?? length },
    };
  }

  #slotCopy(slot: number): Copy {
    const { table, byId } = this.#core.queues;
    const extras = table.extras.get(slot);
    const arrival: MutableArrival = {
      ...blankArrival(),
      enqueuedAt: table.enqueuedAt(slot),
      priority: table.priority(slot),
      expiresAt: extras?.expiresAt ?? 0,
      maxReceiveCount: extras?.maxReceiveCount ?? 0,
      maxReceiveQueue: extras?.maxReceiveQueue ?? '',
      reRoutedFrom: extras?.reRoutedFrom ?? '',
    };
    const { name: channel } = byId.get(table.queue(slot)) as Queue;
    const stored = { length: table.length(slot), bodyBytes: table.bodyBytes(slot) };
    return { channel, arrival, position: table.position(slot), stored };
  }

  #stage({ channel, arrival, position, stored }: Copy): void {
    const { queues, pipeline } = this.#core;
    const { main } = pipeline;
    const queue = this.#queues.channels.forArrival(channel, false);
    arrival.queue = queue.id;
    arrival.sequence = this.#nextSequence++;
    main.u8(RecordType.stage);
    writeArrival(main, arrival);
    main.u64(position);
    main.u32(stored.length);
    main.u32(stored.bodyBytes);
    const slot = queues.allocate(queue, arrival, position, stored);
    queues.live.share(position);
    setExtras(this.#core, slot, arrival);
    this.#staged.slots.push(slot);
    this.#staged.queues.push(queue);
  }

  // The change itself ------------------------------------------------------------------------------------------

  /** The last record: from here on the queue holds what was staged, whatever its lists still say. */
  #commit(rest: readonly Wanted[]): Promise<void> {
    const { pipeline } = this.#core;
    const { main } = pipeline;
    const { family, first } = this.#scope;
    pipeline.flushSide();
    this.#write(rest);
    main.u8(RecordType.rewound);
    main.u32(family.base.id);
    main.u64(first);
    const durable = this.#append();
    family.rewoundBelow = first;
    return durable;
  }

  /** Sends the open entry out; resolves when it is durable. Throws when the journal has closed. */
  #append(): Promise<void> {
    const { pipeline } = this.#core;
    let resolve: () => void;
    const durable = new Promise<void>((done) => (resolve = done));
    pipeline.appendKept(pipeline.main, {
      slots: [],
      commit: () => {
        resolve();
      },
    });
    return durable;
  }

  /** Lets go of what the queue held, then lets in what was staged: the last first, each finds its place at the front. */
  *#apply(): Sliced<void> {
    const { queues } = this.#core;
    const { family } = this.#scope;
    yield* eachOld(this.#core, this.#scope, (slot) => {
      queues.remove(queues.byId.get(queues.table.queue(slot)) as Queue, slot);
      this.#removed++;
    });
    family.rewoundBelow = 0;
    yield* letIn(this.#core, this.#staged, this.#slice);
  }
}

/** Staged slots become ready. */
function* letIn(
  core: Pick<CoreContext, 'queues'>,
  staged: { readonly slots: number[]; readonly queues: Queue[] },
  slice: number,
): Sliced<void> {
  const { slots, queues } = staged;
  for (let left = slots.length; left > 0; left--) {
    const slot = slots.pop() as number;
    const queue = queues.pop() as Queue;
    if (queue.deleted) core.queues.abandon(queue, slot);
    else core.queues.arriveInPlace(queue, slot);
    if (left % slice === 0) yield;
  }
}

/** Deliveries whose bodies are being read, those that are not durable, and dead letters, end soon: nothing new is handed out. */
export async function untilAllIsSettled(
  core: Pick<CoreContext, 'clock' | 'queues'>,
  family: Family,
): Promise<void> {
  while (!family.base.deleted && (isPicked(family) || holdsEarly(core, family)))
    await new Promise<void>((resolve) => void core.clock.after(PICKED_AGAIN_MS, resolve));
}

/** Something was handed out before it is durable: its bytes may not stay where they are. */
function holdsEarly({ queues }: Pick<CoreContext, 'queues'>, family: Family): boolean {
  if (queues.early.size === 0) return false;
  for (const slot of family.inFlight.values()) if (queues.early.at(slot) !== undefined) return true;
  return false;
}

function isPicked(family: Family): boolean {
  for (const member of family.members) if (member.picked > 0) return true;
  return false;
}

/** Events and others as one list, by time; what came at the same time is in the order of the journal. The oldest missing ones give way. */
function* inOrder(
  plan: Plan,
  { log, family }: Pick<RewindScope, 'log' | 'family'>,
  { queues }: Pick<CoreContext, 'queues'>,
): Generator<Wanted> {
  const { table, byId } = queues;
  const { sequences, slots, others } = plan;
  const channelOf = (slot: number): ChannelName => byId.get(table.queue(slot))?.name ?? family.base.name;
  let skip = plan.skipped;
  let next = 0;
  const isBefore = (other: number, event: number): boolean => {
    if (log === undefined || event < log.index.first) return false;
    const apart = table.enqueuedAt(other) - log.index.storedAt(event);
    return apart < 0 || (apart === 0 && table.position(other) < log.index.position(event));
  };
  for (const [i, event] of sequences.entries()) {
    const slot = slots[i] as number;
    if (slot < 0 && skip-- > 0) continue;
    for (; next < others.length && isBefore(others[next] as number, event); next++) {
      const other = others[next] as number;
      yield { event: 0, slot: other, channel: channelOf(other) };
    }
    yield { event, slot, channel: slot < 0 ? family.base.name : channelOf(slot) };
  }
  for (; next < others.length; next++) {
    const other = others[next] as number;
    yield { event: 0, slot: other, channel: channelOf(other) };
  }
}
