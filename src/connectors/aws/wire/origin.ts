/**
 * What a message carries of its SQS side: the origin bytes stored with it. SQS reads them back as they are; other
 * protocols see the tags `sqs/message-tags.ts` derives from them.
 */
export interface SqsOrigin {
  /** The MessageId SQS clients see: a UUID. */
  readonly messageId: string;
  readonly bodyMd5: string;
  /** The body is ASCII without controls, quotes and backslashes: JSON takes it as it is. Absent: not known. */
  readonly plainBody?: boolean;
  /** Unix ms the sender's request came; kept through dead-letter queues. */
  readonly sentAt: number;
  /** ASCII. */
  readonly senderId: string;
  readonly groupId: string | undefined;
  readonly dedupId: string | undefined;
  readonly traceHeader: string | undefined;
  /** Set on what SNS delivered raw. */
  readonly topicArn: string | undefined;
  readonly subject: string | undefined;
  /** Message attributes in canonical form, and their MD5. */
  readonly attributes: Buffer | undefined;
  readonly attributesMd5: string | undefined;
}

const VERSION = 1;
const HAS_GROUP = 1;
const HAS_DEDUP = 2;
const HAS_TRACE = 4;
const HAS_TOPIC = 8;
const HAS_SUBJECT = 16;
const HAS_ATTRIBUTES = 32;
const PLAIN_BODY = 64;

const UUID_CHARS = 36;
const MD5_CHARS = 32;
/** Milliseconds of every date until 2286. */
const TIME_CHARS = 13;
const TIME_AT = 2;
const ID_AT = TIME_AT + TIME_CHARS;
const MD5_AT = ID_AT + UUID_CHARS;
const FIXED_BYTES = MD5_AT + MD5_CHARS;

/*
 * Layout: version u8; flags u8; sent time (decimal digits), message id, body MD5, all ASCII; sender, then what the flags
 * name, each u16 big-endian length + UTF-8; last the attributes' MD5 and their canonical form to the end.
 */
export function encodeOrigin(origin: SqsOrigin): Buffer {
  const { groupId, dedupId, traceHeader, topicArn, subject, attributes } = origin;
  const flags =
    (groupId === undefined ? 0 : HAS_GROUP) |
    (dedupId === undefined ? 0 : HAS_DEDUP) |
    (traceHeader === undefined ? 0 : HAS_TRACE) |
    (topicArn === undefined ? 0 : HAS_TOPIC) |
    (subject === undefined ? 0 : HAS_SUBJECT) |
    (attributes === undefined ? 0 : HAS_ATTRIBUTES);
  const marks = flags | (origin.plainBody === true ? PLAIN_BODY : 0);
  // Everything up to the sender is ASCII, so one string conversion writes it: the whole of a plain message.
  const { senderId } = origin;
  const head =
    String.fromCharCode(VERSION, marks) +
    String(origin.sentAt).padStart(TIME_CHARS, '0') +
    origin.messageId +
    origin.bodyMd5 +
    String.fromCharCode(senderId.length >>> 8, senderId.length & 0xff) +
    senderId;
  if (flags === 0) return Buffer.from(head, 'latin1');
  const size =
    head.length +
    textSize(groupId) +
    textSize(dedupId) +
    textSize(traceHeader) +
    textSize(topicArn) +
    textSize(subject) +
    (attributes === undefined ? 0 : MD5_CHARS + attributes.length);
  const out = Buffer.allocUnsafe(size);
  let at = out.write(head, 'latin1');
  at = writeText(out, at, groupId);
  at = writeText(out, at, dedupId);
  at = writeText(out, at, traceHeader);
  at = writeText(out, at, topicArn);
  at = writeText(out, at, subject);
  if (attributes !== undefined) {
    out.write(origin.attributesMd5 ?? '', at, MD5_CHARS, 'latin1');
    out.set(attributes, at + MD5_CHARS);
  }
  return out;
}

function textSize(text: string | undefined): number {
  return text === undefined ? 0 : 2 + Buffer.byteLength(text);
}

function writeText(out: Buffer, at: number, text: string | undefined): number {
  if (text === undefined) return at;
  const size = out.write(text, at + 2, 'utf8');
  out.writeUInt16BE(size, at);
  return at + 2 + size;
}

/** Reads `encodeOrigin` back; undefined for bytes of another version. Throws RangeError when they are cut. */
export function decodeOrigin(bytes: Uint8Array): SqsOrigin | undefined {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < FIXED_BYTES || buffer[0] !== VERSION) return undefined;
  const flags = buffer[1] ?? 0;
  let at = FIXED_BYTES;
  const text = (): string => {
    const size = buffer.readUInt16BE(at);
    const start = at + 2;
    at = start + size;
    if (at > buffer.length) throw new RangeError('origin cut short');
    return buffer.toString('utf8', start, at);
  };
  const senderId = text();
  const groupId = (flags & HAS_GROUP) === 0 ? undefined : text();
  const dedupId = (flags & HAS_DEDUP) === 0 ? undefined : text();
  const traceHeader = (flags & HAS_TRACE) === 0 ? undefined : text();
  const topicArn = (flags & HAS_TOPIC) === 0 ? undefined : text();
  const subject = (flags & HAS_SUBJECT) === 0 ? undefined : text();
  const hasAttributes = (flags & HAS_ATTRIBUTES) !== 0;
  // One conversion, whose parts are cut out of it without a copy.
  const fixed = buffer.toString('latin1', TIME_AT, FIXED_BYTES);
  return {
    messageId: fixed.slice(ID_AT - TIME_AT, MD5_AT - TIME_AT),
    bodyMd5: fixed.slice(MD5_AT - TIME_AT),
    plainBody: (flags & PLAIN_BODY) !== 0,
    sentAt: Number(fixed.slice(0, TIME_CHARS)),
    senderId,
    groupId,
    dedupId,
    traceHeader,
    topicArn,
    subject,
    attributes: hasAttributes ? buffer.subarray(at + MD5_CHARS) : undefined,
    attributesMd5: hasAttributes ? buffer.toString('latin1', at, at + MD5_CHARS) : undefined,
  };
}
