import type { QueueSettings } from '../../../core/queue/types.js';
import type { Change } from '../../../core/registry/types.js';
import { replayChannel } from '../names.js';

/** Settings of the queue that says how far a replay is: its newest message does. */
const PROGRESS_QUEUE: Partial<QueueSettings> = { maxLength: 1, overflow: 'drop-head' };

/** What setting or taking back a subscription's ReplayPolicy comes to beside its record. */
export function replayChanges(key: string, begins: boolean): readonly Change[] {
  const channel = replayChannel(key);
  return begins
    ? [{ do: 'create-queue', channel, settings: PROGRESS_QUEUE, ifMissing: true }]
    : [{ do: 'delete-queue', channel }];
}
