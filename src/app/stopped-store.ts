import type { Clock } from '../base/clock.js';
import type { IdSource } from '../base/ids.js';
import type { Log } from '../base/log.js';
import type { Claim, Coordinator } from '../cluster/contract.js';
import { BrokerError } from '../core/errors.js';
import type { Journal } from '../core/ports/journal.js';
import { openJournal } from './journal.js';
import { CLAIM } from './partition.js';
import type { Config } from './settings.js';

/** How often the claim is asked for. */
const ASK_MS = 150;

interface StoppedStoreParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
}

/** Gives `use` the journal of a store that nobody serves, and closes it. Rejects while a broker runs on it. */
export async function withStoppedStore<T>(
  parts: StoppedStoreParts,
  use: (journal: Journal) => Promise<T>,
): Promise<T> {
  const { config, clock, log } = parts;
  if (config.store.engine === 'nats') return withCluster(parts, use);
  if (config.store.engine === 'memory')
    throw new BrokerError('invalid-argument', 'a store in memory holds nothing once its broker has ended');
  const journal = await openJournal({ config: config.store, clock, log });
  try {
    return await use(journal);
  } finally {
    await journal.close();
  }
}

async function withCluster<T>(
  { config, clock, ids, log }: StoppedStoreParts,
  use: (journal: Journal) => Promise<T>,
): Promise<T> {
  const { joinCluster } = await import('./cluster.js');
  const { openJetStreamJournal } = await import('../journal/jetstream/index.js');
  const about = (): { role: string } => ({ role: 'tool' });
  const cluster = await joinCluster({ config, id: ids.uuid(), about, clock, log });
  try {
    const claim = await claimed(cluster.coordinator, 2 * config.nats.leaseMs, clock);
    if (claim === undefined)
      throw new BrokerError('precondition', 'a node of this cluster serves: stop all of them first');
    const journal = await openJetStreamJournal({
      ...(await cluster.openStreams()),
      claim: claim.epoch,
      clock,
      monotonicMs: () => performance.now(),
      log,
    });
    try {
      return await use(journal);
    } finally {
      await journal.close();
    }
  } finally {
    await cluster.coordinator.close();
    await cluster.close();
  }
}

/** A node that crashed gave nothing back: its lease has to end before it is known that it serves no more. */
async function claimed(coordinator: Coordinator, waitMs: number, clock: Clock): Promise<Claim | undefined> {
  for (let leftMs = waitMs; ; leftMs -= ASK_MS) {
    const claim = await coordinator.claim(CLAIM);
    if (claim !== undefined || leftMs <= 0) return claim;
    await new Promise<void>((resolve) => clock.after(ASK_MS, resolve));
  }
}
