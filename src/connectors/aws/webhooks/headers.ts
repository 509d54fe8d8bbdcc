import type { MessageAttribute } from '../wire/message-attributes.js';

export type MessageType = 'Notification' | 'SubscriptionConfirmation' | 'UnsubscribeConfirmation';

/** Attributes go into headers of raw deliveries as long as they fit: servers refuse larger heads. */
const ATTRIBUTE_HEADER_BYTES_MAX = 8 * 1024;
const USER_AGENT = 'Amazon Simple Notification Service Agent';
const DEFAULT_CONTENT_TYPE = 'text/plain; charset=UTF-8';

/** Headers every POST has. */
export function postHeaders(head: {
  readonly type: MessageType;
  readonly messageId: string;
  readonly topicArn: string;
  /** Not with SubscriptionConfirmation. */
  readonly subscriptionArn: string | undefined;
  readonly contentType: string | undefined;
  readonly raw: boolean;
}): Record<string, string> {
  return {
    'x-amz-sns-message-type': head.type,
    'x-amz-sns-message-id': head.messageId,
    'x-amz-sns-topic-arn': head.topicArn,
    ...(head.subscriptionArn !== undefined && { 'x-amz-sns-subscription-arn': head.subscriptionArn }),
    ...(head.raw && { 'x-amz-sns-rawdelivery': 'true' }),
    'Content-Type': head.contentType ?? DEFAULT_CONTENT_TYPE,
    'User-Agent': USER_AGENT,
    'Accept-Encoding': 'gzip,deflate',
  };
}

/**
 * The attributes of a raw delivery as `x-amz-sns-attr-{name}`. Binary values are base64; characters a header cannot hold
 * are percent-encoded UTF-8. What comes after 8 KiB is left out.
 */
export function attributeHeaders(attributes: readonly MessageAttribute[]): Record<string, string> {
  const out: Record<string, string> = {};
  let bytes = 0;
  for (const { name, value } of attributes) {
    const header = `x-amz-sns-attr-${name}`;
    const text = typeof value === 'string' ? printable(value) : Buffer.from(value).toString('base64');
    bytes += header.length + text.length;
    if (bytes > ATTRIBUTE_HEADER_BYTES_MAX) break;
    out[header] = text;
  }
  return out;
}

// A lone surrogate is U+FFFD in UTF-8.
function printable(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    out +=
      byte > 0x20 && byte < 0x7f
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}
