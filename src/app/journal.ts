import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Journal } from '../core/ports/journal.js';
import type { StoreConfig } from '../ops/config/sections.js';

export interface JournalParts {
  readonly config: StoreConfig;
  readonly clock: Clock;
  readonly log: Log;
}

/** The journal that the configuration asks for; the others are not loaded. Rejects when the directory is in use, damaged or of a newer version. */
export async function openJournal({ config, clock, log }: JournalParts): Promise<Journal> {
  switch (config.engine) {
    case 'memory': {
      const { createMemoryJournal } = await import('../journal/memory/index.js');
      log.warn('the store is in memory: nothing outlives this process');
      return createMemoryJournal();
    }
    case 'nats':
      throw new Error('a journal in NATS is opened by its owner');
    case 'disk': {
      const { openDiskJournal } = await import('../journal/disk/index.js');
      return openDiskJournal({
        directory: config.path,
        sync: config.sync,
        syncIntervalMs: config.syncIntervalMs,
        minFreeBytes: config.minFreeBytes,
        clock,
        log,
      });
    }
  }
}
