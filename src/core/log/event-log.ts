import type { ChannelName } from '../channel-name.js';
import { EventIndex } from './event-index.js';
import type { Subscription } from './subscription.js';
import type { FanOutTarget, LogSettings } from './types.js';

/** A replayable log: its index, its durable positions and its readers. */
export class EventLog {
  readonly id: number;
  readonly name: ChannelName;
  settings: LogSettings;
  readonly index = new EventIndex();
  /** Last durable sequence: readers see up to here. */
  committed = 0;
  bytes = 0;
  /** Times never go back within a log, so that they can be searched. */
  lastStoredAt = 0;
  deleted = false;
  readonly cursors = new Map<string, number>();
  readonly subscriptions = new Set<Subscription>();
  targets: readonly FanOutTarget[] = [];

  constructor(id: number, name: ChannelName, settings: LogSettings) {
    this.id = id;
    this.name = name;
    this.settings = settings;
  }

  /** The sequence retention would keep as the first; the last event goes only by age. */
  retainFrom(now: number): number {
    const { retentionCount, retentionBytes, retentionMs } = this.settings;
    let first = this.index.first;
    const last = this.committed;
    if (retentionCount > 0) first = Math.max(first, last - retentionCount + 1);
    if (retentionMs > 0)
      first = Math.max(first, Math.min(this.index.atTime(now - retentionMs + 1), last + 1));
    if (retentionBytes > 0) {
      let bytes = this.bytes;
      for (let s = this.index.first; s < first; s++) bytes -= this.index.length(s);
      while (bytes > retentionBytes && first < last) bytes -= this.index.length(first++);
    }
    return first;
  }
}
