import { ByteWriter } from '../../base/bytes.js';
import { ENTRY_HEADER_BYTES } from '../ports/journal.js';

/** Bytes of one arena: entries are laid into it back to back, so that a commit writes few, large pieces. */
const ARENA_BYTES = 1024 * 1024;
/** The first is small, and each so many times as large as the one before: brokers come and go that say little. */
const FIRST_ARENA_BYTES = 64 * 1024;
const ARENA_GROWTH = 4;

/** Where arenas come from; nothing is laid into `former` any more. */
export type ArenaSource = (bytes: number, former: Buffer) => Buffer;

const freshArena: ArenaSource = (bytes) => Buffer.allocUnsafeSlow(bytes);

/**
 * Builds journal entries in arenas. A message's body is copied once, from the socket's buffer to its place here; from then on
 * the same bytes are written to disk and handed to consumers.
 */
export class EntryWriter extends ByteWriter {
  #start = 0;
  #open = false;

  readonly #arenaBytes: number;
  readonly #memory: ArenaSource;
  #nextArenaBytes: number;

  constructor(arenaBytes = ARENA_BYTES, memory: ArenaSource = freshArena) {
    super(0);
    this.#arenaBytes = arenaBytes;
    this.#memory = memory;
    this.#nextArenaBytes = Math.min(FIRST_ARENA_BYTES, arenaBytes);
  }

  /** Whether an entry is being built. */
  get open(): boolean {
    return this.#open;
  }

  /** Begins an entry that will take about `sizeHint` bytes. */
  begin(sizeHint: number): void {
    const needed = ENTRY_HEADER_BYTES + sizeHint;
    if (this.buffer.length - this.length < needed) this.#arena(needed);
    this.#start = this.length;
    this.length += ENTRY_HEADER_BYTES;
    this.#open = true;
  }

  /** Payload bytes written so far: the offset of what comes next. */
  get offset(): number {
    return this.length - this.#start - ENTRY_HEADER_BYTES;
  }

  /** A view of payload bytes of the open entry; good until more is written. */
  view(offset: number, length: number): Uint8Array {
    const at = this.#start + ENTRY_HEADER_BYTES + offset;
    return this.buffer.subarray(at, at + length);
  }

  /** Sets a u32 written earlier at `offset`. */
  patchU32(offset: number, value: number): void {
    this.buffer.writeUInt32LE(value, this.#start + ENTRY_HEADER_BYTES + offset);
  }

  /** Ends the entry: header room and payload. The bytes are the caller's for good. */
  take(): Uint8Array {
    this.#open = false;
    return this.buffer.subarray(this.#start, this.length);
  }

  /**
   * Lays the open entry of `other` down here and ends it: neighbours in memory are one piece to the disk. `other` goes on in
   * the same place. Only between entries of its own.
   */
  adopt(other: EntryWriter): Uint8Array {
    const size = other.length - other.#start;
    if (this.buffer.length - this.length < size) this.#arena(size);
    const at = this.length;
    this.bytes(other.buffer.subarray(other.#start, other.length));
    other.abandon();
    return this.buffer.subarray(at, this.length);
  }

  /** Bytes of the open entry, its header included. */
  get size(): number {
    return this.length - this.#start;
  }

  /** Drops the open entry. */
  abandon(): void {
    this.#open = false;
    this.length = this.#start;
  }

  override reserve(count: number): void {
    if (this.length + count <= this.buffer.length) return;
    const used = this.length - this.#start;
    const before = this.buffer;
    const start = this.#start;
    this.#arena((used + count) * 2);
    before.copy(this.buffer, 0, start, start + used);
    this.#start = 0;
    this.length = used;
  }

  #arena(needed: number): void {
    this.buffer = this.#memory(Math.max(this.#nextArenaBytes, needed), this.buffer);
    this.#nextArenaBytes = Math.min(this.#nextArenaBytes * ARENA_GROWTH, this.#arenaBytes);
    this.length = 0;
  }
}
