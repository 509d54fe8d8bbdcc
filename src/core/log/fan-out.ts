import type { CoreContext } from '../core-context.js';
import type { OutgoingMessage } from '../message.js';
import { MessageView } from '../message-codec.js';
import { RecordType, writeArrival } from '../partition/records.js';
import { blankArrival, fillArrival, setExtras } from '../queue/arrival.js';
import type { Queue } from '../queue/family.js';
import type { QueueService } from '../queue/queue-service.js';
import type { Run } from './appends.js';
import type { FanOutTarget } from './types.js';

/** The copies that one append makes in queues: slot by slot, with its queue. */
export interface Copies {
  readonly slots: number[];
  readonly queues: Queue[];
}

/** Puts what is appended to a log on the queues of its targets, in the entry of the append. */
export class FanOut {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  // Filled anew for each copy: it is read at once and never kept.
  readonly #arrival = blankArrival();
  /** Messages of the run at hand as routes see them, made when one looks. */
  #views: (MessageView | undefined)[] = [];
  // A record of copies that is being written: more of its queue follow, or another record does.
  #open: Queue | undefined;
  #openSequence = 0;
  #countAt = 0;
  #count = 0;

  constructor(core: CoreContext, queues: QueueService) {
    this.#core = core;
    this.#queues = queues;
  }

  /** Writes the copies of a run, target after target. Throws what a channel is refused with. */
  write(run: Run, events: readonly OutgoingMessage[], copies: Copies): void {
    this.#views = [];
    for (const target of run.log.targets) {
      const base = this.#queues.channels.find(target.queue);
      if (base === undefined) continue;
      for (let s = run.first; s < run.end; s++) {
        const queue = target.route === undefined ? base : this.#routed(target.route, run, s);
        if (queue !== undefined) this.#copy(queue, run, { sequence: s, events, copies });
      }
      this.#close();
    }
    this.#views = [];
  }

  #routed(route: NonNullable<FanOutTarget['route']>, run: Run, sequence: number): Queue | undefined {
    const { index } = run.log;
    const view = (this.#views[sequence - run.first] ??= new MessageView(
      this.#core.pipeline.main.view(index.position(sequence), index.length(sequence)),
      this.#core.translators,
    ));
    const channel = route(view, sequence);
    return channel === undefined ? undefined : this.#queues.channels.forArrival(channel, false);
  }

  #copy(
    queue: Queue,
    run: Run,
    what: { sequence: number; events: readonly OutgoingMessage[]; copies: Copies },
  ): void {
    const event = what.events[run.at + what.sequence - run.first] as OutgoingMessage;
    const { index } = run.log;
    const at = index.position(what.sequence);
    const length = index.length(what.sequence);
    const arrival = this.#arrival;
    // The event's own delay and life are the log's affair; the queue has its settings.
    fillArrival(arrival, queue, NO_POLICY, index.storedAt(what.sequence));
    const { maxPriority } = queue.family.settings;
    if (maxPriority > 0) arrival.priority = Math.min(event.priority ?? 0, maxPriority);
    if (arrival.expiresAt === 0 && arrival.priority === 0) this.#add(queue, at, length);
    else this.#addSingle(at, length);
    const stored = { length, bodyBytes: event.body.length };
    const slot = this.#core.queues.allocateUnplaced(queue, arrival, at, stored);
    setExtras(this.#core, slot, arrival);
    what.copies.slots.push(slot);
    what.copies.queues.push(queue);
  }

  /** Adds a plain copy to the open record when it follows on the last one, else to a new one. */
  #add(queue: Queue, at: number, length: number): void {
    const { main } = this.#core.pipeline;
    const { sequence, enqueuedAt } = this.#arrival;
    if (this.#open !== queue || this.#openSequence !== sequence) {
      this.#close();
      main.u8(RecordType.copies);
      main.u32(queue.id);
      main.u64(sequence);
      main.u64(enqueuedAt);
      this.#countAt = main.offset;
      main.u32(0);
      this.#open = queue;
      this.#openSequence = sequence;
    }
    main.u32(at);
    main.u32(length);
    this.#openSequence++;
    this.#count++;
  }

  #close(): void {
    if (this.#open === undefined) return;
    this.#core.pipeline.main.patchU32(this.#countAt, this.#count);
    this.#open = undefined;
    this.#count = 0;
  }

  #addSingle(at: number, length: number): void {
    const { main } = this.#core.pipeline;
    this.#close();
    main.u8(RecordType.copy);
    writeArrival(main, this.#arrival);
    main.u32(at);
    main.u32(length);
  }

  /** The entry begins at `base`: the copies have their places. */
  place({ slots }: Copies, base: number): void {
    const { table, live } = this.#core.queues;
    for (const slot of slots) {
      const chunk = table.chunk(slot);
      const i = table.index(slot);
      const position = (chunk.position[i] ?? 0) + base;
      chunk.position[i] = position;
      live.add(position, chunk.length[i] ?? 0);
      live.share(position);
    }
  }

  /** The entry was given up before it had a place. */
  unwrite({ slots }: Copies): void {
    this.#open = undefined;
    this.#count = 0;
    this.#views = [];
    // Count the copies as live, so that letting go of them comes out even.
    const { live, table } = this.#core.queues;
    for (const slot of slots) live.add(table.position(slot), table.length(slot));
  }

  /** The copies are durable: into their queues. */
  land({ slots, queues }: Copies): void {
    this.#queues.land(slots, queues);
  }

  /** The copies will never be durable. */
  abandon({ slots, queues }: Copies): void {
    this.#queues.abandon(slots, queues);
  }
}

const NO_POLICY: OutgoingMessage = { channel: '' as OutgoingMessage['channel'], body: new Uint8Array(0) };
