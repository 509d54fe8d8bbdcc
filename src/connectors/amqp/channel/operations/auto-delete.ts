import type { Queue } from '../../topology/types.js';
import type { ChannelHost } from '../host.js';

/** Deletes those of the queues a consumer just left that are auto-delete and have no consumer any more. */
export async function deleteUnused(
  host: Pick<ChannelHost, 'topology' | 'vhost'>,
  left: readonly Queue[],
): Promise<void> {
  for (const queue of new Set(left)) {
    if (queue.autoDelete && queue.alive && queue.consumers === 0) {
      await host.topology.deleteQueue(host.vhost, queue);
    }
  }
}
