import { isUtf8 } from 'node:buffer';
import type { StoredMessage, Tags } from '../../../core/message.js';
import { md5Hex } from '../wire/md5.js';
import { decodeAttributes } from '../wire/message-attributes.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { decodeOrigin } from '../wire/origin.js';
import type { SqsOrigin } from '../wire/origin.js';
import { isLegalText } from '../wire/text.js';
import { ATTRIBUTES_MAX, isAttributeName } from './message-attributes.js';
import { ATTRIBUTE_TAG, attributeOfTag, isSystemTag, SYSTEM_TAGS } from './message-tags.js';

/** Says that a body of another protocol was no legal text and is base64. */
export const ENCODING_ATTRIBUTE: MessageAttribute = {
  name: 'polymq.encoding',
  dataType: 'String',
  value: 'base64',
};

/** A message as SQS shows it, whoever sent it. */
export interface SqsView {
  readonly messageId: string;
  readonly body: string;
  /** The body when it needs no escaping in JSON. */
  readonly plainBody: Uint8Array | undefined;
  readonly bodyMd5: string;
  /** Unix ms; undefined: the time it entered the queue. */
  readonly sentAt: number | undefined;
  readonly senderId: string | undefined;
  readonly groupId: string | undefined;
  readonly dedupId: string | undefined;
  readonly traceHeader: string | undefined;
  /** Undefined when there are none. */
  readonly attributes: (() => readonly MessageAttribute[]) | undefined;
  /** MD5 of all attributes together, when it is known. */
  readonly attributesMd5: string | undefined;
}

/** Reads a message: its own origin bytes as they are, others through their tags. */
export function sqsViewOf(message: StoredMessage): SqsView {
  const own = message.origin?.protocol === 'aws' ? decodeOrigin(message.origin.bytes) : undefined;
  if (own === undefined) return foreignView(message);
  return new OwnView(own, message);
}

/** A message that came by SQS or SNS. Its body becomes a string only where one is wanted. */
class OwnView implements SqsView {
  readonly messageId: string;
  readonly bodyMd5: string;
  readonly sentAt: number;
  readonly senderId: string;
  readonly groupId: string | undefined;
  readonly dedupId: string | undefined;
  readonly traceHeader: string | undefined;
  readonly attributesMd5: string | undefined;
  readonly plainBody: Uint8Array | undefined;
  readonly #message: StoredMessage;
  readonly #attributes: Buffer | undefined;

  constructor(own: SqsOrigin, message: StoredMessage) {
    this.messageId = own.messageId;
    this.bodyMd5 = own.bodyMd5;
    this.sentAt = own.sentAt;
    this.senderId = own.senderId;
    this.groupId = own.groupId;
    this.dedupId = own.dedupId;
    this.traceHeader = own.traceHeader;
    this.attributesMd5 = own.attributesMd5;
    this.plainBody = own.plainBody === true ? message.body : undefined;
    this.#message = message;
    this.#attributes = own.attributes;
  }

  get body(): string {
    return this.plainBody === undefined ? textOf(this.#message.body) : asciiOf(this.plainBody);
  }

  get attributes(): (() => readonly MessageAttribute[]) | undefined {
    const bytes = this.#attributes;
    return bytes === undefined ? undefined : () => decodeAttributes(bytes);
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function asciiOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function foreignView(message: StoredMessage): SqsView {
  const { tags } = message;
  const text = isUtf8(message.body) ? textOf(message.body) : undefined;
  const legal = text !== undefined && isLegalText(text);
  const body = legal ? text : Buffer.from(message.body).toString('base64');
  const attributes = foreignAttributes(tags, !legal);
  return {
    messageId: tags.get(SYSTEM_TAGS.messageId) ?? message.id,
    body,
    plainBody: undefined,
    bodyMd5: md5Hex(body),
    sentAt: undefined,
    senderId: tags.get(SYSTEM_TAGS.senderId),
    groupId: tags.get(SYSTEM_TAGS.groupId),
    dedupId: tags.get(SYSTEM_TAGS.dedupId),
    traceHeader: tags.get(SYSTEM_TAGS.traceHeader),
    attributes: attributes.length === 0 ? undefined : () => attributes,
    attributesMd5: undefined,
  };
}

/**
 * Tags as attributes: `sqs_attr_*` ones with their type, others whose names are legal as Strings (as Binary when the
 * value is no legal text), the first ten by name. The encoding of the body comes before all.
 */
function foreignAttributes(tags: Tags, encoded: boolean): readonly MessageAttribute[] {
  const found = new Map<string, MessageAttribute>();
  for (const [tag, value] of tags) {
    const typed = tag.startsWith(ATTRIBUTE_TAG)
      ? attributeOfTag(tag.slice(ATTRIBUTE_TAG.length), value)
      : undefined;
    const attribute = typed ?? plainAttribute(tag, value);
    if (!isAttributeName(attribute.name) || isSystemTag(tag)) continue;
    if (typed !== undefined || !found.has(attribute.name)) found.set(attribute.name, attribute);
  }
  if (encoded) found.delete(ENCODING_ATTRIBUTE.name);
  const sorted = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return encoded ? [ENCODING_ATTRIBUTE, ...sorted].slice(0, ATTRIBUTES_MAX) : sorted.slice(0, ATTRIBUTES_MAX);
}

function plainAttribute(name: string, value: string): MessageAttribute {
  return isLegalText(value)
    ? { name, dataType: 'String', value }
    : { name, dataType: 'Binary', value: Buffer.from(value, 'utf8') };
}
