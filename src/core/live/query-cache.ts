import type { Clock } from '../../base/clock.js';
import { LIVE_LIMITS } from './limits.js';
import type { LiveReply } from './types.js';

interface Kept {
  readonly reply: LiveReply;
  readonly until: number;
  readonly bytes: number;
}

/** Bytes of an entry besides its texts and body. */
const ENTRY_BYTES = 256;

/** Answers of queries by channel and key, for as long as the caller said. The least lately used leave first. */
export class QueryCache {
  readonly #clock: Clock;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  get(channel: string, key: string): LiveReply | undefined {
    const name = nameOf(channel, key);
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#remove(name, kept);
    if (kept.until <= this.#clock.now()) return undefined;
    this.#add(name, kept);
    return kept.reply;
  }

  set(channel: string, key: string, kept: { readonly reply: LiveReply; readonly ttlMs: number }): void {
    const { reply, ttlMs } = kept;
    const name = nameOf(channel, key);
    const before = this.#kept.get(name);
    if (before !== undefined) this.#remove(name, before);
    const bytes = bytesOf(name, reply);
    if (bytes > LIVE_LIMITS.cachedBytesMax) return;
    // The body may be a view of a large block of other things: the cache keeps its own copy alone.
    const own = { ...reply, body: Uint8Array.from(reply.body), isCached: true };
    this.#add(name, { reply: own, until: this.#clock.now() + ttlMs, bytes });
    for (const [oldest, entry] of this.#kept) {
      if (this.#bytes <= LIVE_LIMITS.cachedBytesMax && this.#kept.size <= LIVE_LIMITS.cachedRepliesMax) break;
      this.#remove(oldest, entry);
    }
  }

  #add(name: string, kept: Kept): void {
    this.#kept.set(name, kept);
    this.#bytes += kept.bytes;
  }

  #remove(name: string, kept: Kept): void {
    this.#kept.delete(name);
    this.#bytes -= kept.bytes;
  }
}

function bytesOf(name: string, reply: LiveReply): number {
  let characters = name.length + reply.metadata.length;
  for (const [key, value] of reply.tags) characters += key.length + value.length;
  return ENTRY_BYTES + 2 * characters + reply.body.byteLength;
}

/** Channel names hold no white space, so the two cannot run into each other. */
function nameOf(channel: string, key: string): string {
  return `${channel} ${key}`;
}
