import type { DeadLetterRouter } from '../../core/queue/types.js';
import { FIFO_SUFFIX, GROUP_MARK, queueChannel } from './names.js';
import { channelName } from '../../core/channel-name.js';
import type { ChannelName } from '../../core/channel-name.js';

/**
 * Routes `aws:{queue}`: a dead letter of a FIFO group goes to the same group of the dead-letter queue, so that its order
 * lives on there. `resolve` gives the channel behind a name.
 */
export function awsDeadLetterRouter(resolve: (name: ChannelName) => ChannelName): DeadLetterRouter {
  return (queue, { channel }) => {
    const target = resolve(queueChannel(queue));
    const mark = channel.indexOf(FIFO_SUFFIX + GROUP_MARK);
    if (mark < 0) return [{ channel: target }];
    return [{ channel: channelName(target + channel.slice(mark + FIFO_SUFFIX.length)) }];
  };
}
