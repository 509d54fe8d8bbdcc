import type { ChannelName } from '../channel-name.js';
import { LIVE_LIMITS } from './limits.js';
import type { LiveActivity, LiveKind } from './types.js';

/** What one live channel did, counted as it happens. */
export interface Activity {
  lastAt: number;
  inMessages: number;
  inBytes: number;
  outMessages: number;
  outBytes: number;
  replies: number;
  timedOut: number;
  subscribers: number;
}

/** The figures of live channels. They come with a channel's first use; at the bound those used longest ago go. */
export class Activities {
  /** Some were forgotten: who holds on to one asks again. */
  onForget: (() => void) | undefined;
  readonly #byKind: Readonly<Record<LiveKind, Map<string, Activity>>> = {
    events: new Map(),
    commands: new Map(),
    queries: new Map(),
  };

  of(kind: LiveKind, channel: string): Activity {
    const byName = this.#byKind[kind];
    let activity = byName.get(channel);
    if (activity === undefined) {
      activity = {
        lastAt: 0,
        inMessages: 0,
        inBytes: 0,
        outMessages: 0,
        outBytes: 0,
        replies: 0,
        timedOut: 0,
        subscribers: 0,
      };
      byName.set(channel, activity);
      if (byName.size > LIVE_LIMITS.activitiesMax) {
        forgetSome(byName, channel);
        this.onForget?.();
      }
    }
    return activity;
  }

  forget(kind: LiveKind, channel: string): void {
    const byName = this.#byKind[kind];
    if (byName.get(channel)?.subscribers !== 0) return;
    byName.delete(channel);
    this.onForget?.();
  }

  list(kind: LiveKind): readonly LiveActivity[] {
    return [...this.#byKind[kind]]
      .map(([channel, activity]) => ({ channel: channel as ChannelName, ...activity }))
      .sort((a, b) => (a.channel < b.channel ? -1 : 1));
  }
}

/** Forgets a tenth: those that were used longest ago and have no subscribers. */
function forgetSome(byName: Map<string, Activity>, fresh: string): void {
  const idle = [...byName]
    .filter(([name, activity]) => activity.subscribers === 0 && name !== fresh)
    .sort(([, a], [, b]) => a.lastAt - b.lastAt);
  for (const [name] of idle.slice(0, Math.ceil(LIVE_LIMITS.activitiesMax / 10))) byName.delete(name);
}
