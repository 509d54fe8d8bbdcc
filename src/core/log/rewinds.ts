import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { PurgeBits, RecordType, writeArrival, writeGiveBack, writeSequences } from '../partition/records.js';
import { blankArrival, setExtras, type MutableArrival } from '../queue/arrival.js';
import type { Family, Queue } from '../queue/family.js';
import type { QueueService } from '../queue/queue-service.js';
import type { EventLog } from './event-log.js';
import { contentOf, HeldCopies } from './held-copies.js';
import type { CopiesLeft, LogEvent, RewindRequest, RewindResult } from './types.js';

/** Events and body bytes looked at in one read. */
const READ_EVENTS = 1000;
const READ_BYTES = 8 * 1024 * 1024;
/** How soon deliveries that are being read from the disk are looked for again. */
const PICKED_AGAIN_MS = 1;
/** Bytes of an entry around one copy. */
const REFERENCE_BYTES = 64;

/** What the service does for rewinds. */
export interface RewindHost {
  find(name: ChannelName): EventLog | undefined;
  read(log: EventLog, from: number, limits: { max: number; maxBytes: number }): Promise<readonly LogEvent[]>;
}

/** Events up to `upTo` that the queue is to hold, with their channel, and whether it held them when that was decided. */
interface Plan {
  readonly upTo: number;
  readonly events: { readonly sequence: number; readonly channel: ChannelName; readonly held: boolean }[];
  readonly skipped: number;
}

/** A copy to be made: everything that is known of it before the old ones go. */
interface Copy {
  readonly channel: ChannelName;
  readonly arrival: MutableArrival;
  readonly position: number;
  readonly length: number;
  readonly restored: boolean;
}

/**
 * Sets queues back to events of a log: what they are to hold then is written as references to the events' bytes, in the order of
 * the log and in one entry with the removal of what they held. Nothing is handed out meanwhile, sending goes on.
 */
export class Rewinds {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  readonly #host: RewindHost;

  constructor(core: CoreContext, queues: QueueService, host: RewindHost) {
    this.#core = core;
    this.#queues = queues;
    this.#host = host;
  }

  copiesLeft(queue: ChannelName, log: ChannelName): CopiesLeft {
    const family = this.#family(queue);
    const events = this.#log(log);
    const { slots, picked } = contentOf(this.#core, family);
    const held = new HeldCopies(this.#core, events, [...slots, ...picked]);
    const runs: number[] = [];
    let open = false;
    for (let s = events.index.first; s <= events.committed; s++) {
      const holds = held.slotOf(s) >= 0;
      if (holds && open) runs[runs.length - 1] = (runs[runs.length - 1] ?? 0) + 1;
      else if (holds) runs.push(s, 1);
      open = holds;
    }
    return { upTo: events.committed, runs };
  }

  async rewind(request: RewindRequest): Promise<RewindResult> {
    const family = this.#family(request.queue);
    const log = request.log === undefined ? undefined : this.#log(request.log);
    if (!family.settings.durable)
      throw new BrokerError('precondition', `queue '${family.base.name}' is in memory only`);
    family.paused++;
    try {
      const plan = log === undefined ? NO_PLAN : await this.#plan(family, log, request);
      // Deliveries whose bodies are being read end soon: nothing new is handed out.
      while (!family.base.deleted && isPicked(family)) {
        await new Promise<void>((resolve) => void this.#core.clock.after(PICKED_AGAIN_MS, resolve));
      }
      if (family.base.deleted) throw new BrokerError('not-found', `queue '${request.queue}' was deleted`);
      if (log?.deleted === true) throw new BrokerError('not-found', `log '${log.name}' was deleted`);
      return await this.#replace(family, log, { plan, request });
    } finally {
      family.paused--;
      this.#core.queues.touch(family);
      this.#queues.handOut.serveDirty();
    }
  }

  #family(name: ChannelName): Family {
    const queue = this.#queues.channels.find(name);
    if (queue === undefined || queue.isSubChannel) throw new BrokerError('not-found', `no queue '${name}'`);
    return queue.family;
  }

  #log(name: ChannelName): EventLog {
    const log = this.#host.find(name);
    if (log === undefined) throw new BrokerError('not-found', `no log '${name}'`);
    return log;
  }

  /** Which of the events there are now the queue is to hold. Those it does not hold pass the route first. */
  async #plan(family: Family, log: EventLog, request: RewindRequest): Promise<Plan> {
    const { table, byId } = this.#core.queues;
    const held = new HeldCopies(this.#core, log, contentOf(this.#core, family).slots);
    const base = family.base.name;
    const upTo = log.committed;
    const plan: Plan['events'] = [];
    let missing = 0;
    for (let s = log.index.first; s <= upTo; s++) {
      const slot = held.slotOf(s);
      if (!request.wants(s, log.index.storedAt(s), slot >= 0)) continue;
      const channel = slot < 0 ? base : (byId.get(table.queue(slot))?.name ?? base);
      plan.push({ sequence: s, channel, held: slot >= 0 });
      if (slot < 0) missing++;
    }
    const skipped = Math.max(missing - request.restoreMax, 0);
    let skip = skipped;
    // The oldest give way; what the queue holds is never given up.
    const within = skipped === 0 ? plan : plan.filter((event) => event.held || skip-- <= 0);
    const { route } = request;
    const events = route === undefined ? within : await this.#route(log, within, route);
    return { upTo, events, skipped };
  }

  async #route(
    log: EventLog,
    events: Plan['events'],
    route: NonNullable<RewindRequest['route']>,
  ): Promise<Plan['events']> {
    const passed: Plan['events'] = [];
    let read: readonly LogEvent[] = [];
    let at = 0;
    for (const event of events) {
      if (event.held) {
        passed.push(event);
        continue;
      }
      while (at < read.length && (read[at]?.sequence ?? 0) < event.sequence) at++;
      if (at >= read.length) {
        read = await this.#host.read(log, event.sequence, { max: READ_EVENTS, maxBytes: READ_BYTES });
        at = 0;
      }
      const found = read[at];
      // Retention may have taken it meanwhile.
      if (found?.sequence !== event.sequence) continue;
      const channel = route(found.message, event.sequence);
      if (channel !== undefined) passed.push({ ...event, channel });
    }
    return passed;
  }

  /** The change itself, in one turn; resolves when it is durable. */
  #replace(
    family: Family,
    log: EventLog | undefined,
    order: { plan: Plan; request: RewindRequest },
  ): Promise<RewindResult> {
    const content = contentOf(this.#core, family);
    const copies = this.#copies(log, content.slots, order);
    const targets = this.#targets(copies);
    this.#core.pipeline.flushSide();
    this.#write(family, content, { copies, targets });
    const restored = copies.filter((copy) => copy.restored).length;
    const kept = copies.length - restored;
    const result = { restored, kept, removed: content.slots.length - kept, skipped: order.plan.skipped };
    return new Promise((resolve) => {
      const { pipeline } = this.#core;
      pipeline.appendKept(pipeline.main, { slots: [], commit: () => resolve(result) });
    });
  }

  /** What the queue is to hold, by time. */
  #copies(
    log: EventLog | undefined,
    slots: readonly number[],
    order: { plan: Plan; request: RewindRequest },
  ): Copy[] {
    const { plan, request } = order;
    const { table } = this.#core.queues;
    const copies: Copy[] = [];
    let others = slots;
    if (log !== undefined) {
      const held = new HeldCopies(this.#core, log, slots);
      others = held.others;
      for (const { sequence, channel, held: wasHeld } of plan.events) {
        if (sequence < log.index.first) continue;
        const slot = held.slotOf(sequence);
        // Settled since it was decided about: as it is now.
        const settled = slot < 0 && wasHeld;
        if (settled && !request.wants(sequence, log.index.storedAt(sequence), false)) continue;
        copies.push(slot < 0 ? eventCopy(log, sequence, channel) : this.#slotCopy(slot));
      }
      // What was appended since has had its fan-out.
      for (let s = plan.upTo + 1; s <= log.committed; s++) {
        const slot = held.slotOf(s);
        if (slot >= 0 && request.wants(s, log.index.storedAt(s), true)) copies.push(this.#slotCopy(slot));
      }
    }
    const kept = others
      .filter((slot) => request.keeps(table.enqueuedAt(slot)))
      .map((slot) => this.#slotCopy(slot));
    return merged(copies, kept.sort(byTime));
  }

  #slotCopy(slot: number): Copy {
    const { table, byId } = this.#core.queues;
    const extras = table.extras.get(slot);
    const queue = byId.get(table.queue(slot)) as Queue;
    const arrival: MutableArrival = {
      ...blankArrival(),
      enqueuedAt: table.enqueuedAt(slot),
      priority: table.priority(slot),
      expiresAt: extras?.expiresAt ?? 0,
      maxReceiveCount: extras?.maxReceiveCount ?? 0,
      maxReceiveQueue: extras?.maxReceiveQueue ?? '',
      reRoutedFrom: extras?.reRoutedFrom ?? '',
    };
    const { name: channel } = queue;
    return { channel, arrival, position: table.position(slot), length: table.length(slot), restored: false };
  }

  /** The queue of each copy. Throws what a channel is refused with. */
  #targets(copies: readonly Copy[]): Queue[] {
    let last: Queue | undefined;
    return copies.map(({ channel }) => {
      if (last?.name !== channel) last = this.#queues.channels.forArrival(channel, false);
      return last;
    });
  }

  /** Writes the entry and does what it says. The new ones come first: no sub-channel runs empty in between. */
  #write(
    family: Family,
    content: { slots: readonly number[]; arriving: readonly number[] },
    what: { copies: readonly Copy[]; targets: readonly Queue[] },
  ): void {
    const { queues, pipeline, clock } = this.#core;
    const { table } = queues;
    const { main } = pipeline;
    const first = content.arriving[0];
    const below = first === undefined ? family.nextSequence : table.sequence(first);
    main.begin(what.copies.length * REFERENCE_BYTES + content.arriving.length * 20 + 256);
    what.copies.forEach((copy, i) => this.#refer(copy, what.targets[i] as Queue));
    main.u8(RecordType.purge);
    main.u32(family.base.id);
    main.u8(PurgeBits.ready | PurgeBits.delayed | PurgeBits.inFlight);
    main.u64(below);
    main.u64(clock.now());
    const beyond = content.slots.map((slot) => table.sequence(slot)).filter((sequence) => sequence >= below);
    if (beyond.length > 0) {
      main.u8(RecordType.remove);
      main.u32(family.base.id);
      writeSequences(main, beyond);
    }
    for (const slot of content.slots) queues.remove(queues.byId.get(table.queue(slot)) as Queue, slot);
    this.#putBehind(family, content.arriving);
  }

  #refer({ arrival, position, length }: Copy, queue: Queue): void {
    const { queues, pipeline } = this.#core;
    const { main } = pipeline;
    arrival.queue = queue.id;
    arrival.sequence = queue.family.nextSequence++;
    main.u8(RecordType.reference);
    writeArrival(main, arrival);
    main.u64(position);
    main.u32(length);
    const slot = queues.allocate(queue, arrival, position, { length, bodyBytes: length });
    setExtras(this.#core, slot, arrival);
    queues.arrive(queue, slot);
  }

  /** What is on its way in came later than all events there are: its place is behind them. */
  #putBehind(family: Family, arriving: readonly number[]): void {
    if (arriving.length === 0) return;
    const { table } = this.#core.queues;
    const sequences = arriving.map((slot) => table.sequence(slot));
    const newSequence = family.nextSequence;
    family.nextSequence += arriving.length;
    const back = { queue: family.base.id, newSequence, delayedTo: 0, uncounted: false, sequences };
    writeGiveBack(this.#core.pipeline.main, back);
    arriving.forEach((slot, i) => {
      table.chunk(slot).sequence[table.index(slot)] = newSequence + i;
    });
  }
}

function isPicked(family: Family): boolean {
  for (const member of family.members) if (member.picked > 0) return true;
  return false;
}

const NO_PLAN: Plan = { upTo: 0, events: [], skipped: 0 };

/** Two lists that are in order, as one. What came at the same time is in the order of the journal. */
function merged(events: readonly Copy[], others: readonly Copy[]): Copy[] {
  if (others.length === 0) return [...events];
  const out: Copy[] = [];
  let next = 0;
  for (const event of events) {
    for (;;) {
      const other = others[next];
      if (other === undefined || byTime(other, event) > 0) break;
      out.push(other);
      next++;
    }
    out.push(event);
  }
  return [...out, ...others.slice(next)];
}

function byTime(a: Copy, b: Copy): number {
  return a.arrival.enqueuedAt - b.arrival.enqueuedAt || a.position - b.position;
}

function eventCopy(log: EventLog, sequence: number, channel: ChannelName): Copy {
  return {
    channel,
    arrival: { ...blankArrival(), enqueuedAt: log.index.storedAt(sequence) },
    position: log.index.position(sequence),
    length: log.index.length(sequence),
    restored: true,
  };
}
