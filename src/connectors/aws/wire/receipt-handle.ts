import { crc32 } from 'node:zlib';

/** What a receipt handle says: one delivery of one message. Plain data, valid through every node and restart. */
export interface ReceiptHandle {
  readonly channel: string;
  readonly sequence: number;
  readonly attempt: number;
  /** Unix ms the lease ended as it was handed out; extensions are not known to the handle. */
  readonly leaseEndsAt: number;
  /** Length of that lease: at most twelve hours. */
  readonly leaseSeconds: number;
}

const VERSION = 1;
/** version, attempt, sequence, lease end, lease seconds. */
const HEAD_BYTES = 1 + 4 + 8 + 8 + 2;
const CHECKSUM_BYTES = 4;
/** Longest handle text looked at. */
const HANDLE_CHARS_MAX = 2_048;

/*
 * Layout: version u8; attempt u32, sequence f64, lease end f64, lease seconds u16, big-endian; channel (UTF-8); CRC-32 of all before.
 * Text is base64url without padding, as URLs and forms carry it unescaped.
 */
export function encodeReceiptHandle(handle: ReceiptHandle): string {
  const { channel } = handle;
  if (channel !== lastChannel) forChannel(channel);
  const out = scratch;
  out[0] = VERSION;
  out.writeUInt32BE(handle.attempt, 1);
  out.writeDoubleBE(handle.sequence, 5);
  out.writeDoubleBE(handle.leaseEndsAt, 13);
  out.writeUInt16BE(handle.leaseSeconds, 21);
  out.writeUInt32BE(crc32(checked), checked.length);
  return out.toString('base64url');
}

// The handles of one receive, and of most, are for one channel: its name is written once, and no buffer is made for each.
let lastChannel = '';
let scratch: Buffer = Buffer.alloc(HEAD_BYTES + CHECKSUM_BYTES);
/** What the checksum is over. */
let checked: Buffer = scratch.subarray(0, HEAD_BYTES);

function forChannel(channel: string): void {
  const end = HEAD_BYTES + Buffer.byteLength(channel);
  scratch = Buffer.alloc(end + CHECKSUM_BYTES);
  scratch.write(channel, HEAD_BYTES, 'utf8');
  checked = scratch.subarray(0, end);
  lastChannel = channel;
}

/** Undefined when the text is no handle of ours. */
export function decodeReceiptHandle(text: string): ReceiptHandle | undefined {
  if (text.length > HANDLE_CHARS_MAX) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const end = bytes.length - CHECKSUM_BYTES;
  if (end <= HEAD_BYTES || bytes[0] !== VERSION) return undefined;
  if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(0, end))) return undefined;
  // Base64 readers skip what they do not know: the text must be exactly what was handed out.
  if (bytes.toString('base64url') !== text) return undefined;
  return {
    channel: bytes.toString('utf8', HEAD_BYTES, end),
    sequence: bytes.readDoubleBE(5),
    attempt: bytes.readUInt32BE(1),
    leaseEndsAt: bytes.readDoubleBE(13),
    leaseSeconds: bytes.readUInt16BE(21),
  };
}
