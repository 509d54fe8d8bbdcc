import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../errors.js';
import { Activities, type Activity } from './activities.js';
import { Interest } from './interest.js';
import { LIVE_LIMITS } from './limits.js';
import { SubjectTrie, isWild } from './subject-trie.js';
import { Subscriber, type SubscriberHost } from './subscriber.js';
import type { LiveKind, LiveMessage, LiveRequest, LiveSink, LiveSubscription } from './types.js';

/** Events and requests on their way to subscribers. */
type Message = LiveMessage | LiveRequest;

/** How messages and news of interest come to other nodes. */
export interface RouterLink {
  /** `groups`: the patterns and groups of which a member there is to get it; those without a group get it anyway. */
  forward(member: string, kind: LiveKind, message: Message, groups: readonly GroupKey[]): void;
  /** How many subscribers there are here of a pattern and group changed. */
  changed(interest: Interest<Message>): void;
}

type GroupKey = readonly [pattern: string, group: string];
type GroupsByMember = Map<string, GroupKey[]>;

interface Route {
  readonly kind: LiveKind;
  readonly channel: string;
  readonly interests: readonly Interest<Message>[];
  readonly activity: Activity;
}

export interface SubscribeParts {
  readonly kind: LiveKind;
  readonly pattern: string;
  readonly group: string;
  readonly sink: LiveSink<never>;
}

/** Finds the subscribers of live messages: all that listen without a group, and one of each group. */
export class LiveRouter implements SubscriberHost<Message> {
  readonly clock: Clock;
  readonly activities = new Activities();
  readonly #log: Log;
  readonly #isWanted: (message: Message) => boolean;
  readonly #interests = new Map<string, Interest<Message>>();
  readonly #trie = new SubjectTrie<Interest<Message>>();
  /** What the trie said, by kind and channel; forgotten when a pattern comes or goes. */
  readonly #routes = new Map<string, Route>();
  #lastRoute: Route | undefined;
  link: RouterLink | undefined;
  subscribers = 0;
  published = 0;
  deliveredCount = 0;
  droppedCount = 0;

  constructor(options: { clock: Clock; log: Log; isWanted: (message: Message) => boolean }) {
    this.clock = options.clock;
    this.#log = options.log;
    this.#isWanted = options.isWanted;
    this.activities.onForget = () => this.#forgetRoutes();
  }

  isWanted(message: Message): boolean {
    return this.#isWanted(message);
  }

  delivered(message: Message): void {
    this.deliveredCount++;
    const kind = 'kind' in message ? message.kind : 'events';
    const { activity } = this.#routeOf(kind, message.channel);
    activity.outMessages++;
    activity.outBytes += message.body.byteLength;
  }

  dropped(message: Message, isFirst: boolean): void {
    this.droppedCount++;
    if (isFirst) this.#log.warn('slow subscriber: messages are dropped', { channel: message.channel });
  }

  subscribe({ kind, pattern, group, sink }: SubscribeParts): LiveSubscription {
    if (this.subscribers >= LIVE_LIMITS.subscribersMax)
      throw new BrokerError('limit', 'too many subscribers');
    const interest = this.#interestOf(kind, pattern, group);
    // What is sent under a kind's names is of that kind.
    const subscriber = new Subscriber<Message>(sink, this);
    interest.locals = [...interest.locals, subscriber];
    this.subscribers++;
    if (!isWild(pattern)) this.activities.of(kind, pattern).subscribers++;
    this.link?.changed(interest);
    return {
      resume: () => subscriber.resume(),
      cancel: () => this.#cancel(interest, subscriber),
    };
  }

  #cancel(interest: Interest<Message>, subscriber: Subscriber<Message>): void {
    if (!interest.locals.includes(subscriber)) return;
    interest.locals = interest.locals.filter((other) => other !== subscriber);
    this.subscribers--;
    if (!isWild(interest.pattern)) this.activities.of(interest.kind, interest.pattern).subscribers--;
    const waiting = subscriber.takeWaiting();
    if (interest.group !== '') {
      for (const message of waiting) if (this.isWanted(message)) interest.pickLocal()?.offer(message);
    }
    this.#settle(interest);
    this.link?.changed(interest);
  }

  /** Sends a message from here to everybody it is for; returns how many that are, a whole node counting as one. */
  route(kind: LiveKind, message: Message): number {
    const { interests, activity } = this.#routeOf(kind, message.channel);
    this.published++;
    activity.lastAt = message.sentAt;
    activity.inMessages++;
    activity.inBytes += message.body.byteLength;
    let reached = 0;
    let remote: GroupsByMember | undefined;
    for (const interest of interests) {
      if (interest.group === '') {
        for (const subscriber of interest.locals) subscriber.offer(message);
        reached += interest.locals.length;
        for (const member of interest.peers.keys())
          groupsFor((remote ??= new Map<string, GroupKey[]>()), member);
      } else {
        const picked = interest.pick();
        if (picked === undefined) continue;
        if (typeof picked === 'string') {
          groupsFor((remote ??= new Map<string, GroupKey[]>()), picked).push([
            interest.pattern,
            interest.group,
          ]);
        } else {
          picked.offer(message);
          reached++;
        }
      }
    }
    if (remote === undefined) return reached;
    for (const [member, groups] of remote) this.link?.forward(member, kind, message, groups);
    return reached + remote.size;
  }

  /** Delivers a message that another node sent: to those without a group, and to one member of each group it names. */
  arrive(kind: LiveKind, message: Message, groups: readonly GroupKey[]): void {
    for (const interest of this.#routeOf(kind, message.channel).interests) {
      if (interest.group === '') for (const subscriber of interest.locals) subscriber.offer(message);
      else if (groups.some(([pattern, group]) => pattern === interest.pattern && group === interest.group)) {
        interest.pickLocal()?.offer(message);
      }
    }
  }

  /** Another node has `count` subscribers of a pattern and group. */
  setPeer(member: string, kind: LiveKind, of: { pattern: string; group: string; count: number }): void {
    const key = keyOf(kind, of.pattern, of.group);
    if (of.count === 0 && !this.#interests.has(key)) return;
    const interest = this.#interestOf(kind, of.pattern, of.group);
    interest.setPeer(member, of.count);
    this.#settle(interest);
  }

  forgetPeer(member: string): void {
    for (const interest of [...this.#interests.values()]) {
      if (!interest.peers.has(member)) continue;
      interest.setPeer(member, 0);
      this.#settle(interest);
    }
  }

  /** Everything that is listened to here. */
  *localInterests(): Iterable<Interest<Message>> {
    for (const interest of this.#interests.values()) if (interest.locals.length > 0) yield interest;
  }

  #interestOf(kind: LiveKind, pattern: string, group: string): Interest<Message> {
    const key = keyOf(kind, pattern, group);
    let interest = this.#interests.get(key);
    if (interest === undefined) {
      interest = new Interest<Message>(kind, pattern, group);
      this.#interests.set(key, interest);
      this.#trie.add(subjectOf(kind, pattern), interest);
      this.#forgetRoutes();
    }
    return interest;
  }

  /** Forgets an interest that nobody has any more. */
  #settle(interest: Interest<Message>): void {
    if (!interest.isEmpty) return;
    const { kind, pattern, group } = interest;
    this.#interests.delete(keyOf(kind, pattern, group));
    this.#trie.remove(subjectOf(kind, pattern), interest);
    this.#forgetRoutes();
  }

  #forgetRoutes(): void {
    this.#routes.clear();
    this.#lastRoute = undefined;
  }

  /** Messages of one channel come in a row, and each is delivered many times. */
  #routeOf(kind: LiveKind, channel: string): Route {
    const last = this.#lastRoute;
    if (last?.channel === channel && last.kind === kind) return last;
    return (this.#lastRoute = this.#findRoute(kind, channel));
  }

  #findRoute(kind: LiveKind, channel: string): Route {
    const subject = subjectOf(kind, channel);
    let route = this.#routes.get(subject);
    if (route === undefined) {
      const interests: Interest<Message>[] = [];
      this.#trie.match(subject, (interest) => interests.push(interest));
      route = { kind, channel, interests, activity: this.activities.of(kind, channel) };
      if (this.#routes.size >= LIVE_LIMITS.routesMax) this.#forgetRoutes();
      this.#routes.set(subject, route);
    }
    return route;
  }
}

function groupsFor(remote: GroupsByMember, member: string): GroupKey[] {
  let groups = remote.get(member);
  if (groups === undefined) remote.set(member, (groups = []));
  return groups;
}

/** Each kind is a tree of its own. */
function subjectOf(kind: LiveKind, channel: string): string {
  return `${kind}.${channel}`;
}

/** Names hold no white space, so the parts cannot run into each other. */
function keyOf(kind: LiveKind, pattern: string, group: string): string {
  return `${kind} ${pattern} ${group}`;
}
