import { Script } from 'node:vm';
import type { ChannelName } from '../../../core/channel-name.js';
import type { LiveActivity, LiveKind } from '../../../core/live/types.js';
import type { LogStats } from '../../../core/log/types.js';
import type { QueueStats } from '../../../core/queue/types.js';
import { OWN_TEXTS } from '../error-texts.js';
import { NATIVE_LIMITS } from '../limits.js';
import type { NativeService } from '../service.js';
import { CHANNEL_KIND, channelOfKey, type ChannelType } from './channel-types.js';

/** Figures of one direction. Clients want every one of them to be there. */
interface Flow {
  readonly messages: number;
  readonly volume: number;
  readonly responses: number;
  readonly waiting: number;
  readonly expired: number;
  readonly delayed: number;
}

/** One channel of a list, as clients read it. */
export interface ListedChannel {
  readonly name: string;
  readonly type: ChannelType;
  /** Unix ms. */
  readonly lastActivity: number;
  readonly isActive: boolean;
  readonly incoming: Flow;
  readonly outgoing: Flow;
}

const NOTHING: Flow = { messages: 0, volume: 0, responses: 0, waiting: 0, expired: 0, delayed: 0 };

interface Sample {
  readonly moves: number;
  readonly at: number;
}

/** The lists of channel management. */
export class ChannelLists {
  readonly #service: NativeService;
  /** How much stored channels had moved at their last look; nothing on the way of a message writes down its time. */
  readonly #samples = new Map<string, Sample>();

  constructor(service: NativeService) {
    this.#service = service;
  }

  /** Channels of a type whose name matches `search`, by name; or the text of what is wrong. */
  list(type: ChannelType, search: string): readonly ListedChannel[] | string {
    const names = this.#names(type);
    const found = search === '' ? names : searched(names, search);
    if (typeof found === 'string') return found;
    if (found.length > NATIVE_LIMITS.listedChannelsMax) return OWN_TEXTS.tooManyChannels;
    switch (type) {
      case 'queues':
        return found.flatMap((name) => this.#queue(name));
      case 'events_store':
        return found.flatMap((name) => this.#log(name));
      default: {
        const activities = new Map(
          this.#service.broker.live.activity(type).map((each) => [each.channel as string, each]),
        );
        return found.map((name) => this.#live(type, name, activities.get(name)));
      }
    }
  }

  #names(type: ChannelType): readonly string[] {
    const { broker, client } = this.#service;
    switch (type) {
      case 'queues':
        return broker.queues('');
      case 'events_store':
        return broker.logs('');
      default: {
        const names = new Set<string>(broker.live.activity(type).map(({ channel }) => channel));
        for (const { key } of broker.registry.list(CHANNEL_KIND)) {
          const [kind, channel] = channelOfKey(key);
          if (kind === type && client.sees(kind, channel)) names.add(channel);
        }
        return [...names].sort();
      }
    }
  }

  #queue(name: string): readonly ListedChannel[] {
    const stats: QueueStats | undefined = this.#service.broker.queueStats(name as ChannelName);
    if (stats === undefined) return [];
    const waiting = stats.ready + stats.delayed + stats.inFlight;
    const { sent, delivered, acknowledged, expired, delayed } = stats;
    const listeners = stats.consumers + stats.waiters;
    return [
      {
        name,
        type: 'queues',
        ...this.#activity(`q ${name}`, sent + delivered + acknowledged + expired, listeners),
        incoming: { ...NOTHING, messages: sent, volume: stats.bytes, waiting, expired, delayed },
        outgoing: { ...NOTHING, messages: delivered, waiting, expired, delayed },
      },
    ];
  }

  #log(name: string): readonly ListedChannel[] {
    const stats: LogStats | undefined = this.#service.broker.logStats(name as ChannelName);
    if (stats === undefined) return [];
    const { lastSequence, bytes, events, subscriptions } = stats;
    return [
      {
        name,
        type: 'events_store',
        ...this.#activity(`l ${name}`, lastSequence, subscriptions),
        incoming: { ...NOTHING, messages: lastSequence, volume: bytes, waiting: events },
        outgoing: { ...NOTHING, waiting: events },
      },
    ];
  }

  #live(type: LiveKind, name: string, activity: LiveActivity | undefined): ListedChannel {
    if (activity === undefined) {
      return { name, type, lastActivity: 0, isActive: false, incoming: NOTHING, outgoing: NOTHING };
    }
    const { lastAt, inMessages, inBytes, outMessages, outBytes, replies, timedOut, subscribers } = activity;
    return {
      name,
      type,
      lastActivity: lastAt,
      isActive: subscribers > 0 || this.#isRecent(lastAt),
      incoming: { ...NOTHING, messages: inMessages, volume: inBytes, responses: replies, expired: timedOut },
      outgoing: {
        ...NOTHING,
        messages: outMessages,
        volume: outBytes,
        responses: replies,
        expired: timedOut,
      },
    };
  }

  #activity(key: string, moves: number, listeners: number): { lastActivity: number; isActive: boolean } {
    const before = this.#samples.get(key);
    const now = this.#service.clock.now();
    let at = before?.at ?? 0;
    if (moves !== (before?.moves ?? 0)) {
      at = now;
      if (this.#samples.size >= NATIVE_LIMITS.listedChannelsMax) this.#samples.clear();
      this.#samples.set(key, { moves, at });
    }
    return { lastActivity: at, isActive: listeners > 0 || this.#isRecent(at) };
  }

  #isRecent(at: number): boolean {
    return at > 0 && this.#service.clock.now() - at < NATIVE_LIMITS.activeMs;
  }
}

const filter = new Script('names.filter((name) => pattern.test(name))');

/** Names that a pattern matches, or that hold it when it is none. A pattern must not keep the broker busy. */
function searched(names: readonly string[], search: string): readonly string[] | string {
  if (search.length > NATIVE_LIMITS.searchLengthMax) return OWN_TEXTS.searchTooLong;
  let pattern: RegExp;
  try {
    pattern = new RegExp(search, 'u');
  } catch {
    return names.filter((name) => name.includes(search));
  }
  try {
    return filter.runInNewContext({ names, pattern }, { timeout: NATIVE_LIMITS.searchMs }) as string[];
  } catch {
    return OWN_TEXTS.searchTooSlow;
  }
}
