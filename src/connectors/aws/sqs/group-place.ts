import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { groupChannel } from '../names.js';

/**
 * Where messages of a group go under a queue's real channel: their sub-channel, which keeps a FIFO queue's order and a
 * standard queue's fairness. The queue of another protocol, behind an alias, has neither: there it is the queue itself.
 */
export function groupPlace(
  broker: Pick<Broker, 'baseOf'>,
  queue: ChannelName,
  groupId: string | undefined,
): ChannelName {
  if (groupId === undefined) return queue;
  const channel = groupChannel(queue, groupId);
  return broker.baseOf(channel) === queue ? channel : queue;
}
