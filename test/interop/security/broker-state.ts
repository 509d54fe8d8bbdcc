import type { RunningBroker } from '../../../src/app/index.js';
import type { QueueStats } from '../../../src/core/queue/types.js';

/** Everything a refused call might have touched: what is stored, who reads it, and how often the registry was written. */
export interface StateWatch {
  now(): unknown;
}

export function watchState({ broker }: RunningBroker): StateWatch {
  let changes = 0;
  const change = broker.change.bind(broker);
  broker.change = (wanted) => {
    changes++;
    return change(wanted);
  };
  return {
    now: () => ({
      changes,
      aliases: broker.aliases(),
      queues: broker.queues('').map((name) => {
        const { settings, ready, delayed, inFlight, ...counts } = broker.queueStats(name) as QueueStats;
        const { bytes, consumers, sent, delivered, acknowledged, expired, deadLettered } = counts;
        // A refusal may end a channel, which gives back what it held.
        const waiting = ready + inFlight;
        const moved = { sent, delivered, acknowledged, expired, deadLettered };
        return { name, settings, waiting, delayed, bytes, consumers, ...moved };
      }),
      logs: broker.logs('').map((name) => broker.logStats(name)),
      live: (['events', 'commands', 'queries'] as const).map((kind) => broker.live.activity(kind)),
    }),
  };
}
