import type { ChannelName } from '../channel-name.js';
import type { BrokerError } from '../errors.js';
import type { Tags } from '../message.js';

/** Kinds of live channels. Each has names of its own: an event never meets a request. */
export type LiveKind = 'events' | 'commands' | 'queries';
export type RequestKind = Exclude<LiveKind, 'events'>;

/** A message that is handed to whoever listens now and stored nowhere. It must not be changed once given away. */
export interface LiveMessage {
  readonly id: string;
  readonly clientId: string;
  readonly channel: ChannelName;
  readonly metadata: string;
  readonly tags: Tags;
  readonly body: Uint8Array;
  /** Unix ms when the broker took it. */
  readonly sentAt: number;
}

/** How long and under which name the answer to a query may be given again. */
export interface CacheRule {
  readonly key: string;
  readonly ttlMs: number;
}

/** A message that wants one answer. */
export interface LiveRequest extends LiveMessage {
  readonly kind: RequestKind;
  /** Where its answer goes: made by the broker, good for one answer. */
  readonly replyTo: string;
  readonly timeoutMs: number;
  readonly cache: CacheRule | undefined;
  /** Opaque context of the caller's tracing. */
  readonly trace: Uint8Array;
}

/** A request as it comes in. Only queries are answered from the cache. */
export type NewRequest = Omit<LiveRequest, 'replyTo' | 'sentAt'>;
export type NewEvent = Omit<LiveMessage, 'sentAt'>;

/** The answer to a request. */
export interface LiveReply {
  readonly clientId: string;
  readonly metadata: string;
  readonly tags: Tags;
  readonly body: Uint8Array;
  /** False: the responder could not do it, and `error` says why. */
  readonly executed: boolean;
  readonly error: string;
  /** Time as the responder gave it, in whatever unit it uses. */
  readonly stamp: bigint;
  readonly trace: Uint8Array;
  /** Given by the query cache; no responder was asked. */
  readonly isCached: boolean;
}

/** Where a subscriber's messages go. Called from the broker's turn: neither may throw or wait. */
export interface LiveSink<T extends LiveMessage> {
  /** Whether it takes more now. A sink that says no calls `resume` of its subscription when it does again. */
  readonly open: boolean;
  /** Messages that wait for it without condition; a hundred, unless it says how many. */
  readonly bufferMessages?: number | undefined;
  take(message: T): void;
  /** The broker ends the subscription, such as when the right to it was taken away. */
  end?(reason: BrokerError): void;
}

/** A request that waits for its answer. */
export interface PendingReply {
  /** The first answer: undefined when there is none within the request's time, after `cancel`, and at shutdown. */
  readonly reply: Promise<LiveReply | undefined>;
  /** Nobody wants the answer any more. Idempotent. */
  cancel(): void;
}

export interface LiveSubscription {
  /** The sink has room again. */
  resume(): void;
  /** Ends it. What waits for it goes to another member of its group, if there is one. Idempotent. */
  cancel(): void;
}

export interface EventSubscribeRequest {
  /** A channel, or a pattern: `*` stands for one token, `>` at the end for one or more. */
  readonly pattern: string;
  /** Of the members of one pattern and group one gets each event; '' = every subscriber gets it. */
  readonly group: string;
  readonly sink: LiveSink<LiveMessage>;
}

export interface ServeRequest {
  readonly kind: RequestKind;
  readonly channel: ChannelName;
  readonly group: string;
  readonly sink: LiveSink<LiveRequest>;
}

/** What a live channel did since the start of the process. */
export interface LiveActivity {
  readonly channel: ChannelName;
  /** Unix ms of the last message; 0 = none yet. */
  readonly lastAt: number;
  readonly inMessages: number;
  readonly inBytes: number;
  readonly outMessages: number;
  readonly outBytes: number;
  /** Answers that reached their callers. */
  readonly replies: number;
  /** Requests nobody answered in time. */
  readonly timedOut: number;
  /** Listeners at this node under exactly this name. */
  readonly subscribers: number;
}

/** Figures of all live traffic of this node. */
export interface LiveFigures {
  readonly subscribers: number;
  readonly pendingRequests: number;
  readonly published: number;
  readonly delivered: number;
  /** Messages given up because their subscriber took none for too long. */
  readonly dropped: number;
  readonly cachedReplies: number;
}

/** Events, commands and queries: at most once, to whoever listens now, on whichever node. Channel names may be aliases. */
export interface LiveTraffic {
  /** Hands an event to the subscribers; returns how many it was for. */
  publish(event: NewEvent): number;
  subscribe(request: EventSubscribeRequest): LiveSubscription;
  /** Asks. Throws `limit` when too many requests wait, and `draining`. */
  request(request: NewRequest): PendingReply;
  /** Answers a request. Late and unknown answers are dropped. */
  reply(replyTo: string, reply: LiveReply): void;
  serve(request: ServeRequest): LiveSubscription;
  /** Channels of a kind that were used or are listened to (patterns left out), by name; the least lately used are forgotten. */
  activity(kind: LiveKind): readonly LiveActivity[];
  /** Forgets the figures of a channel that nobody listens to. */
  forget(kind: LiveKind, channel: ChannelName): void;
  figures(): LiveFigures;
}
