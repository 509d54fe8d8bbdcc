import { crc32 } from 'node:zlib';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { Position } from '../../core/ports/journal.js';

/**
 * The header in front of every entry, little endian:
 *
 * | at | bytes | field |
 * | -- | ----- | ----- |
 * | 0  | 4 | CRC-32 of the whole entry, this field taken as zero |
 * | 4  | 4 | bytes of payload |
 * | 8  | 4 | distance back to the position below which everything was durable when this was stamped; all ones = unknown |
 * | 12 | 7 | this header's own position (53 bits), then 3 bits of kind |
 * | 19 | 1 | magic |
 * | 20 | 4 | epoch of the writer |
 *
 * Position and epoch bind an entry to its place: what a recycled file still holds never passes for new.
 */
export type EntryKind = 0 | 1 | 2 | 3;
export const DATA: EntryKind = 0;
/** First entry of a segment; payload: position where the log before it ends (8 bytes). */
export const BEGIN: EntryKind = 1;
/** Last entry of a clean end; no payload. */
export const END: EntryKind = 2;

/** Stands where a repair dropped something; its payload means nothing. */
export const FILLER: EntryKind = 3;

export const BEGIN_BYTES = ENTRY_HEADER_BYTES + 8;
export const END_BYTES = ENTRY_HEADER_BYTES;

const MAGIC = 0xb7;
const UNKNOWN = 0xffffffff;
const TWO_32 = 0x1_0000_0000;

/** `inspectEntry`: there is no entry of this writer at this place. */
export const ABSENT = -1;
/** `inspectEntry`: an entry was begun here but it is not whole. */
export const DAMAGED = -2;
/** `inspectEntry`: more bytes are needed to judge. */
export const SHORT = -3;

/** Where an entry stands and what its writer knew. */
export interface EntryStamp {
  readonly position: Position;
  readonly epoch: number;
  readonly syncedBelow: Position;
  readonly kind: EntryKind;
}

/** Writes the header of `entry`. One native call and no allocation: this runs for every entry. */
export function stampEntry(
  entry: Uint8Array,
  position: Position,
  epoch: number,
  syncedBelow: Position,
): void {
  put32(entry, 20, epoch);
  seal(entry, position, position - syncedBelow, DATA);
}

export function stampKind(entry: Uint8Array, { position, epoch, syncedBelow, kind }: EntryStamp): void {
  put32(entry, 20, epoch);
  seal(entry, position, position - syncedBelow, kind);
}

function seal(entry: Uint8Array, position: Position, behind: number, kind: EntryKind): void {
  const high = Math.floor(position / TWO_32);
  put32(entry, 0, 0);
  put32(entry, 4, entry.byteLength - ENTRY_HEADER_BYTES);
  put32(entry, 8, behind >= UNKNOWN ? UNKNOWN : behind);
  put32(entry, 12, position >>> 0);
  put32(entry, 16, high | (kind << 21) | (MAGIC << 24));
  put32(entry, 0, crc32(entry));
}

/** Stamps an entry again, with what is known to be durable by now. */
export function restampEntry(
  entry: Uint8Array,
  position: Position,
  epoch: number,
  syncedBelow: Position,
): void {
  const kind = (((entry[18] as number) >>> 5) & 7) as EntryKind;
  stampKind(entry, { position, epoch, syncedBelow, kind });
}

/**
 * Looks at the bytes at `at` for the entry that belongs at `position`. Returns its whole length in bytes, or why there is
 * none. Touches the CRC field of `bytes` while it looks, and leaves it as it was.
 */
export function inspectEntry(bytes: Buffer, at: number, position: Position, epoch: number): number {
  const available = bytes.length - at;
  if (available < ENTRY_HEADER_BYTES) return SHORT;
  if (bytes.readUInt32LE(at + 12) !== position >>> 0 || bytes.readUInt32LE(at + 20) !== epoch) return ABSENT;
  const high = bytes.readUInt32LE(at + 16);
  if (high >>> 24 !== MAGIC || (high & 0x1fffff) !== Math.floor(position / TWO_32)) return ABSENT;
  const length = ENTRY_HEADER_BYTES + bytes.readUInt32LE(at + 4);
  if (length > available) return SHORT;
  const stored = bytes.readUInt32LE(at);
  bytes.writeUInt32LE(0, at);
  const computed = crc32(bytes.subarray(at, at + length));
  bytes.writeUInt32LE(stored, at);
  return computed === stored ? length : DAMAGED;
}

/** Whole length in bytes that the header at `at` claims. */
export function claimedLength(bytes: Buffer, at: number): number {
  return ENTRY_HEADER_BYTES + bytes.readUInt32LE(at + 4);
}

export function kindOf(bytes: Buffer, at: number): EntryKind {
  return ((bytes.readUInt32LE(at + 16) >>> 21) & 7) as EntryKind;
}

/** Everything below the result was durable when this entry was stamped. */
export function syncedBelowOf(bytes: Buffer, at: number, position: Position): Position {
  const behind = bytes.readUInt32LE(at + 8);
  return behind === UNKNOWN ? 0 : position - behind;
}

export function beginEntry(stamp: Omit<EntryStamp, 'kind'>, logEnd: Position): Buffer {
  const entry = Buffer.alloc(BEGIN_BYTES);
  entry.writeBigUInt64LE(BigInt(logEnd), ENTRY_HEADER_BYTES);
  stampKind(entry, { ...stamp, kind: BEGIN });
  return entry;
}

/** Where the log in front of this segment ends, from its first entry. */
export function logEndOf(bytes: Buffer, at: number): Position {
  return Number(bytes.readBigUInt64LE(at + ENTRY_HEADER_BYTES));
}

/** Bytes that every header of this epoch holds, and where in the header they stand: what a search for entries looks for. */
export function searchPattern(epoch: number): { readonly pattern: Buffer; readonly headerOffset: number } {
  const pattern = Buffer.alloc(5);
  pattern[0] = MAGIC;
  pattern.writeUInt32LE(epoch, 1);
  return { pattern, headerOffset: 19 };
}

function put32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}
