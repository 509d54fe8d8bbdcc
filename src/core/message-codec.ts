import type { ByteWriter } from '../base/bytes.js';
import { ByteReader } from '../base/bytes.js';
import type { ChannelName } from './channel-name.js';
import type {
  MessagePolicy,
  NeutralView,
  Origin,
  OutgoingMessage,
  StoredMessage,
  Tags,
  Translator,
} from './message.js';
import { NO_TAGS } from './message.js';

/*
 * A stored message: flags (u8), then what the flags name, in this order, then the body to the end:
 * id (text) or minted id (channel id u32, sequence u64); client id; metadata; tags (count, then key and value texts);
 * policy (delay, expiration, count as varints, queue as text); priority (u8); origin (protocol text, block).
 */
const HAS_ID = 1;
const HAS_CLIENT = 2;
const HAS_METADATA = 4;
const HAS_TAGS = 8;
const HAS_POLICY = 16;
const HAS_PRIORITY = 32;
const HAS_ORIGIN = 64;

/** Where the body of a message begins that has a minted id and nothing else. */
const MINTED_BODY_AT = 13;
const NO_POLICY: MessagePolicy = {};

/** Writes `message`; the id of its first family (of its base) and its sequence there mint an id when it has none. */
export function encodeMessage(
  w: ByteWriter,
  message: OutgoingMessage,
  channelId: number,
  sequence: number,
): void {
  const { id, clientId, metadata, tags, policy, origin } = message;
  const priority = message.priority ?? 0;
  const flags =
    (id === undefined ? 0 : HAS_ID) |
    (clientId === undefined || clientId === '' ? 0 : HAS_CLIENT) |
    (metadata === undefined || metadata === '' ? 0 : HAS_METADATA) |
    (tags === undefined || tags.size === 0 ? 0 : HAS_TAGS) |
    (policy === undefined ? 0 : HAS_POLICY) |
    (priority === 0 ? 0 : HAS_PRIORITY) |
    (origin === undefined ? 0 : HAS_ORIGIN);
  w.u8(flags);
  if (id !== undefined) {
    w.text(id);
  } else {
    w.u32(channelId);
    w.u64(sequence);
  }
  if ((flags & HAS_CLIENT) !== 0) w.text(clientId ?? '');
  if ((flags & HAS_METADATA) !== 0) w.text(metadata ?? '');
  if (tags !== undefined && (flags & HAS_TAGS) !== 0) {
    w.varint(tags.size);
    for (const [key, value] of tags) {
      w.text(key);
      w.text(value);
    }
  }
  if (policy !== undefined) {
    w.varint(policy.delayMs ?? 0);
    w.varint(policy.expirationMs ?? 0);
    w.varint(policy.maxReceiveCount ?? 0);
    w.text(policy.maxReceiveQueue ?? '');
  }
  if (priority !== 0) w.u8(priority);
  if (origin !== undefined) {
    w.text(origin.protocol);
    w.block(origin.bytes);
  }
  w.bytes(message.body);
}

/** What sequences of one channel have in common: all but their lowest 24 bits. */
const LOW_IDS = 0x100_0000;
const HEX_3 = Array.from({ length: 4096 }, (_, value) => value.toString(16).padStart(3, '0'));
let commonChannel = -1;
let commonHigh = -1;
let common = '';

/** The id of a message that was sent without one: a version 8 UUID made of its first family (or log) and sequence. */
export function mintedId(channelId: number, sequence: number): string {
  const high = Math.floor(sequence / LOW_IDS);
  const low = sequence % LOW_IDS;
  if (channelId !== commonChannel || high !== commonHigh) {
    const c = channelId.toString(16).padStart(8, '0');
    const s = high.toString(16).padStart(10, '0');
    common = `${c}-${s.slice(0, 4)}-8${s.slice(4, 7)}-8${s.slice(7)}-000000`;
    commonChannel = channelId;
    commonHigh = high;
  }
  return common + ((HEX_3[low >>> 12] as string) + (HEX_3[low & 0xfff] as string));
}

/** Characters of a minted id, all of them ASCII. */
export const MINTED_ID_CHARS = 36;
const COMMON_CHARS = MINTED_ID_CHARS - 6;
const HEX_BYTES = Buffer.from('0123456789abcdef', 'latin1');
const commonBytes = Buffer.alloc(COMMON_CHARS);
let commonInBytes = '';

/** Writes `mintedId` to `target`, without a text on the way. */
function putMintedId(target: Uint8Array, at: number, channelId: number, sequence: number): void {
  const high = Math.floor(sequence / LOW_IDS);
  if (channelId !== commonChannel || high !== commonHigh) mintedId(channelId, sequence);
  if (common !== commonInBytes) {
    commonBytes.write(common, 'latin1');
    commonInBytes = common;
  }
  for (let i = 0; i < COMMON_CHARS; i++) target[at + i] = commonBytes[i] as number;
  let low = sequence % LOW_IDS;
  for (let i = MINTED_ID_CHARS - 1; i >= COMMON_CHARS; i--) {
    target[at + i] = HEX_BYTES[low & 15] as number;
    low >>>= 4;
  }
}

/** Translators by the protocol name of an origin. */
export type Translators = ReadonlyMap<string, Translator>;

/** Bytes of the body of the message stored in `length` bytes at `at`. Throws RangeError when they end before it. */
export function bodyBytesAt(buffer: Uint8Array, at: number, length: number): number {
  if (buffer[at] === 0 && length >= MINTED_BODY_AT && at + length <= buffer.length)
    return length - MINTED_BODY_AT;
  return new MessageView(new ByteReader(buffer, at).bytes(length), NO_TRANSLATORS).bodyBytes;
}

const NO_TRANSLATORS: Translators = new Map();

/** What few messages have beside id and body. */
interface Parts {
  readonly clientId: string;
  readonly metadata: string;
  readonly tagsAt: number;
  readonly policy: MessagePolicy;
  readonly priority: number;
  readonly origin: Origin | undefined;
}

const NO_PARTS: Parts = {
  clientId: '',
  metadata: '',
  tagsAt: 0,
  policy: NO_POLICY,
  priority: 0,
  origin: undefined,
};

/** A message over its stored bytes; parts are decoded at the first look. Small, because one is made for each delivery. */
export class MessageView implements StoredMessage {
  readonly payload: Uint8Array;
  readonly #translators: Translators;
  /** 0 = not looked into yet. */
  #bodyAt = 0;
  #parts: Parts = NO_PARTS;
  #tags: Tags | undefined;
  #neutral: NeutralView | undefined;

  constructor(payload: Uint8Array, translators: Translators) {
    this.payload = payload;
    this.#translators = translators;
  }

  /** Finds the body; gives the flags. Throws RangeError when the bytes end before it. */
  #parse(): number {
    const flags = this.payload[0] ?? 0;
    if (this.#bodyAt > 0) return flags;
    if (flags === 0 && this.payload.length >= MINTED_BODY_AT) {
      this.#bodyAt = MINTED_BODY_AT;
      return flags;
    }
    const r = new ByteReader(this.payload, 1);
    if (this.payload.length === 0) throw new RangeError('an empty message');
    if ((flags & HAS_ID) !== 0) r.skipBlock();
    else r.skip(MINTED_BODY_AT - 1);
    if ((flags & ~HAS_ID) !== 0) this.#parts = readParts(r, flags);
    this.#bodyAt = r.at;
    return flags;
  }

  #view(): NeutralView | undefined {
    this.#parse();
    const { origin } = this.#parts;
    if (origin === undefined) return undefined;
    this.#neutral ??= this.#translators.get(origin.protocol)?.(origin.bytes) ?? { tags: NO_TAGS };
    return this.#neutral;
  }

  get id(): string {
    const own = (this.#parse() & HAS_ID) !== 0;
    const r = new ByteReader(this.payload, 1);
    return own ? r.text() : (this.#view()?.id ?? mintedId(r.u32(), r.u64()));
  }

  /** Writes the id to `target` when it is a minted one (MINTED_ID_CHARS); false when it is not, and nothing is written. */
  putMintedId(target: Uint8Array, at: number): boolean {
    if (this.hasOwnId) return false;
    const r = new ByteReader(this.payload, 1);
    putMintedId(target, at, r.u32(), r.u64());
    return true;
  }

  get hasOwnId(): boolean {
    return (this.#parse() & HAS_ID) !== 0 || this.#view()?.id !== undefined;
  }

  get clientId(): string {
    this.#parse();
    return this.#parts.clientId;
  }

  get metadata(): string {
    const flags = this.#parse();
    if ((flags & HAS_METADATA) !== 0) return this.#parts.metadata;
    return this.#view()?.metadata ?? '';
  }

  get tags(): Tags {
    if (this.#tags !== undefined) return this.#tags;
    const flags = this.#parse();
    const derived = this.#view()?.tags;
    if ((flags & HAS_TAGS) === 0) return (this.#tags = derived ?? NO_TAGS);
    const tags = new Map(derived);
    const r = new ByteReader(this.payload, this.#parts.tagsAt);
    for (let left = r.varint(); left > 0; left--) {
      const key = r.text();
      tags.set(key, r.text());
    }
    return (this.#tags = tags);
  }

  get body(): Uint8Array {
    this.#parse();
    return this.payload.subarray(this.#bodyAt);
  }

  /** Bytes of the body, without making a view of it. */
  get bodyBytes(): number {
    this.#parse();
    return this.payload.length - this.#bodyAt;
  }

  get policy(): MessagePolicy {
    this.#parse();
    return this.#parts.policy;
  }

  get priority(): number {
    this.#parse();
    return this.#parts.priority;
  }

  get origin(): Origin | undefined {
    this.#parse();
    return this.#parts.origin;
  }
}

let knownClient = '';
let knownClientBytes = new Uint8Array(0);
const KNOWN_CLIENT_BYTES_MAX = 256;

/** Messages in a row mostly have one sender: bytes like the ones before give the text made of those. */
function readClientId(r: ByteReader): string {
  const start = r.at;
  const size = r.varint();
  const from = r.at;
  if (size === knownClientBytes.length && from + size <= r.end) {
    let i = 0;
    while (i < size && r.buffer[from + i] === knownClientBytes[i]) i++;
    if (i === size) {
      r.at = from + size;
      return knownClient;
    }
  }
  r.at = start;
  const clientId = r.text();
  if (size <= KNOWN_CLIENT_BYTES_MAX) {
    knownClient = clientId;
    knownClientBytes = new Uint8Array(r.buffer.subarray(from, from + size));
  }
  return clientId;
}

function readParts(r: ByteReader, flags: number): Parts {
  const clientId = (flags & HAS_CLIENT) !== 0 ? readClientId(r) : '';
  const metadata = (flags & HAS_METADATA) !== 0 ? r.text() : '';
  const tagsAt = r.at;
  if ((flags & HAS_TAGS) !== 0) for (let left = r.varint() * 2; left > 0; left--) r.skipBlock();
  const policy = (flags & HAS_POLICY) !== 0 ? readPolicy(r) : NO_POLICY;
  const priority = (flags & HAS_PRIORITY) !== 0 ? r.u8() : 0;
  const origin = (flags & HAS_ORIGIN) !== 0 ? { protocol: r.text(), bytes: r.block() } : undefined;
  return { clientId, metadata, tagsAt, policy, priority, origin };
}

function readPolicy(r: ByteReader): MessagePolicy {
  const delayMs = r.varint();
  const expirationMs = r.varint();
  const maxReceiveCount = r.varint();
  const maxReceiveQueue = r.text();
  return {
    ...(delayMs > 0 && { delayMs }),
    ...(expirationMs > 0 && { expirationMs }),
    ...(maxReceiveCount > 0 && { maxReceiveCount }),
    ...(maxReceiveQueue !== '' && { maxReceiveQueue: maxReceiveQueue as ChannelName }),
  };
}
