import { crc32 } from 'node:zlib';
import type { Position } from '../../core/ports/journal.js';

/**
 * One message of the journal's stream: a header of 48 bytes, little endian, then whole entries that follow each other, or a part of
 * one large entry.
 *
 * | at | bytes | field |
 * | -- | ----- | ----- |
 * | 0  | 4 | magic `PMJ1` |
 * | 4  | 4 | CRC-32 of the message, this field taken as zero |
 * | 8  | 1 | kind |
 * | 12 | 4 | bytes of an extent |
 * | 16 | 8 | epoch: sequence of the writer's mark |
 * | 24 | 8 | position of the first byte behind the header |
 * | 32 | 8 | where the log ended before it |
 * | 40 | 8 | mark: epoch of the writer's claim |
 */
export const GROUP_HEADER_BYTES = 48;

export const GroupKind = {
  /** Whole entries. */
  entries: 0,
  /** A writer begins; `prev`: the log ends there whatever else is stored, or ANYWHERE. */
  mark: 1,
  /** Parts of one entry. */
  first: 2,
  middle: 3,
  last: 4,
} as const;
export type GroupKind = (typeof GroupKind)[keyof typeof GroupKind];

/** `prev` of a mark that says nothing about the end of the log. */
export const ANYWHERE = Number.MAX_SAFE_INTEGER;

export interface GroupHeader {
  readonly kind: GroupKind;
  readonly extentBytes: number;
  readonly epoch: number;
  readonly start: Position;
  readonly prev: Position;
  readonly claim: number;
}

const MAGIC = 0x314a4d50;

/** Writes the header into the room at the start of `message`. */
export function stampGroup(message: Buffer, header: GroupHeader): void {
  message.writeUInt32LE(MAGIC, 0);
  message.writeUInt32LE(0, 4);
  message.writeUInt32LE(header.kind, 8);
  message.writeUInt32LE(header.extentBytes, 12);
  message.writeBigUInt64LE(BigInt(header.epoch), 16);
  message.writeBigUInt64LE(BigInt(header.start), 24);
  message.writeBigUInt64LE(BigInt(header.prev), 32);
  message.writeBigUInt64LE(BigInt(header.claim), 40);
  message.writeUInt32LE(crc32(message), 4);
}

/** Undefined: damaged, or not a message of a journal. */
export function readGroup(payload: Uint8Array): GroupHeader | undefined {
  const message = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  if (message.length < GROUP_HEADER_BYTES || message.readUInt32LE(0) !== MAGIC) return undefined;
  const head = Buffer.from(message.subarray(0, GROUP_HEADER_BYTES));
  head.writeUInt32LE(0, 4);
  if (crc32(message.subarray(GROUP_HEADER_BYTES), crc32(head)) !== message.readUInt32LE(4)) return undefined;
  const kind = message.readUInt32LE(8);
  if (kind > GroupKind.last) return undefined;
  return {
    kind: kind as GroupKind,
    extentBytes: message.readUInt32LE(12),
    epoch: Number(message.readBigUInt64LE(16)),
    start: Number(message.readBigUInt64LE(24)),
    prev: Number(message.readBigUInt64LE(32)),
    claim: Number(message.readBigUInt64LE(40)),
  };
}
