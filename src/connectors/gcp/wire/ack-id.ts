/**
 * Ack ids: base64url of `checksum u32 | sequence u48 | attempt u32 | flags u8 | suffix`, where the suffix is what follows
 * the subscription's own channel name in the channel of the delivery (empty for messages without ordering key). 20
 * characters without suffix; below 200 with any suffix the connector itself makes. The checksum is over the rest, from a
 * seed of the subscription, so that a mistyped id, or one of another or a former subscription, is recognised.
 */

/** What an ack id says: which delivery of which message. */
export interface AckToken {
  readonly suffix: string;
  readonly sequence: number;
  readonly attempt: number;
}

const HEAD_BYTES = 15;
const HEAD_CHARS = 20;
const FLAG_SUFFIX = 1;
/** Longer ids are refused unread: no delivery has a channel name that long. */
const ACK_ID_CHARS_MAX = 2048;
const TWO_32 = 0x1_0000_0000;

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', 'latin1');
const NO_DIGIT = 0xff;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
ALPHABET.forEach((char, digit) => (DIGITS[char] = digit));

const scratch = Buffer.alloc(HEAD_BYTES);

/** FNV-1a over the text's UTF-8 bytes. */
export function ackIdSeed(text: string): number {
  const bytes = Buffer.from(text);
  return fnv(0x811c9dc5, bytes, 0, bytes.length);
}

/** Characters of the ack id of a delivery. */
export function ackIdLength(suffix: string): number {
  return suffix === '' ? HEAD_CHARS : HEAD_CHARS + Math.ceil((Buffer.byteLength(suffix) * 4) / 3);
}

/** Writes an ack id as text; returns the place behind it. `out` has `ackIdLength(suffix)` bytes of room. */
export function writeAckId(out: Uint8Array, at: number, seed: number, token: AckToken): number {
  const head = scratch;
  const { sequence, attempt } = token;
  const high = Math.floor(sequence / TWO_32);
  head[4] = high >>> 8;
  head[5] = high;
  head[6] = sequence >>> 24;
  head[7] = sequence >>> 16;
  head[8] = sequence >>> 8;
  head[9] = sequence;
  head[10] = attempt >>> 24;
  head[11] = attempt >>> 16;
  head[12] = attempt >>> 8;
  head[13] = attempt;
  head[14] = token.suffix === '' ? 0 : FLAG_SUFFIX;
  let checksum = fnv(seed, head, 4, HEAD_BYTES);
  const suffix = token.suffix === '' ? undefined : Buffer.from(token.suffix);
  if (suffix !== undefined) checksum = fnv(checksum, suffix, 0, suffix.length);
  head[0] = checksum >>> 24;
  head[1] = checksum >>> 16;
  head[2] = checksum >>> 8;
  head[3] = checksum;
  const behind = writeBase64Url(out, at, head);
  return suffix === undefined ? behind : writeBase64Url(out, behind, suffix);
}

/** The ack id of a delivery as text, for everything that is not a hot path. */
export function ackId(seed: number, token: AckToken): string {
  const out = Buffer.alloc(ackIdLength(token.suffix));
  writeAckId(out, 0, seed, token);
  return out.toString('latin1');
}

/** Reads an ack id from its text bytes, or undefined when it is none of this subscription. */
export function readAckId(bytes: Uint8Array, start: number, end: number, seed: number): AckToken | undefined {
  const length = end - start;
  if (length < HEAD_CHARS || length > ACK_ID_CHARS_MAX) return undefined;
  const head = scratch;
  if (!readBase64Url(bytes, start, start + HEAD_CHARS, head)) return undefined;
  const hasSuffix = head[14] === FLAG_SUFFIX;
  if (head[14] !== 0 && !hasSuffix) return undefined;
  if (hasSuffix !== length > HEAD_CHARS) return undefined;
  let checksum = fnv(seed, head, 4, HEAD_BYTES);
  let suffix = '';
  if (hasSuffix) {
    const chars = length - HEAD_CHARS;
    if (chars % 4 === 1) return undefined;
    const raw = Buffer.alloc(Math.floor((chars * 3) / 4));
    if (!readBase64Url(bytes, start + HEAD_CHARS, end, raw)) return undefined;
    checksum = fnv(checksum, raw, 0, raw.length);
    suffix = raw.toString();
  }
  if (head.readUInt32BE(0) !== checksum) return undefined;
  return {
    suffix,
    sequence: head.readUInt16BE(4) * TWO_32 + head.readUInt32BE(6),
    attempt: head.readUInt32BE(10),
  };
}

function fnv(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash >>> 0;
}

function writeBase64Url(out: Uint8Array, start: number, bytes: Uint8Array): number {
  let at = start;
  let from = 0;
  const whole = bytes.length - (bytes.length % 3);
  for (; from < whole; from += 3) {
    const group =
      ((bytes[from] as number) << 16) | ((bytes[from + 1] as number) << 8) | (bytes[from + 2] as number);
    out[at++] = ALPHABET[group >>> 18] as number;
    out[at++] = ALPHABET[(group >>> 12) & 63] as number;
    out[at++] = ALPHABET[(group >>> 6) & 63] as number;
    out[at++] = ALPHABET[group & 63] as number;
  }
  const left = bytes.length - whole;
  if (left === 0) return at;
  const group = ((bytes[from] as number) << 16) | (left === 2 ? (bytes[from + 1] as number) << 8 : 0);
  out[at++] = ALPHABET[group >>> 18] as number;
  out[at++] = ALPHABET[(group >>> 12) & 63] as number;
  if (left === 2) out[at++] = ALPHABET[(group >>> 6) & 63] as number;
  return at;
}

/** Fills `out` from the characters; false when one of them is no base64url digit or a spare bit is set. */
function readBase64Url(bytes: Uint8Array, start: number, end: number, out: Uint8Array): boolean {
  let bits = 0;
  let count = 0;
  let to = 0;
  for (let at = start; at < end; at++) {
    const digit = DIGITS[bytes[at] as number] as number;
    if (digit === NO_DIGIT) return false;
    bits = ((bits << 6) | digit) & 0xffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out[to++] = bits >>> count;
    }
  }
  return (bits & ((1 << count) - 1)) === 0;
}
