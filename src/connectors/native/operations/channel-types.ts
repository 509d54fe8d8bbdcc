import type { RegistryRule } from '../../../core/access/gatekeeper.js';
import type { ResourceKind } from '../../../core/access/resource.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { LiveKind } from '../../../core/live/types.js';

/** Types of channels, as channel management names them. */
export const CHANNEL_TYPES = ['events', 'events_store', 'commands', 'queries', 'queues'] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

/** What each is to the rules. */
export const KIND_OF: Readonly<Record<ChannelType, ResourceKind>> = {
  events: 'events',
  events_store: 'log',
  commands: 'commands',
  queries: 'queries',
  queues: 'queue',
};

export function isChannelType(type: string): type is ChannelType {
  return CHANNEL_TYPES.some((known) => known === type);
}

/** Registry kind of live channels that were created. */
export const CHANNEL_KIND = 'native.channel';

/** Channel names hold no white space. */
export function channelKey(type: LiveKind, channel: string): string {
  return `${type} ${channel}`;
}

export function channelOfKey(key: string): readonly [type: LiveKind, channel: ChannelName] {
  const space = key.indexOf(' ');
  return [key.slice(0, space) as LiveKind, key.slice(space + 1) as ChannelName];
}

/** To create or delete a live channel, a client must be allowed to write to it. */
export const channelRule: RegistryRule = (key) => {
  const [kind, channel] = channelOfKey(key);
  return [{ kind, access: 'write', channel }];
};
