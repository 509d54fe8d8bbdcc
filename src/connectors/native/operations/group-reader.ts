import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import type { LogEvent, LogSubscription, StartPosition } from '../../../core/log/types.js';
import { NATIVE_LIMITS } from '../limits.js';

/** One stream that takes events. */
export interface ReaderMember {
  /** True when it takes more; false when it is gone. */
  ready(): Promise<boolean>;
  /** True when all were taken; false when it went away before. */
  deliver(events: readonly LogEvent[]): Promise<boolean>;
  /** Nothing more will come. */
  fail(caught: unknown): void;
}

export interface ReaderRequest {
  readonly channel: ChannelName;
  /** Name of the position. */
  readonly durable: string;
  readonly start: StartPosition;
  /** Several members share the position, and each event goes to one of them. Otherwise a second member is refused. */
  readonly isShared: boolean;
  /** What a second member is told. */
  readonly takenText: string;
}

/** All readers of Events Store channels: one a position, with one member or, for groups, several. */
export class GroupReaders {
  readonly #broker: Broker;
  readonly #readers = new Map<string, Reader>();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Resolves when nobody holds the position here, at once if so. */
  whenFree(request: ReaderRequest): Promise<void> {
    return this.#readers.get(this.#keyOf(request))?.closed ?? Promise.resolve();
  }

  /** Adds a member; returns how it leaves. Throws `already-exists` when the position has its one member. */
  join(request: ReaderRequest, member: ReaderMember): () => void {
    const key = this.#keyOf(request);
    let reader = this.#readers.get(key);
    if (reader === undefined) {
      reader = new Reader(this.#subscribe(request), () => void this.#readers.delete(key));
      this.#readers.set(key, reader);
    } else if (!request.isShared) throw new BrokerError('already-exists', request.takenText);
    return reader.add(member);
  }

  #keyOf(request: ReaderRequest): string {
    return `${this.#broker.resolve(request.channel)} ${request.durable}`;
  }

  #subscribe(request: ReaderRequest): LogSubscription {
    try {
      return this.#broker.subscribe({
        channel: request.channel,
        start: request.start,
        durable: request.durable,
        createMissing: true,
      });
    } catch (caught) {
      const error = BrokerError.from(caught);
      throw error.kind === 'already-exists' ? new BrokerError('already-exists', request.takenText) : error;
    }
  }
}

interface Part {
  readonly events: readonly LogEvent[];
  isTaken: boolean;
}

/**
 * Reads one subscription for its members, in parts: a part goes to the next member that has room, and to another one when
 * that member goes away first. The position follows the oldest part that is not taken, so nothing is passed over.
 */
class Reader {
  readonly closed: Promise<void>;
  readonly #subscription: LogSubscription;
  readonly #onClosed: () => void;
  #resolveClosed: () => void = () => undefined;
  /** Members with nothing under way, longest idle first. */
  readonly #idle: ReaderMember[] = [];
  readonly #members = new Set<ReaderMember>();
  /** Parts handed out, oldest first, until taken. */
  #parts: Part[] = [];
  /** Parts that wait for a member: fresh ones, and those whose member went away. */
  readonly #waiting: Part[] = [];
  #isPumping = false;
  #isClosed = false;

  constructor(subscription: LogSubscription, onClosed: () => void) {
    this.#subscription = subscription;
    this.#onClosed = onClosed;
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
  }

  add(member: ReaderMember): () => void {
    this.#members.add(member);
    this.#idle.push(member);
    void this.#pump();
    return () => this.#remove(member);
  }

  #remove(member: ReaderMember): void {
    if (!this.#members.delete(member)) return;
    const place = this.#idle.indexOf(member);
    if (place >= 0) this.#idle.splice(place, 1);
    if (this.#members.size === 0) this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#subscription.close();
    this.#onClosed();
    this.#resolveClosed();
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (!this.#isClosed && this.#idle.length > 0) {
        this.#handWaiting();
        if (this.#idle.length === 0) return;
        const part = await this.#next();
        if (part === undefined) return;
        // Whoever was idle may have left, or be busy again, while this waited.
        this.#waiting.push(part);
      }
      this.#handWaiting();
    } catch (caught) {
      for (const member of this.#members) member.fail(caught);
      this.#close();
    } finally {
      this.#isPumping = false;
    }
  }

  #handWaiting(): void {
    while (this.#waiting.length > 0) {
      const member = this.#idle.shift();
      const part = member === undefined ? undefined : this.#waiting.shift();
      if (member === undefined || part === undefined) return;
      void this.#hand(part, member);
    }
  }

  async #next(): Promise<Part | undefined> {
    // Small parts for many members share the events out; one member takes them in large ones.
    const max = Math.max(1, Math.floor(NATIVE_LIMITS.eventsPerTurn / Math.max(1, this.#members.size)));
    const events = await this.#subscription.next(max);
    if (events.length === 0) return undefined;
    const part = { events, isTaken: false };
    this.#parts.push(part);
    return part;
  }

  async #hand(part: Part, member: ReaderMember): Promise<void> {
    part.isTaken = await member.deliver(part.events).catch(() => false);
    if (part.isTaken) {
      this.#advance();
      if (this.#members.has(member) && (await member.ready())) this.#idle.push(member);
    } else {
      this.#waiting.unshift(part);
      this.#remove(member);
    }
    // The pump may be waiting for new events; what comes again does not wait with it.
    if (this.#isPumping) this.#handWaiting();
    else void this.#pump();
  }

  #advance(): void {
    let sequence = 0;
    while (this.#parts[0]?.isTaken === true) {
      sequence = this.#parts.shift()?.events.at(-1)?.sequence ?? sequence;
    }
    if (sequence > 0) this.#subscription.advance(sequence);
  }
}
