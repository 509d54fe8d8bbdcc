import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';

/**
 * How a reader knows the channels it reads: what it asked for, by the name it used (which may be an alias); a sub-channel by
 * its own.
 */
export function channelNamer(broker: Broker, asked: string): (channel: ChannelName) => string {
  const real = broker.resolve(asked as ChannelName);
  return (channel) => (channel === real ? asked : channel);
}
