import type { DeadLetterReason, QueueSettings } from '../../../src/core/queue/types.js';
import { DEFAULT_QUEUE_SETTINGS } from '../../../src/core/queue/types.js';

/** One message as the rules say it should be. Times are Unix ms; 0 = none. */
export interface ModelMessage {
  readonly text: string;
  channel: string;
  state: 'arriving' | 'ready' | 'delayed' | 'inFlight';
  /** Deliveries that count. */
  count: number;
  /** Deliveries that were made; names the lease. */
  attempt: number;
  priority: number;
  enqueuedAt: number;
  expiresAt: number;
  delayedTo: number;
  leaseEndsAt: number;
  max: number;
  maxQueue: string;
  reRoutedFrom: string;
  /** Learnt from the broker: the rules do not say which numbers, only that they rise. 0 = not seen yet. */
  sequence: number;
  /** It was out before: a sub-channel waits for it while it is delayed. */
  wasOut: boolean;
  /** Somebody has it, and the disk has not. */
  early?: boolean;
  readonly bodyBytes: number;
}

export interface ModelSend {
  readonly text: string;
  readonly channel: string;
  readonly bodyBytes: number;
  readonly delayMs: number;
  readonly expirationMs: number;
  readonly priority: number;
  readonly maxReceiveCount: number;
  readonly maxReceiveQueue: string;
  readonly dedupId: string | undefined;
}

export type ModelOutcome = 'stored' | 'duplicate' | 'not-found' | 'limit';

/** The base of a channel's family. */
export function baseOf(channel: string): string {
  const at = channel.indexOf('.g.');
  return at < 0 ? channel : channel.slice(0, at);
}

export function isSub(channel: string): boolean {
  return channel.includes('.g.');
}

/** When something happens to a message by itself. */
function dueAt(m: ModelMessage): number {
  if (m.state === 'delayed') return m.delayedTo;
  if (m.state === 'inFlight') return m.leaseEndsAt > 0 ? m.leaseEndsAt : Infinity;
  return m.state === 'ready' && m.expiresAt > 0 ? m.expiresAt : Infinity;
}

function bodyBytesOf(one: ModelSend): number {
  return Math.max(one.bodyBytes, one.text.length + 1);
}

function bytesOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0);
}

/** Queues by their rules alone: no journal, no lists, no counters. Everything happens at once and in one place. */
export class QueueModel {
  now: number;
  /** Commits are held back: what needs the journal stays `arriving`. */
  held = false;
  readonly queues = new Map<string, QueueSettings>();
  readonly messages = new Map<string, ModelMessage>();
  /** In order of arrival. */
  arriving: ModelMessage[] = [];
  /** Channels that took messages: they may be over their bounds. */
  readonly #grown = new Set<string>();
  /** Text of what is or was ready in bounded channels, in the order of hand-out, since `startStep`. */
  readonly #lines = new Map<string, string[]>();
  /** By family, then id: when it was first accepted. */
  readonly dedup = new Map<string, Map<string, { at: number; text: string }>>();
  /** Text of what is ready in a channel, in the order of hand-out: as last seen in the broker. Overflow drops from its front. */
  order: (channel: string) => readonly string[] = () => [];

  constructor(now: number) {
    this.now = now;
  }

  create(name: string, settings: Partial<QueueSettings>): void {
    this.queues.set(name, { ...DEFAULT_QUEUE_SETTINGS, ...settings });
    this.dedup.set(name, new Map());
  }

  drop(name: string): void {
    for (const m of [...this.messages.values()]) if (baseOf(m.channel) === name) this.remove(m);
    this.queues.delete(name);
    this.dedup.delete(name);
  }

  settings(channel: string): QueueSettings {
    return this.queues.get(baseOf(channel))!;
  }

  exists(channel: string): boolean {
    const base = this.queues.get(baseOf(channel));
    return base !== undefined && (!isSub(channel) || base.subChannelMarks.includes('.g.'));
  }

  in(channel: string): ModelMessage[] {
    return [...this.messages.values()].filter((m) => m.channel === channel);
  }

  inFamily(base: string): ModelMessage[] {
    return [...this.messages.values()].filter((m) => baseOf(m.channel) === base);
  }

  remove(m: ModelMessage): void {
    this.messages.delete(m.text);
    this.arriving = this.arriving.filter((other) => other !== m);
  }

  send(batch: readonly ModelSend[], allOrNothing: boolean): ModelOutcome[] {
    const taken = new Map<string, { messages: number; bytes: number }>();
    const outcomes = batch.map((one): ModelOutcome => {
      if (!this.exists(one.channel)) return 'not-found';
      const before = taken.get(baseOf(one.channel)) ?? { messages: 0, bytes: 0 };
      if (this.#full(one, before)) {
        this.#refuse(one);
        return 'limit';
      }
      const bytes = before.bytes + bodyBytesOf(one);
      taken.set(baseOf(one.channel), { messages: before.messages + 1, bytes });
      return 'stored';
    });
    if (allOrNothing && outcomes.some((o) => o !== 'stored'))
      return outcomes.map((o) => (o === 'stored' ? 'limit' : o));
    batch.forEach((one, i) => {
      if (outcomes[i] !== 'stored') return;
      const known = this.#known(one);
      if (known) outcomes[i] = 'duplicate';
      else this.#accept(one);
    });
    return outcomes;
  }

  /** Refused at the door: a copy of it may go where dead letters go. */
  #refuse(one: ModelSend): void {
    const { overflow, deadLetter } = this.settings(one.channel);
    if (overflow !== 'reject-dead-letter' || deadLetter?.reasons.includes('overflow') !== true) return;
    const m = this.#accept(one);
    this.bury(m, 'overflow');
    m.reRoutedFrom = '';
  }

  #full(one: ModelSend, taken: { messages: number; bytes: number }): boolean {
    const { overflow, maxLength, maxLengthBytes } = this.settings(one.channel);
    if (overflow === 'drop-head') return false;
    const waiting = this.in(baseOf(one.channel)).filter((m) => m.state === 'ready' || m.state === 'arriving');
    const bytes = bytesOf(waiting) + taken.bytes + bodyBytesOf(one);
    const isFull = maxLength > 0 && waiting.length + taken.messages >= maxLength;
    return isFull || (maxLengthBytes > 0 && bytes > maxLengthBytes);
  }

  #known(one: ModelSend): boolean {
    const { dedupWindowMs } = this.settings(one.channel);
    if (one.dedupId === undefined || dedupWindowMs === 0) return false;
    const known = this.dedup.get(baseOf(one.channel))?.get(one.dedupId);
    return known !== undefined && known.at + dedupWindowMs > this.now;
  }

  #accept(one: ModelSend): ModelMessage {
    const settings = this.settings(one.channel);
    const { messageTtlMs: ttl, maxPriority, dedupWindowMs } = settings;
    const own = one.expirationMs;
    const life = own > 0 && ttl > 0 ? Math.min(own, ttl) : Math.max(own, ttl);
    const m: ModelMessage = {
      text: one.text,
      channel: one.channel,
      state: 'arriving',
      count: 0,
      attempt: 0,
      priority: Math.min(one.priority, maxPriority),
      enqueuedAt: this.now,
      expiresAt: life > 0 ? this.now + one.delayMs + life : 0,
      delayedTo: one.delayMs > 0 ? this.now + one.delayMs : 0,
      leaseEndsAt: 0,
      max: one.maxReceiveCount,
      maxQueue: one.maxReceiveQueue,
      reRoutedFrom: '',
      sequence: 0,
      wasOut: false,
      bodyBytes: bodyBytesOf(one),
    };
    this.messages.set(m.text, m);
    this.arriving.push(m);
    if (one.dedupId !== undefined && dedupWindowMs > 0) {
      this.dedup.get(baseOf(one.channel))!.set(one.dedupId, { at: this.now, text: one.text });
    }
    return m;
  }

  /** What was on its way is there now; unless it is held, called after each step. `memoryOnly`: what needs no disk. */
  land(memoryOnly = false): void {
    const landed = this.arriving.filter((m) => !memoryOnly || !this.settings(m.channel).durable);
    this.arriving = this.arriving.filter((m) => !landed.includes(m));
    for (const m of landed) {
      if (m.delayedTo > this.now) {
        m.state = 'delayed';
        continue;
      }
      this.#makeReady(m, false);
    }
  }

  /** A message on its way is handed out: it was as good as ready. */
  landEarly(text: string): void {
    const m = this.messages.get(text);
    if (m?.state !== 'arriving') return;
    this.arriving = this.arriving.filter((other) => other !== m);
    m.state = 'ready';
    m.early = true;
  }

  /** What is ready in every channel is what `order` says from here on. */
  startStep(): void {
    this.#lines.clear();
  }

  /** After a start: every queue may be over its bounds. */
  lookAtAll(): void {
    this.startStep();
    for (const m of this.messages.values()) if (this.#dropsHead(m.channel)) this.#grown.add(m.channel);
  }

  #dropsHead(channel: string): boolean {
    const { overflow, maxLength, maxLengthBytes } = this.settings(channel);
    return overflow === 'drop-head' && maxLength + maxLengthBytes > 0;
  }

  /** Ready, at the end of its line or before the first with a higher sequence. */
  #makeReady(m: ModelMessage, oldPlace: boolean): void {
    if (this.#dropsHead(m.channel)) {
      const line = this.#line(m.channel);
      const numberOf = (text: string): number => this.messages.get(text)?.sequence || Infinity;
      const before = oldPlace ? line.findIndex((text) => numberOf(text) > m.sequence) : -1;
      const isLast = before < 0 || numberOf(line.at(-1)!) < m.sequence;
      line.splice(isLast ? line.length : before, 0, m.text);
      this.#grown.add(m.channel);
    }
    m.state = 'ready';
  }

  /** The line of a channel without what has left it. */
  #line(channel: string): string[] {
    const line = this.#lines.get(channel) ?? [...this.order(channel)];
    const left = line.filter((text) => {
      const m = this.messages.get(text);
      return m?.channel === channel && m.state === 'ready';
    });
    this.#lines.set(channel, left);
    return left;
  }

  /** What those who waited left, and is too much, is dropped from the front. True when something was. */
  trim(): boolean {
    const grown = [...this.#grown];
    this.#grown.clear();
    let dropped = false;
    for (const channel of grown) if (this.#trim(channel)) dropped = true;
    return dropped;
  }

  #trim(channel: string): boolean {
    if (!this.exists(channel) || !this.#dropsHead(channel)) return false;
    const { maxLength, maxLengthBytes } = this.settings(channel);
    const line = this.#line(channel).map((text) => this.messages.get(text)!);
    let dropped = false;
    for (;;) {
      const over =
        (maxLength > 0 && line.length > maxLength) || (maxLengthBytes > 0 && bytesOf(line) > maxLengthBytes);
      const head = over ? line.shift() : undefined;
      if (head === undefined) return dropped;
      dropped = true;
      this.bury(head, 'overflow');
    }
  }

  /** The lost arrivals of a failed commit; moved messages stay in their new place. */
  lose(texts: ReadonlySet<string>): void {
    for (const text of texts) {
      const m = this.messages.get(text);
      if (m?.state === 'arriving') this.remove(m);
      for (const ids of this.dedup.values())
        for (const [id, known] of ids) if (known.text === text) ids.delete(id);
    }
  }

  overLimit(m: ModelMessage): boolean {
    const limit = m.max > 0 ? m.max : (this.settings(m.channel).deadLetter?.maxReceiveCount ?? 0);
    return limit > 0 && m.count >= limit;
  }

  bury(m: ModelMessage, reason: DeadLetterReason): void {
    const { deadLetter } = this.settings(m.channel);
    if (reason === 'max-receives' && m.max > 0) {
      if (m.maxQueue === '') this.remove(m);
      else this.move(m, m.maxQueue, reason);
      return;
    }
    const target = deadLetter?.reasons.includes(reason) === true ? deadLetter.target : undefined;
    if (target === undefined) this.remove(m);
    else if ('channel' in target) this.move(m, target.channel, reason);
    else if (target.route === 'test:nowhere') this.remove(m);
    else this.move(m, target.route.slice('test:'.length), 'expired');
  }

  move(m: ModelMessage, to: string, reason: DeadLetterReason | 'moved'): void {
    if (!this.queues.has(baseOf(to))) this.create(to, {});
    const target = this.settings(to);
    const from = m.channel;
    const suffix =
      isSub(from) && target.subChannelMarks.includes('.g.') ? from.slice(baseOf(from).length) : '';
    m.channel = to + suffix;
    m.reRoutedFrom = from;
    m.count = 0;
    m.attempt = 0;
    m.max = 0;
    m.maxQueue = '';
    m.delayedTo = 0;
    m.enqueuedAt = this.now;
    if (reason === 'expired' || m.expiresAt === 0) {
      m.expiresAt = target.messageTtlMs > 0 ? this.now + target.messageTtlMs : 0;
    }
    m.priority = Math.min(m.priority, target.maxPriority);
    m.leaseEndsAt = 0;
    m.wasOut = false;
    m.sequence = 0;
    m.state = 'arriving';
    if (target.durable) this.arriving.push(m);
    else this.#makeReady(m, false);
  }

  /** Time goes by: everything due happens when it is due. */
  tick(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const next = Math.min(...[...this.messages.values()].map(dueAt));
      if (next > end) break;
      this.now = Math.max(this.now, next);
      this.#sweep();
    }
    this.now = end;
  }

  #sweep(): void {
    const expired = new Map<string, ModelMessage[]>();
    for (const m of [...this.messages.values()]) {
      if (m.state === 'delayed' && m.delayedTo <= this.now) {
        const keepsPlace = isSub(m.channel) || m.wasOut;
        // Who joins a queue then takes the next number.
        if (!keepsPlace) m.sequence = 0;
        this.#makeReady(m, keepsPlace);
      } else if (m.state === 'inFlight' && m.leaseEndsAt > 0 && m.leaseEndsAt <= this.now) {
        const base = baseOf(m.channel);
        expired.set(base, [...(expired.get(base) ?? []), m]);
      }
      if (m.state === 'ready' && m.expiresAt > 0 && m.expiresAt <= this.now) this.bury(m, 'expired');
    }
    for (const [base, messages] of expired)
      this.giveBack(messages, { to: this.settings(base).expiredLeaseTo, delayMs: 0, uncounted: false });
  }

  /** Messages of one family go back, together: what is too much then leaves before anybody is served. */
  giveBack(
    messages: readonly ModelMessage[],
    how: { to: 'origin' | 'tail'; delayMs: number; uncounted: boolean },
  ): void {
    const back: ModelMessage[] = [];
    for (const m of [...messages].sort((a, b) => a.sequence - b.sequence)) {
      if (m.expiresAt > 0 && m.expiresAt <= this.now) this.bury(m, 'expired');
      else if (!how.uncounted && this.overLimit(m)) this.bury(m, 'max-receives');
      else back.push(m);
    }
    for (const m of back) {
      if (how.uncounted) m.count = Math.max(0, m.count - 1);
      m.leaseEndsAt = 0;
      if (how.delayMs === 0) continue;
      m.delayedTo = this.now + how.delayMs;
      m.state = 'delayed';
    }
    if (how.delayMs > 0) return;
    const toTail = (m: ModelMessage): boolean => how.to === 'tail' && !isSub(m.channel);
    // To their old places the last first.
    for (const m of back.filter((one) => !toTail(one)).reverse()) this.#makeReady(m, true);
    for (const m of back.filter(toTail)) {
      m.sequence = 0;
      this.#makeReady(m, false);
    }
    for (const channel of new Set(back.map((m) => m.channel))) this.#trim(channel);
  }

  /** After a restart: what lived in memory is gone, leases without an end had a holder that is gone. */
  restart(): void {
    for (const [name, settings] of [...this.queues]) if (!settings.durable) this.drop(name);
    this.startStep();
    const endless = [...this.messages.values()].filter((m) => m.state === 'inFlight' && m.leaseEndsAt === 0);
    for (const m of endless.sort((a, b) => a.sequence - b.sequence)) {
      // What leaves its queue does so at the first sweep, when the routers are there.
      if (this.overLimit(m) || (m.expiresAt > 0 && m.expiresAt <= this.now)) m.leaseEndsAt = this.now;
      else this.#makeReady(m, true);
    }
    // What came back may be too much.
    this.trim();
  }

  /** Whether a channel may hand out anything now: an ordered one only when nothing of it is out. */
  locked(channel: string): boolean {
    if (!isSub(channel)) return false;
    return this.in(channel).some((m) => m.state === 'inFlight' || (m.state === 'delayed' && m.wasOut));
  }
}
