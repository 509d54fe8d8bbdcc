import { ByteReader, ByteWriter } from '../base/bytes.js';
import type { Log } from '../base/log.js';
import { BrokerError } from '../core/errors.js';
import type { LivePeerHandlers, LivePeers } from '../core/ports/live-peers.js';
import type { Bus, Coordinator, Member } from './contract.js';

const SERVICE = 'live';
const NO_ANSWER = new Uint8Array(0);

/** Bounds of live traffic between two nodes. */
export const LIVE_PEER_LIMITS = {
  /** How long a batch may take to arrive. */
  timeoutMs: 5_000,
  /** Bytes that wait while a batch is on its way; what comes on top is refused. */
  waitingBytesMax: 64 * 1024 * 1024,
} as const;

interface Waiting {
  readonly message: Uint8Array;
  readonly arrived: () => void;
  readonly lost: (error: unknown) => void;
}

/** Live traffic over the bus: one batch at a time to each member, so that order holds and small messages travel together. */
export class BusLivePeers implements LivePeers {
  readonly #coordinator: Coordinator;
  readonly #bus: Bus;
  readonly #log: Log;
  readonly #lines = new Map<string, Line>();
  #unwatch: (() => void) | undefined;
  #unserve: (() => void) | undefined;

  constructor(parts: { readonly coordinator: Coordinator; readonly bus: Bus; readonly log: Log }) {
    this.#coordinator = parts.coordinator;
    this.#bus = parts.bus;
    this.#log = parts.log;
  }

  get self(): string {
    return this.#coordinator.self.id;
  }

  attach(handlers: LivePeerHandlers): void {
    // Who attached before could not open its journal, and is gone.
    this.close();
    this.#unserve = this.#bus.serve(SERVICE, {
      request: async (from, body) => {
        for (const message of unpack(body)) handlers.message(from.id, message);
        return NO_ANSWER;
      },
    });
    const seen = (members: readonly Member[]): void => this.#see(members, handlers);
    this.#unwatch = this.#coordinator.watchMembers(seen);
    // Not in the caller's turn: it may not be ready for what it hears.
    queueMicrotask(() => seen(this.#coordinator.members()));
  }

  send(member: string, message: Uint8Array): Promise<void> {
    const line = this.#lines.get(member);
    if (line === undefined) return Promise.reject(new BrokerError('unavailable', `no member ${member}`));
    return line.send(message);
  }

  close(): void {
    this.#unwatch?.();
    this.#unserve?.();
    for (const line of this.#lines.values()) line.close();
    this.#lines.clear();
  }

  #see(members: readonly Member[], handlers: LivePeerHandlers): void {
    const present = new Map(members.map((member) => [member.id, member]));
    present.delete(this.self);
    for (const [id, line] of [...this.#lines]) {
      if (present.has(id)) continue;
      line.close();
      this.#lines.delete(id);
      handlers.left(id);
    }
    for (const [id, member] of present) {
      if (this.#lines.has(id)) continue;
      this.#log.debug('live traffic with a node begins', { member: id });
      this.#lines.set(id, new Line(this.#bus, member));
      handlers.joined(id);
    }
  }
}

/** The way to one member. */
class Line {
  readonly #bus: Bus;
  readonly #member: Member;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isSending = false;

  constructor(bus: Bus, member: Member) {
    this.#bus = bus;
    this.#member = member;
  }

  send(message: Uint8Array): Promise<void> {
    if (this.#waitingBytes + message.byteLength > LIVE_PEER_LIMITS.waitingBytesMax) {
      return Promise.reject(new BrokerError('limit', `too much waits for member ${this.#member.id}`));
    }
    return new Promise((arrived, lost) => {
      this.#waiting.push({ message, arrived, lost });
      this.#waitingBytes += message.byteLength;
      if (this.#isSending) return;
      this.#isSending = true;
      // What the same turn sends travels along.
      queueMicrotask(() => void this.#sendAll());
    });
  }

  close(): void {
    const gone = new BrokerError('unavailable', `member ${this.#member.id} is gone`);
    for (const { lost } of this.#take()) lost(gone);
  }

  async #sendAll(): Promise<void> {
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
      try {
        await this.#bus.request(this.#member, SERVICE, pack(batch), LIVE_PEER_LIMITS.timeoutMs);
        for (const { arrived } of batch) arrived();
      } catch (error) {
        for (const { lost } of batch) lost(error);
      }
    }
    this.#isSending = false;
  }

  #take(): readonly Waiting[] {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return batch;
  }
}

function pack(batch: readonly Waiting[]): Uint8Array {
  const w = new ByteWriter(batch.reduce((sum, { message }) => sum + message.byteLength + 10, 0));
  for (const { message } of batch) w.block(message);
  return w.buffer.subarray(0, w.length);
}

function* unpack(body: Uint8Array): Iterable<Uint8Array> {
  for (const r = new ByteReader(body); !r.done;) yield r.block();
}
