import type { ChannelName } from '../../../core/channel-name.js';
import type { NativeService } from '../service.js';

/** Makes the queue that a message is moved to, when there is none. The move is refused to who lost the right to the message: then nothing is made. */
export async function makeMoveTarget(
  { broker, client }: NativeService,
  from: ChannelName,
  to: ChannelName,
): Promise<void> {
  client.require('queue', 'read', from);
  if (broker.queueStats(to) !== undefined) return;
  await broker.change([{ do: 'create-queue', channel: to, ifMissing: true }]);
}
