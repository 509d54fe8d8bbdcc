import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { refuseWhenFarBehind } from '../partition/backlog.js';
import type { Family } from '../queue/family.js';
import type { QueueService } from '../queue/queue-service.js';
import type { EventLog } from './event-log.js';
import { contentOf, HeldCopies } from './held-copies.js';
import { RewindWork, untilAllIsSettled, type RewindHost } from './rewind-work.js';
import type { CopiesLeft, RewindRequest, RewindResult } from './types.js';

/**
 * Sets queues back to events of a log: what they are to hold then is written as references to the events' bytes, in the order of
 * the log, and takes the place of what they held in one step, however many turns of the event loop it took to write. Nothing is
 * handed out meanwhile, sending goes on.
 */
export class Rewinds {
  readonly #core: CoreContext;
  readonly #queues: QueueService;
  readonly #host: RewindHost;
  /** Rewinds under way. While there are some no checkpoint is written: half of one has no name. */
  active = 0;
  /** Resolves when no checkpoint and no cleaner is at work. */
  housekeepingIdle: () => Promise<void> = () => Promise.resolve();

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

  /** Those of one queue one after the other. */
  async rewind(request: RewindRequest): Promise<RewindResult> {
    const family = this.#family(request.queue);
    const log = request.log === undefined ? undefined : this.#log(request.log);
    if (!family.settings.durable)
      throw new BrokerError('precondition', `queue '${family.base.name}' is in memory only`);
    refuseWhenFarBehind(this.#core);
    family.paused++;
    this.active++;
    const before = family.rewinding;
    const work = (async () => {
      if (before !== undefined) await before;
      return this.#rewind({ family, log, request });
    })();
    const ended = work.then(NOTHING, NOTHING);
    family.rewinding = ended;
    try {
      return await work;
    } finally {
      if (family.rewinding === ended) family.rewinding = undefined;
      this.active--;
      family.paused--;
      this.#core.queues.touch(family);
      this.#queues.handOut.serveDirty();
    }
  }

  async #rewind(what: {
    family: Family;
    log: EventLog | undefined;
    request: RewindRequest;
  }): Promise<RewindResult> {
    const { family, log } = what;
    const { rewindSliceMax } = this.#core.limits;
    const events = log === undefined ? 0 : log.committed + 1 - log.index.first;
    const held = family.ready + family.delayed.count + family.inFlight.size;
    // The cleaner moves what is looked for by its place; a small rewind looks in one turn.
    if (events > rewindSliceMax || held > rewindSliceMax) await this.housekeepingIdle();
    await untilAllIsSettled(this.#core, family);
    const work = new RewindWork(this.#core, { queues: this.#queues, host: this.#host }, what);
    try {
      return await work.run();
    } catch (caught) {
      await work.abandon();
      throw caught;
    } finally {
      family.rewoundBelow = 0;
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
}

const NOTHING = (): void => undefined;
