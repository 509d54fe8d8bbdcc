import type { NeutralView } from '../../../core/message.js';
import { NO_TAGS } from '../../../core/message.js';
import { decodeAttributes } from '../wire/message-attributes.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { decodeOrigin } from '../wire/origin.js';
import { fromBase64 } from '../wire/text.js';

export const ATTRIBUTE_TAG = 'sqs_attr_';

/** Tags of the connector's own that are no attributes. */
export const SYSTEM_TAGS = {
  messageId: 'sqs_message_id',
  senderId: 'sqs_sender_id',
  groupId: 'sqs_group_id',
  dedupId: 'sqs_dedup_id',
  traceHeader: 'sqs_trace_header',
  topicArn: 'sns_topic_arn',
  subject: 'sns_subject',
} as const;

const SYSTEM_TAG_NAMES: ReadonlySet<string> = new Set(Object.values(SYSTEM_TAGS));

export function isSystemTag(name: string): boolean {
  return SYSTEM_TAG_NAMES.has(name);
}

/** How other protocols see a message that came by SQS or SNS: `sqs_attr_{Name}` = `{DataType}|{value}` and the system tags. */
export function sqsNeutralView(bytes: Uint8Array): NeutralView {
  const origin = decodeOrigin(bytes);
  if (origin === undefined) return { tags: NO_TAGS };
  const tags = new Map<string, string>();
  tags.set(SYSTEM_TAGS.messageId, origin.messageId);
  tags.set(SYSTEM_TAGS.senderId, origin.senderId);
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined) tags.set(name, value);
  };
  set(SYSTEM_TAGS.groupId, origin.groupId);
  set(SYSTEM_TAGS.dedupId, origin.dedupId);
  set(SYSTEM_TAGS.traceHeader, origin.traceHeader);
  set(SYSTEM_TAGS.topicArn, origin.topicArn);
  set(SYSTEM_TAGS.subject, origin.subject);
  if (origin.attributes !== undefined) {
    for (const attribute of decodeAttributes(origin.attributes)) {
      tags.set(ATTRIBUTE_TAG + attribute.name, attributeTag(attribute));
    }
  }
  return { id: origin.messageId, tags };
}

function attributeTag({ dataType, value }: MessageAttribute): string {
  return `${dataType}|${typeof value === 'string' ? value : Buffer.from(value).toString('base64')}`;
}

/** Reads an attribute tag back; undefined when it is not of that form. */
export function attributeOfTag(name: string, tag: string): MessageAttribute | undefined {
  const bar = tag.indexOf('|');
  if (bar <= 0) return undefined;
  const dataType = tag.slice(0, bar);
  const text = tag.slice(bar + 1);
  if (!/^(String|Number|Binary)(\..+)?$/.test(dataType)) return undefined;
  if (!dataType.startsWith('Binary')) return { name, dataType, value: text };
  const bytes = fromBase64(text);
  return bytes === undefined ? undefined : { name, dataType, value: bytes };
}
