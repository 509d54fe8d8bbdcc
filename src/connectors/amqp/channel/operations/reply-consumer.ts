import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { REPLY_QUEUE } from '../direct-replies.js';
import { noQueue } from './access.js';

/** basic.consume of direct reply-to: one a channel, and without acknowledgements. */
export function consumeReplies(
  channel: AmqpChannel,
  tag: string,
  args: Pick<MethodArgs<'basic.consume'>, 'noAck'>,
): void {
  const { host } = channel;
  if (channel.replyConsumer !== undefined) throw new ReplyError(406, 'reply consumer already set');
  if (!args.noAck) throw new ReplyError(406, 'reply consumer cannot acknowledge');
  const bytes = Buffer.from(tag, 'utf8');
  const tagBytes = Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const consumer = {
    name: host.replies.nameOf(host.ids.bytes(16)),
    vhost: host.vhost,
    tag,
    deliver: channel.replyDelivery(tagBytes),
  };
  host.replies.add(consumer);
  channel.replyConsumer = consumer;
}

/** queue.declare of one of direct reply-to's names: whether somebody listens there. 404 when nobody does. */
export function checkReplyName(channel: AmqpChannel, name: string): void {
  if (name === REPLY_QUEUE) return;
  if (channel.host.replies.find(channel.host.vhost, name) === undefined) throw noQueue(channel, name);
}
