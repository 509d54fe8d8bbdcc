import { channelName } from '../../core/channel-name.js';
import type { ChannelName } from '../../core/channel-name.js';
import { percentDecode, percentEncode } from '../../base/percent.js';
import type { AwsConfig } from './config.js';

/** Every SQS queue's channel: `sqs.{name}`. */
export const SQS_PREFIX = 'sqs.';
/** Marks the sub-channel of a message group: `sqs.{name}.g.{enc(group)}`. */
export const GROUP_MARK = '.g.';
export const FIFO_SUFFIX = '.fifo';
const SNS_PREFIX = 'sns.';
/** The internal queue of confirmations to be posted. */
export const HANDSHAKE_CHANNEL = channelName(`${SNS_PREFIX}handshakes`);

export function queueChannel(name: string): ChannelName {
  return channelName(SQS_PREFIX + name);
}

/** The sub-channel of a group under the queue's real channel. */
export function groupChannel(queue: ChannelName, groupId: string): ChannelName {
  return channelName(queue + GROUP_MARK + percentEncode(groupId));
}

/** The group a sub-channel of `queue` stands for; undefined for the queue itself and for other names. */
export function groupOfChannel(queue: string, channel: string): string | undefined {
  const mark = queue + GROUP_MARK;
  return channel.startsWith(mark) ? percentDecode(channel.slice(mark.length)) : undefined;
}

/**
 * The internal queue of a FIFO topic: its deduplication window and its sequence. Channels under `sns.` are the connector's
 * own; `sns.{topic}` is also the resource of a topic in access rules.
 */
export function ledgerChannel(topic: string): ChannelName {
  return channelName(SNS_PREFIX + topic);
}

/** The log of what was published to a FIFO topic that archives. */
export function archiveChannel(topic: string): ChannelName {
  return channelName(`${SNS_PREFIX}${topic}.archive`);
}

/** The internal queue that says how far the replay into a subscription, `{topic}:{id}`, is. */
export function replayChannel(subscription: string): ChannelName {
  return channelName(SNS_PREFIX + subscription.replace(':', '.r.'));
}

/** The internal queue of what is to be posted to the endpoint of a subscription, `{topic}:{id}`. */
export function deliveryChannel(subscription: string): ChannelName {
  return channelName(SNS_PREFIX + subscription.replace(':', '.s.'));
}

export function queueArn(config: AwsConfig, name: string): string {
  return `arn:aws:sqs:${config.region}:${config.accountId}:${name}`;
}

export function topicArn(config: AwsConfig, name: string): string {
  return `arn:aws:sns:${config.region}:${config.accountId}:${name}`;
}

/** ARN of the queue whose channel this is (a group's sub-channel counts as it); undefined for other protocols' channels. */
export function queueArnOfChannel(config: AwsConfig, channel: string): string | undefined {
  if (!channel.startsWith(SQS_PREFIX)) return undefined;
  const name = channel.slice(SQS_PREFIX.length);
  const mark = name.indexOf(GROUP_MARK);
  return queueArn(config, mark < 0 ? name : name.slice(0, mark));
}

/** The queue name of an SQS ARN; undefined when it is none. Region and account are not compared. */
export function queueNameOfArn(arn: string): string | undefined {
  const parts = arn.split(':');
  const name = parts[5];
  if (parts.length !== 6 || parts[0] !== 'arn' || parts[2] !== 'sqs') return undefined;
  return name === undefined || name === '' ? undefined : name;
}

/**
 * The queue a URL, `{account}/{name}`, a bare name or a request path stands for: the last part of the path. Host and
 * account are not looked at, so saved URLs outlive a move. '' when there is none.
 */
export function queueNameOfUrl(url: string): string {
  const query = url.indexOf('?');
  let end = query < 0 ? url.length : query;
  if (end > 0 && url[end - 1] === '/') end--;
  const slash = url.lastIndexOf('/', end - 1);
  // `http://host:4566` has no path at all.
  if (slash > 0 && url[slash - 1] === '/' && url[slash - 2] === ':') return '';
  return url.slice(slash + 1, end);
}
