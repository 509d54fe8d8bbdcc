import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Scheduler, Timeouts } from '../../base/scheduler.js';
import { channelNameFault, type ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { LivePeers } from '../ports/live-peers.js';
import { PeerLink } from './peer-link.js';
import { Requests } from './requests.js';
import { LiveRouter } from './router.js';
import { isWild, patternFault } from './subject-trie.js';
import type {
  EventSubscribeRequest,
  LiveActivity,
  LiveFigures,
  LiveKind,
  LiveReply,
  LiveSubscription,
  LiveTraffic,
  NewEvent,
  NewRequest,
  PendingReply,
  ServeRequest,
} from './types.js';

export interface LiveOptions {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly scheduler: Scheduler;
  readonly timeouts: Timeouts;
  readonly peers: LivePeers;
  /** The channel behind a name. */
  readonly resolve: (name: ChannelName) => ChannelName;
}

/** Live traffic of this node and, through its peers, of the others. */
export class LiveService implements LiveTraffic {
  readonly #options: LiveOptions;
  readonly #router: LiveRouter;
  readonly #requests: Requests;
  #isClosed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
    const { clock, ids, log, scheduler, timeouts, peers } = options;
    this.#router = new LiveRouter({
      clock,
      log,
      isWanted: (message) => !('replyTo' in message) || this.#requests.isWanted(message),
    });
    this.#requests = new Requests({
      self: peers.self,
      clock,
      ids,
      scheduler,
      timeouts,
      router: this.#router,
    });
    new PeerLink({ peers, router: this.#router, requests: this.#requests, clock, log }).start();
  }

  publish(event: NewEvent): number {
    const channel = this.#channel(event.channel);
    return this.#router.route('events', { ...event, channel, sentAt: this.#options.clock.now() });
  }

  subscribe({ pattern, group, sink }: EventSubscribeRequest): LiveSubscription {
    const fault = patternFault(pattern);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    const real = isWild(pattern) ? pattern : this.#options.resolve(pattern as ChannelName);
    return this.#router.subscribe({ kind: 'events', pattern: real, group, sink });
  }

  request(request: NewRequest): PendingReply {
    if (this.#isClosed) throw new BrokerError('draining', 'the broker shuts down');
    if (!(request.timeoutMs > 0)) throw new BrokerError('invalid-argument', 'a request needs a timeout');
    return this.#requests.request({ ...request, channel: this.#channel(request.channel) });
  }

  reply(replyTo: string, reply: LiveReply): void {
    this.#requests.reply(replyTo, reply);
  }

  serve({ kind, channel, group, sink }: ServeRequest): LiveSubscription {
    return this.#router.subscribe({ kind, pattern: this.#channel(channel), group, sink });
  }

  activity(kind: LiveKind): readonly LiveActivity[] {
    return this.#router.activities.list(kind);
  }

  forget(kind: LiveKind, channel: ChannelName): void {
    this.#router.activities.forget(kind, this.#options.resolve(channel));
  }

  figures(): LiveFigures {
    return {
      subscribers: this.#router.subscribers,
      pendingRequests: this.#requests.pending,
      published: this.#router.published,
      delivered: this.#router.deliveredCount,
      dropped: this.#router.droppedCount,
      cachedReplies: this.#requests.cachedReplies,
    };
  }

  /** Ends every wait for an answer. */
  close(): void {
    this.#isClosed = true;
    this.#requests.close();
  }

  #channel(name: ChannelName): ChannelName {
    const fault = channelNameFault(name);
    if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
    return this.#options.resolve(name);
  }
}
