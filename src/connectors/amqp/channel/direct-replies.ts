import type { Vhost } from '../topology/vhost.js';
import type { Content } from '../wire/frame-writer.js';

/** What requesters consume from, and write into `reply-to`: the broker puts a name of its own there. */
export const REPLY_QUEUE = 'amq.rabbitmq.reply-to';
const REPLY_PREFIX = `${REPLY_QUEUE}.`;

/** Whether a queue name is one of direct reply-to's: no queue stands behind these. */
export function isReplyName(name: string): boolean {
  return name === REPLY_QUEUE || name.startsWith(REPLY_PREFIX);
}

/** The consumer of replies that a channel has. */
export interface ReplyConsumer {
  /** The routing key that reaches it. */
  readonly name: string;
  readonly vhost: Vhost;
  readonly tag: string;
  /** False when it was not taken: its client does not read what it is sent. */
  readonly deliver: (content: Content) => boolean;
}

/** Consumers of replies, by name. Replies go from channel to channel and are never stored. */
export class DirectReplies {
  readonly #byName = new Map<string, ReplyConsumer>();

  /** A new name; `secret` keeps others from guessing it. */
  nameOf(secret: Uint8Array): string {
    return `${REPLY_PREFIX}${Buffer.from(secret).toString('base64url')}`;
  }

  add(consumer: ReplyConsumer): void {
    this.#byName.set(consumer.name, consumer);
  }

  remove(consumer: ReplyConsumer): void {
    this.#byName.delete(consumer.name);
  }

  /** The consumer a routing key of the default exchange reaches. */
  find(vhost: Vhost, name: string): ReplyConsumer | undefined {
    if (!name.startsWith(REPLY_PREFIX)) return undefined;
    const consumer = this.#byName.get(name);
    return consumer?.vhost === vhost ? consumer : undefined;
  }
}
