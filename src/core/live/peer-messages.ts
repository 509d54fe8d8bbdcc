import { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { ChannelName } from '../channel-name.js';
import { NO_TAGS, type Tags } from '../message.js';
import type { LiveKind, LiveMessage, LiveReply, LiveRequest } from './types.js';

/** How many subscribers a node has of a pattern and group. */
export interface InterestCount {
  readonly kind: LiveKind;
  readonly pattern: string;
  readonly group: string;
  readonly count: number;
}

/** What nodes tell each other. `isAll`: forget what was told before. */
export type PeerMessage =
  | { readonly type: 'interests'; readonly isAll: boolean; readonly counts: readonly InterestCount[] }
  | {
      readonly type: 'message';
      readonly kind: LiveKind;
      readonly message: LiveMessage | LiveRequest;
      /** Patterns and groups of which one member each is to get it. */
      readonly groups: readonly (readonly [pattern: string, group: string])[];
    }
  | { readonly type: 'reply'; readonly replyTo: string; readonly reply: LiveReply };

const KINDS: readonly LiveKind[] = ['events', 'commands', 'queries'];
const TYPES = { interests: 1, message: 2, reply: 3 } as const;

export function encodePeerMessage(told: PeerMessage): Uint8Array {
  const w = new ByteWriter(256);
  w.u8(TYPES[told.type]);
  switch (told.type) {
    case 'interests':
      w.u8(told.isAll ? 1 : 0);
      w.varint(told.counts.length);
      for (const { kind, pattern, group, count } of told.counts) {
        w.u8(KINDS.indexOf(kind));
        w.text(pattern);
        w.text(group);
        w.varint(count);
      }
      break;
    case 'message':
      w.varint(told.groups.length);
      for (const [pattern, group] of told.groups) {
        w.text(pattern);
        w.text(group);
      }
      writeMessage(w, told.kind, told.message);
      break;
    case 'reply':
      w.text(told.replyTo);
      writeReply(w, told.reply);
  }
  return w.buffer.subarray(0, w.length);
}

/** Throws RangeError for bytes that are no such message. */
export function decodePeerMessage(bytes: Uint8Array): PeerMessage {
  const r = new ByteReader(bytes);
  switch (r.u8()) {
    case TYPES.interests: {
      const isAll = r.u8() === 1;
      const counts = listOf(r, () => ({
        kind: readKind(r),
        pattern: r.text(),
        group: r.text(),
        count: r.varint(),
      }));
      return { type: 'interests', isAll, counts };
    }
    case TYPES.message: {
      const groups = listOf(r, () => [r.text(), r.text()] as const);
      const kind = readKind(r);
      return { type: 'message', groups, kind, message: readMessage(r, kind) };
    }
    case TYPES.reply:
      return { type: 'reply', replyTo: r.text(), reply: readReply(r) };
    default:
      throw new RangeError('unknown peer message');
  }
}

function writeMessage(w: ByteWriter, kind: LiveKind, message: LiveMessage | LiveRequest): void {
  w.u8(KINDS.indexOf(kind));
  w.text(message.id);
  w.text(message.clientId);
  w.text(message.channel);
  w.text(message.metadata);
  writeTags(w, message.tags);
  w.block(message.body);
  w.u64(message.sentAt);
  if (!('replyTo' in message)) return;
  w.text(message.replyTo);
  w.varint(message.timeoutMs);
  w.text(message.cache?.key ?? '');
  w.varint(message.cache?.ttlMs ?? 0);
  w.block(message.trace);
}

function readMessage(r: ByteReader, kind: LiveKind): LiveMessage | LiveRequest {
  const message: LiveMessage = {
    id: r.text(),
    clientId: r.text(),
    channel: r.text() as ChannelName,
    metadata: r.text(),
    tags: readTags(r),
    body: r.block(),
    sentAt: r.u64(),
  };
  if (kind === 'events') return message;
  const replyTo = r.text();
  const timeoutMs = r.varint();
  const key = r.text();
  const ttlMs = r.varint();
  const cache = ttlMs === 0 ? undefined : { key, ttlMs };
  return { ...message, kind, replyTo, timeoutMs, cache, trace: r.block() };
}

function writeReply(w: ByteWriter, reply: LiveReply): void {
  w.text(reply.clientId);
  w.text(reply.metadata);
  writeTags(w, reply.tags);
  w.block(reply.body);
  w.u8((reply.executed ? 1 : 0) | (reply.isCached ? 2 : 0));
  w.text(reply.error);
  w.text(reply.stamp.toString());
  w.block(reply.trace);
}

function readReply(r: ByteReader): LiveReply {
  const clientId = r.text();
  const metadata = r.text();
  const tags = readTags(r);
  const body = r.block();
  const flags = r.u8();
  const error = r.text();
  const stamp = BigInt(r.text());
  const trace = r.block();
  return {
    clientId,
    metadata,
    tags,
    body,
    executed: (flags & 1) !== 0,
    isCached: (flags & 2) !== 0,
    error,
    stamp,
    trace,
  };
}

function writeTags(w: ByteWriter, tags: Tags): void {
  w.varint(tags.size);
  for (const [key, value] of tags) {
    w.text(key);
    w.text(value);
  }
}

function readTags(r: ByteReader): Tags {
  const entries = listOf(r, () => [r.text(), r.text()] as const);
  return entries.length === 0 ? NO_TAGS : new Map(entries);
}

function listOf<T>(r: ByteReader, read: () => T): T[] {
  const list: T[] = [];
  for (let left = r.varint(); left > 0; left--) list.push(read());
  return list;
}

function readKind(r: ByteReader): LiveKind {
  const kind = KINDS[r.u8()];
  if (kind === undefined) throw new RangeError('unknown kind');
  return kind;
}
