import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { ChannelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import type { OutgoingMessage, StoredMessage } from '../../core/message.js';

/** A message as the API shows it. `bodyEncoding` is `base64` when the body is no text. */
export interface MessageJson {
  readonly id: string;
  readonly clientId: string;
  readonly metadata: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bodyEncoding: 'text' | 'base64';
  readonly bytes: number;
}

export function messageJson(
  message: Pick<StoredMessage, 'id' | 'clientId' | 'metadata' | 'tags' | 'body'>,
): MessageJson {
  const { id, clientId, metadata, tags, body } = message;
  const isText = isUtf8(body);
  return {
    id,
    clientId,
    metadata,
    tags: Object.fromEntries(tags),
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(isText ? 'utf8' : 'base64'),
    bodyEncoding: isText ? 'text' : 'base64',
    bytes: body.byteLength,
  };
}

/** Messages of one request. */
export const MESSAGES_PER_REQUEST_MAX = 1000;

const newMessage = z.strictObject({
  body: z.string(),
  bodyEncoding: z.enum(['text', 'base64']).default('text'),
  metadata: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  delayMs: z.number().int().min(0).optional(),
  expirationMs: z.number().int().min(1).optional(),
});

export const newMessages = z.strictObject({
  messages: z.array(newMessage).min(1).max(MESSAGES_PER_REQUEST_MAX),
});
export type NewMessage = z.output<typeof newMessage>;

/** A message on its way in. */
export function outgoing(channel: ChannelName, clientId: string, message: NewMessage): OutgoingMessage {
  const { body, bodyEncoding, metadata, tags, delayMs, expirationMs } = message;
  return {
    channel,
    clientId,
    body: Buffer.from(body, bodyEncoding === 'text' ? 'utf8' : 'base64'),
    metadata,
    tags: tags === undefined ? undefined : new Map(Object.entries(tags)),
    policy: {
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(expirationMs === undefined ? {} : { expirationMs }),
    },
  };
}

/** The body of a request in its shape; throws `invalid-argument` naming the first fault. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const read = schema.safeParse(body ?? {});
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? 'the body' : issue.path.join('.');
  throw new BrokerError('invalid-argument', `${where}: ${issue?.message ?? 'is not valid'}`);
}
