import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { LivePeers } from '../ports/live-peers.js';
import type { Interest } from './interest.js';
import { LIVE_LIMITS } from './limits.js';
import {
  decodePeerMessage,
  encodePeerMessage,
  type InterestCount,
  type PeerMessage,
} from './peer-messages.js';
import type { Requests } from './requests.js';
import type { LiveRouter, RouterLink } from './router.js';
import type { LiveKind, LiveMessage, LiveReply, LiveRequest } from './types.js';

/**
 * Live traffic between nodes. Each node tells the others what is listened to at it: all of it to a new member, then each
 * change. A member that may have missed one is told all again. Messages go only to nodes that want them, and to one node
 * for each group.
 */
export class PeerLink implements RouterLink {
  readonly #peers: LivePeers;
  readonly #router: LiveRouter;
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #members = new Set<string>();
  /** Members that will be told everything again. */
  readonly #stale = new Set<string>();

  constructor(parts: { peers: LivePeers; router: LiveRouter; requests: Requests; clock: Clock; log: Log }) {
    this.#peers = parts.peers;
    this.#router = parts.router;
    this.#requests = parts.requests;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  start(): void {
    this.#router.link = this;
    this.#requests.forward = (member, replyTo, reply) => this.#answer(member, replyTo, reply);
    this.#peers.attach({
      joined: (member) => {
        this.#members.add(member);
        this.#tellAll(member);
      },
      left: (member) => {
        this.#members.delete(member);
        this.#stale.delete(member);
        this.#router.forgetPeer(member);
      },
      message: (from, bytes) => this.#hear(from, bytes),
    });
  }

  changed({ kind, pattern, group, locals }: Interest<LiveMessage>): void {
    if (this.#members.size === 0) return;
    const counts = [{ kind, pattern, group, count: locals.length }];
    const told = encodePeerMessage({ type: 'interests', isAll: false, counts });
    for (const member of this.#members) if (!this.#stale.has(member)) this.#tell(member, told);
  }

  forward(
    member: string,
    kind: LiveKind,
    message: LiveMessage | LiveRequest,
    groups: readonly (readonly [string, string])[],
  ): void {
    this.#send(member, { type: 'message', kind, message, groups });
  }

  #answer(member: string, replyTo: string, reply: LiveReply): void {
    // An address is what a client sent: it may name anything.
    if (this.#members.has(member)) this.#send(member, { type: 'reply', replyTo, reply });
  }

  /** At most once: what does not arrive is lost, like a message nobody listens to. */
  #send(member: string, told: PeerMessage): void {
    this.#peers.send(member, encodePeerMessage(told)).catch((error: unknown) => {
      this.#log.debug('live message did not reach its node', { member, error });
    });
  }

  #tellAll(member: string): void {
    this.#stale.delete(member);
    const counts: InterestCount[] = [];
    for (const { kind, pattern, group, locals } of this.#router.localInterests()) {
      counts.push({ kind, pattern, group, count: locals.length });
    }
    this.#tell(member, encodePeerMessage({ type: 'interests', isAll: true, counts }));
  }

  #tell(member: string, told: Uint8Array): void {
    this.#peers.send(member, told).catch(() => {
      if (!this.#members.has(member) || this.#stale.has(member)) return;
      this.#stale.add(member);
      this.#clock.after(LIVE_LIMITS.resyncMs, () => {
        if (this.#stale.has(member)) this.#tellAll(member);
      });
    });
  }

  #hear(from: string, bytes: Uint8Array): void {
    let told: PeerMessage;
    try {
      told = decodePeerMessage(bytes);
    } catch (error) {
      this.#log.warn('a node sent a live message that is none', { member: from, error });
      return;
    }
    switch (told.type) {
      case 'interests':
        if (!this.#members.has(from)) return;
        if (told.isAll) this.#router.forgetPeer(from);
        for (const count of told.counts) this.#router.setPeer(from, count.kind, count);
        return;
      case 'message': {
        const { kind, message, groups } = told;
        // Its time runs by our clock here.
        const arrived = 'replyTo' in message ? { ...message, sentAt: this.#clock.now() } : message;
        this.#router.arrive(kind, arrived, groups);
        return;
      }
      case 'reply':
        this.#requests.reply(told.replyTo, told.reply);
    }
  }
}
