import { BrokerError } from '../../core/errors.js';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { Position } from '../../core/ports/journal.js';
import { ANYWHERE, GROUP_HEADER_BYTES, GroupKind, readGroup, type GroupHeader } from './group.js';
import type { StoredMessage } from './stream.js';

/** Messages a writer has under way at once: so many at most may be stored and yet be taken back by its next mark. */
export const IN_FLIGHT_MAX = 8;

/** More in a row of the newest writer that do not continue the log than it could have had under way: something is missing. */
const STRAYS_MAX = 128;

/** Where a reader stands: behind all messages below `seq`. */
export interface ReadState {
  readonly seq: number;
  readonly epoch: number;
  /** End of the log there; undefined: nothing was ever written. */
  readonly end: Position;
}

/** A stored message that is part of the log. */
export interface LoggedGroup {
  readonly seq: number;
  readonly subject: string;
  readonly header: GroupHeader;
  readonly payload: Uint8Array;
}

/**
 * Tells what of a stream is the log. A writer publishes ahead, so a message may be stored although one in front of it was not, and
 * late copies of deposed writers may come at any time. Part of the log is what the newest mark's writer wrote and what
 * continues the log where it ends: every other message is passed over.
 */
export class LogReader {
  #epoch: number;
  #end: Position;
  /** Parts of an entry that is not whole yet. */
  #parts: LoggedGroup[] = [];
  /** Whole ones that a mark may still take back. */
  #held: (readonly LoggedGroup[])[] = [];
  readonly #visit: (groups: readonly LoggedGroup[]) => void;
  /** One past the last byte of anything in the stream, log or not. */
  reached: Position = 0;
  passedOver = 0;
  /** Of the newest writer, since the last one that was part of the log. */
  strays = 0;

  /** `visit` gets one message, or all parts of one entry. */
  constructor(state: ReadState | undefined, visit: (groups: readonly LoggedGroup[]) => void) {
    this.#epoch = state?.epoch ?? 0;
    this.#end = state?.end ?? 0;
    this.#visit = visit;
  }

  get end(): Position {
    return this.#end;
  }

  /** Throws `internal` for a damaged message, and when messages are missing in front of it. */
  take(message: StoredMessage): void {
    const header = readGroup(message.payload);
    if (header === undefined)
      throw new BrokerError('internal', `message ${message.seq} of the journal's stream is damaged`);
    if (header.kind === GroupKind.mark) {
      this.#mark(message.seq, header);
      return;
    }
    const { seq, subject, payload } = message;
    const group = { seq, subject, header, payload };
    const end = endOf(group);
    this.reached = Math.max(this.reached, end);
    if (header.epoch !== this.#epoch) {
      this.passedOver += 1;
      return;
    }
    const last = this.#parts.at(-1);
    if (header.kind === GroupKind.middle || header.kind === GroupKind.last) {
      if (last === undefined || endOf(last) !== header.start) this.#stray(message.seq);
      else {
        this.#parts.push(group);
        if (header.kind === GroupKind.last) this.#accept(this.#parts, end);
      }
      return;
    }
    if (header.prev !== this.#end) {
      this.#stray(message.seq);
      return;
    }
    this.#parts = [group];
    if (header.kind === GroupKind.entries) this.#accept(this.#parts, end);
  }

  /** Nothing follows. */
  finish(): void {
    for (const groups of this.#held.splice(0)) this.#visit(groups);
  }

  #accept(groups: readonly LoggedGroup[], end: Position): void {
    this.#parts = [];
    this.strays = 0;
    this.#end = end;
    this.#held.push(groups);
    if (this.#held.length <= IN_FLIGHT_MAX) return;
    const oldest = this.#held.shift();
    if (oldest !== undefined) this.#visit(oldest);
  }

  #stray(seq: number): void {
    this.passedOver += 1;
    this.strays += 1;
    if (this.strays > STRAYS_MAX) throw lacking(seq);
  }

  /** Throws `internal` when the log ends behind what was read. */
  #mark(seq: number, header: GroupHeader): void {
    if (header.prev !== ANYWHERE && header.prev > this.#end) throw lacking(seq);
    this.#epoch = seq;
    this.strays = 0;
    this.#parts = [];
    if (header.prev === ANYWHERE) return;
    this.#held = this.#held.filter(([first]) => (first?.header.start ?? 0) < header.prev);
    this.#end = header.prev;
  }
}

function lacking(seq: number): BrokerError {
  return new BrokerError('internal', `the journal's stream lacks messages in front of message ${seq}`);
}

function endOf(group: LoggedGroup): Position {
  return group.header.start + group.payload.byteLength - GROUP_HEADER_BYTES;
}

/** Visits the entries of a message, or the one entry of several parts, from `from` on. */
export function visitEntries(
  groups: readonly LoggedGroup[],
  from: Position,
  visit: (position: Position, payload: Uint8Array) => void,
): void {
  const [first] = groups;
  if (first === undefined) return;
  const bodies = groups.map(({ payload }) => payload.subarray(GROUP_HEADER_BYTES));
  const bytes = bodies.length === 1 ? (bodies[0] as Uint8Array) : Buffer.concat(bodies);
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { start } = first.header;
  for (let at = 0; at < view.length;) {
    const length = view.readUInt32LE(at);
    const payloadAt = at + ENTRY_HEADER_BYTES;
    if (payloadAt + length > view.length)
      throw new BrokerError('internal', `the entry at position ${start + at} of the journal is damaged`);
    if (start + at >= from) visit(start + payloadAt, view.subarray(payloadAt, payloadAt + length));
    at = payloadAt + length;
  }
}
