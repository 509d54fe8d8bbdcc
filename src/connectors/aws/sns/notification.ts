import type { MessageAttribute } from '../wire/message-attributes.js';

/** What an enveloped delivery says. */
export interface Notification {
  readonly messageId: string;
  readonly topicArn: string;
  readonly subject: string | undefined;
  readonly message: string;
  /** Unix ms. */
  readonly timestamp: number;
  readonly unsubscribeUrl: string;
  readonly attributes: readonly MessageAttribute[];
}

/** The `Notification` document in AWS's order and layout; what is not set is absent. */
export function notificationText(notification: Notification): string {
  const { messageId, topicArn, subject, message, timestamp, unsubscribeUrl, attributes } = notification;
  const lines = [field('Type', 'Notification'), field('MessageId', messageId), field('TopicArn', topicArn)];
  if (subject !== undefined) lines.push(field('Subject', subject));
  lines.push(
    field('Message', message),
    field('Timestamp', new Date(timestamp).toISOString()),
    field('UnsubscribeURL', unsubscribeUrl),
  );
  if (attributes.length > 0) {
    const entries = attributes.map(
      (attribute) => `    ${JSON.stringify(attribute.name)} : ${attributeText(attribute)}`,
    );
    lines.push(`  "MessageAttributes" : {\n${entries.join(',\n')}\n  }`);
  }
  return `{\n${lines.join(',\n')}\n}`;
}

function field(name: string, value: string): string {
  return `  "${name}" : ${JSON.stringify(value)}`;
}

function attributeText({ dataType, value }: MessageAttribute): string {
  const text = typeof value === 'string' ? value : Buffer.from(value).toString('base64');
  return JSON.stringify({ Type: dataType, Value: text });
}
