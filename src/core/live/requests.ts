import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Scheduler, Timeouts } from '../../base/scheduler.js';
import { BrokerError } from '../errors.js';
import { LIVE_LIMITS } from './limits.js';
import { QueryCache } from './query-cache.js';
import type { LiveRouter } from './router.js';
import type { LiveReply, LiveRequest, NewRequest, PendingReply } from './types.js';

export interface RequestsOptions {
  /** This node's name, as it stands in the addresses of answers. */
  readonly self: string;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly scheduler: Scheduler;
  readonly timeouts: Timeouts;
  readonly router: LiveRouter;
}

interface Pending {
  readonly request: LiveRequest;
  readonly resolve: (reply: LiveReply | undefined) => void;
  readonly timeout: number;
}

const ADDRESS = /^reply\.([^.]+)\.([^.]+)$/;

/** Asks and waits: the requests of this node that have no answer yet. */
export class Requests {
  readonly #options: RequestsOptions;
  readonly #member: string;
  readonly #pending = new Map<string, Pending>();
  readonly #cache: QueryCache;
  /** Sends an answer to the node that asked. */
  forward: ((member: string, replyTo: string, reply: LiveReply) => void) | undefined;
  cachedReplies = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
    // A member's name may hold anything; an address is a channel name to clients.
    this.#member = Buffer.from(options.self).toString('base64url');
    this.#cache = new QueryCache(options.clock);
  }

  get pending(): number {
    return this.#pending.size;
  }

  request(asked: NewRequest): PendingReply {
    const cached = this.#cached(asked);
    if (cached !== undefined) return { reply: Promise.resolve(cached), cancel: () => undefined };
    if (this.#pending.size >= LIVE_LIMITS.pendingRequestsMax) {
      throw new BrokerError('limit', 'too many requests wait for their answers');
    }
    const { clock, ids, scheduler, timeouts, router } = this.#options;
    const now = clock.now();
    const replyTo = `reply.${this.#member}.${ids.uuid()}`;
    const timeoutMs = Math.min(asked.timeoutMs, LIVE_LIMITS.requestTimeoutMsMax);
    const request: LiveRequest = { ...asked, timeoutMs, replyTo, sentAt: now };
    const reply = new Promise<LiveReply | undefined>((resolve) => {
      const timeout = timeouts.set(now + timeoutMs, () => this.#timedOut(request, resolve));
      this.#pending.set(replyTo, { request, resolve, timeout });
    });
    scheduler.poke();
    router.route(request.kind, request);
    return { reply, cancel: () => this.#end(replyTo, undefined) };
  }

  #timedOut(request: LiveRequest, resolve: (reply: undefined) => void): void {
    this.#options.router.activities.of(request.kind, request.channel).timedOut++;
    this.#pending.delete(request.replyTo);
    resolve(undefined);
  }

  #cached({ kind, channel, cache }: NewRequest): LiveReply | undefined {
    if (kind !== 'queries' || cache === undefined) return undefined;
    const reply = this.#cache.get(channel, cache.key);
    if (reply !== undefined) this.cachedReplies++;
    return reply;
  }

  reply(replyTo: string, reply: LiveReply): void {
    const member = ADDRESS.exec(replyTo)?.[1];
    if (member === undefined) return;
    if (member !== this.#member) {
      this.forward?.(Buffer.from(member, 'base64url').toString(), replyTo, reply);
      return;
    }
    const request = this.#pending.get(replyTo)?.request;
    if (request === undefined) return;
    this.#options.router.activities.of(request.kind, request.channel).replies++;
    this.#keep(request, reply);
    this.#end(replyTo, reply);
  }

  /** Only an answer that was carried out is worth giving again. */
  #keep({ kind, channel, cache }: LiveRequest, reply: LiveReply): void {
    if (kind !== 'queries' || cache === undefined || !reply.executed) return;
    this.#cache.set(channel, cache.key, { reply, ttlMs: cache.ttlMs });
  }

  /** Whether an answer would still reach somebody; of another node's request only the time is known. */
  isWanted({ replyTo, sentAt, timeoutMs }: LiveRequest): boolean {
    if (ADDRESS.exec(replyTo)?.[1] === this.#member) return this.#pending.has(replyTo);
    return this.#options.clock.now() < sentAt + timeoutMs;
  }

  #end(replyTo: string, reply: LiveReply | undefined): void {
    const pending = this.#pending.get(replyTo);
    if (pending === undefined) return;
    this.#pending.delete(replyTo);
    this.#options.timeouts.cancel(pending.timeout);
    pending.resolve(reply);
  }

  /** Nobody is answered any more. */
  close(): void {
    for (const replyTo of [...this.#pending.keys()]) this.#end(replyTo, undefined);
  }
}
