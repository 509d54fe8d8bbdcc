import type { ChannelName } from '../../src/core/channel-name.js';

/** What simulated clients use: a queue, and one with ordered sub-channels. */
export const PLAIN = 'plain' as ChannelName;
export const FIFO = 'fifo' as ChannelName;
