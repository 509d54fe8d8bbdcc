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

/** Writes `message`; `channelId` and `sequence` of its first place mint an id when it has none. */
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

/** The id of a message that was sent without one: a version 8 UUID made of its first channel and sequence. */
export function mintedId(channelId: number, sequence: number): string {
  const c = channelId.toString(16).padStart(8, '0');
  const s = sequence.toString(16).padStart(16, '0');
  return `${c}-${s.slice(0, 4)}-8${s.slice(4, 7)}-8${s.slice(7, 10)}-000000${s.slice(10)}`;
}

/** Translators by the protocol name of an origin. */
export type Translators = ReadonlyMap<string, Translator>;

/** A message over its stored bytes; parts are decoded at the first look. */
export class MessageView implements StoredMessage {
  readonly payload: Uint8Array;
  readonly #translators: Translators;
  #flags = -1;
  #id = '';
  #clientId = '';
  #metadata = '';
  #tags: Tags | undefined;
  #tagsAt = 0;
  #policy: MessagePolicy = NO_POLICY;
  #priority = 0;
  #origin: Origin | undefined;
  #bodyAt = 0;
  #neutral: NeutralView | undefined;

  constructor(payload: Uint8Array, translators: Translators) {
    this.payload = payload;
    this.#translators = translators;
  }

  #parse(): number {
    if (this.#flags >= 0) return this.#flags;
    const r = new ByteReader(this.payload);
    const flags = r.u8();
    this.#id = (flags & HAS_ID) !== 0 ? r.text() : mintedId(r.u32(), r.u64());
    if ((flags & HAS_CLIENT) !== 0) this.#clientId = r.text();
    if ((flags & HAS_METADATA) !== 0) this.#metadata = r.text();
    if ((flags & HAS_TAGS) !== 0) {
      this.#tagsAt = r.at;
      for (let left = r.varint() * 2; left > 0; left--) r.skipBlock();
    }
    if ((flags & HAS_POLICY) !== 0) this.#policy = readPolicy(r);
    if ((flags & HAS_PRIORITY) !== 0) this.#priority = r.u8();
    if ((flags & HAS_ORIGIN) !== 0) this.#origin = { protocol: r.text(), bytes: r.block() };
    this.#bodyAt = r.at;
    this.#flags = flags;
    return flags;
  }

  #view(): NeutralView | undefined {
    this.#parse();
    if (this.#origin === undefined) return undefined;
    this.#neutral ??= this.#translators.get(this.#origin.protocol)?.(this.#origin.bytes) ?? { tags: NO_TAGS };
    return this.#neutral;
  }

  get id(): string {
    const flags = this.#parse();
    if ((flags & HAS_ID) !== 0) return this.#id;
    return this.#view()?.id ?? this.#id;
  }

  get hasOwnId(): boolean {
    return (this.#parse() & HAS_ID) !== 0 || this.#view()?.id !== undefined;
  }

  get clientId(): string {
    this.#parse();
    return this.#clientId;
  }

  get metadata(): string {
    const flags = this.#parse();
    if ((flags & HAS_METADATA) !== 0) return this.#metadata;
    return this.#view()?.metadata ?? '';
  }

  get tags(): Tags {
    if (this.#tags !== undefined) return this.#tags;
    const flags = this.#parse();
    const derived = this.#view()?.tags;
    if ((flags & HAS_TAGS) === 0) return (this.#tags = derived ?? NO_TAGS);
    const tags = new Map(derived);
    const r = new ByteReader(this.payload, this.#tagsAt);
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

  get policy(): MessagePolicy {
    this.#parse();
    return this.#policy;
  }

  get priority(): number {
    this.#parse();
    return this.#priority;
  }

  get origin(): Origin | undefined {
    this.#parse();
    return this.#origin;
  }
}

const NO_POLICY: MessagePolicy = {};

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
