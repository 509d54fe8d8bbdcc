import type { ChannelName } from '../channel-name.js';
import { channelNameFault } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { BrokerError } from '../errors.js';
import { ChannelKind, writeOpenChannel } from '../partition/records.js';
import { EntryWriter } from '../partition/entry-writer.js';
import type { Family, Queue } from './family.js';
import type { QueueSettings } from './types.js';
import { DEFAULT_QUEUE_SETTINGS } from './types.js';

/** Hands out channel ids; queues and logs share them. */
export class ChannelIds {
  next = 1;

  take(): number {
    return this.next++;
  }
}

const OPENING_ARENA_BYTES = 64 * 1024;

/** A family, or only the sub-channel `only` of it (by name: it may come and go). */
export interface ConsumePlace {
  readonly family: Family;
  readonly only: ChannelName | undefined;
}

/** Finds queues by name, aliases and sub-channels included, and makes the ones that come into being by use. */
export class Channels {
  readonly #core: CoreContext;
  readonly ids: ChannelIds;
  // Of its own: a channel may open while another entry is being written.
  readonly #writer = new EntryWriter(OPENING_ARENA_BYTES);
  /** Alias to channel. */
  readonly aliases = new Map<string, ChannelName>();

  constructor(core: CoreContext, ids: ChannelIds) {
    this.#core = core;
    this.ids = ids;
  }

  /** The real name behind an alias; a sub-channel of an alias is a sub-channel of what it stands for. */
  resolve(name: ChannelName): ChannelName {
    if (this.aliases.size === 0) return name;
    const direct = this.aliases.get(name);
    if (direct !== undefined) return direct;
    for (const mark of this.#core.queues.directory.marks.keys()) {
      const at = name.indexOf(mark);
      if (at <= 0) continue;
      const base = this.aliases.get(name.slice(0, at));
      if (base !== undefined) return (base + name.slice(at)) as ChannelName;
    }
    return name;
  }

  find(name: ChannelName): Queue | undefined {
    return this.#core.queues.byName.get(name) ?? this.#core.queues.byName.get(this.resolve(name));
  }

  /** The queue for an arrival: sub-channels come into being, plain queues only when asked. Throws `not-found`. */
  forArrival(name: ChannelName, createMissing: boolean): Queue {
    const found = this.find(name);
    if (found !== undefined) return found;
    const real = this.resolve(name);
    const family = this.#core.queues.directory.familyOf(real);
    if (family !== undefined) return this.#openSubChannel(real, family);
    if (!createMissing) throw new BrokerError('not-found', `no queue '${name}'`);
    return this.open(real, DEFAULT_QUEUE_SETTINGS);
  }

  /** What to consume from: a family, or one sub-channel of it when that is what the name says. Throws `not-found`. */
  forConsumer(name: ChannelName, createMissing: boolean): ConsumePlace {
    const found = this.find(name);
    if (found !== undefined)
      return { family: found.family, only: found.isSubChannel ? found.name : undefined };
    const real = this.resolve(name);
    const family = this.#core.queues.directory.familyOf(real);
    if (family !== undefined) return { family, only: real };
    if (!createMissing) throw new BrokerError('not-found', `no queue '${name}'`);
    return { family: this.open(real, DEFAULT_QUEUE_SETTINGS).family, only: undefined };
  }

  /** Makes a queue at once; its record goes out before anything that refers to it. */
  open(name: ChannelName, settings: QueueSettings): Queue {
    const queue = this.create(name, settings);
    if (settings.durable) this.#record(queue, 0, JSON.stringify(settings));
    return queue;
  }

  /** Makes a queue in memory; the caller journals it. */
  create(name: ChannelName, settings: QueueSettings): Queue {
    const fault = channelNameFault(name);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    if (this.#core.queues.byId.size >= this.#core.limits.queuesMax + this.#core.limits.subChannelsMax) {
      throw new BrokerError('limit', 'too many channels');
    }
    return this.#core.queues.createQueue(this.ids.take(), name, settings);
  }

  #openSubChannel(name: ChannelName, family: Family): Queue {
    const { queues, limits, pipeline } = this.#core;
    const fault = channelNameFault(name);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    if (queues.byId.size - queues.directory.families >= limits.subChannelsMax) {
      throw new BrokerError('limit', `too many sub-channels of '${family.base.name}'`);
    }
    const free = queues.directory.freeIds.pop();
    // The removals that emptied the id's former channel must stand before its new use.
    if (free !== undefined) pipeline.flushSide();
    const queue = queues.directory.createSubChannel(free ?? this.ids.take(), name, family);
    if (family.settings.durable) this.#record(queue, family.base.id, '');
    return queue;
  }

  #record(queue: Queue, baseId: number, settings: string): void {
    const w = this.#writer;
    w.begin(64 + queue.name.length * 3 + settings.length * 3);
    writeOpenChannel(w, { id: queue.id, kind: ChannelKind.queue, name: queue.name, baseId, settings });
    // Until it is written the queue does not go, and nothing sent to it could be found again without it.
    queue.arriving++;
    this.#core.pipeline.appendLasting(w, () => {
      queue.arriving--;
      this.#core.queues.dropIfEmpty(queue);
    });
  }
}
