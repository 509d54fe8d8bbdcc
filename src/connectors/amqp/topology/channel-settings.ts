import type { Broker } from '../../../core/broker-api.js';
import { DEFAULT_LOG_SETTINGS } from '../../../core/log/types.js';
import type { LogSettings } from '../../../core/log/types.js';
import { DEFAULT_QUEUE_SETTINGS } from '../../../core/queue/types.js';
import type { QueueSettings } from '../../../core/queue/types.js';
import type { Change } from '../../../core/registry/types.js';
import { queueSettings, streamSettings } from '../mapping/queue-arguments.js';
import type { FieldTable } from '../wire/field-table.js';
import type { Queue, QueueDefinition, QueueType } from './types.js';

/** What arguments and policies decide; the rest of a channel's settings is left as it is. */
const QUEUE_DEFAULTS: Partial<QueueSettings> = {
  maxPriority: DEFAULT_QUEUE_SETTINGS.maxPriority,
  maxLength: DEFAULT_QUEUE_SETTINGS.maxLength,
  maxLengthBytes: DEFAULT_QUEUE_SETTINGS.maxLengthBytes,
  overflow: DEFAULT_QUEUE_SETTINGS.overflow,
  messageTtlMs: DEFAULT_QUEUE_SETTINGS.messageTtlMs,
  deadLetter: DEFAULT_QUEUE_SETTINGS.deadLetter,
};

function settingsOf(vhost: string, name: string, effective: FieldTable): Partial<QueueSettings> {
  return { ...QUEUE_DEFAULTS, ...queueSettings(effective, { vhost, queue: name }) };
}

function logSettingsOf(vhost: string, name: string, effective: FieldTable): Partial<LogSettings> {
  return { ...DEFAULT_LOG_SETTINGS, ...streamSettings(effective, { vhost, queue: name }) };
}

/** Makes the channel behind a queue, a stream's log or a queue channel, unless it is there. */
export function creationOf(
  vhost: string,
  queue: QueueDefinition,
  of: { readonly type: QueueType; readonly effective: FieldTable },
): Change {
  const { name, channel } = queue;
  if (of.type === 'stream') {
    const settings = logSettingsOf(vhost, name, of.effective);
    return { do: 'create-log', channel, settings, ifMissing: true };
  }
  const settings = { ...settingsOf(vhost, name, of.effective), durable: isDurable(queue) };
  return { do: 'create-queue', channel, settings, ifMissing: true };
}

/** Gives the channel of a queue the settings of what the queue lives by now. */
export function updateOf(broker: Broker, vhost: string, queue: Queue): readonly Change[] {
  const { name, channel, type, effective } = queue;
  // An alias was made by the operator: its channel is somebody else's.
  if (broker.resolve(channel) !== channel) return [];
  if (type === 'stream')
    return [{ do: 'update-log', channel, settings: logSettingsOf(vhost, name, effective) }];
  return [{ do: 'update-queue', channel, settings: settingsOf(vhost, name, effective) }];
}

/** Whether a queue outlives a restart: then it is in the registry. */
export function isDurable(queue: QueueDefinition): boolean {
  return queue.durable && queue.owner === undefined;
}
