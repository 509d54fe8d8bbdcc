import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import { BrokerError } from '../../src/core/errors.js';
import type { Journal } from '../../src/core/ports/journal.js';
import { openDiskJournal } from '../../src/journal/disk/index.js';
import { nodeFiles } from '../../src/journal/disk/node-files.js';
import { createMemoryJournal } from '../../src/journal/memory/index.js';
import type { MemoryFaults, MemoryImage, MemoryJournal } from '../../src/journal/memory/index.js';
import { FailingFiles } from '../support/failing-files.js';
import { journalContract } from './journal.contract.js';
import type { JournalHarness } from './journal.contract.js';

const EXTENT_BYTES = 4096;

async function memory(): Promise<JournalHarness> {
  let image: MemoryImage | undefined;
  let last: MemoryJournal | undefined;
  const faults: MemoryFaults = {};
  return {
    open: async () => {
      if (last !== undefined) image ??= last.image();
      last = createMemoryJournal({
        extentBytes: EXTENT_BYTES,
        faults,
        ...(image === undefined ? {} : { image }),
      });
      image = undefined;
      return last;
    },
    crash: async () => {
      image = last?.crash(1234567);
    },
    failNextGroup: () => {
      faults.failNextGroup = new BrokerError('unavailable', 'no space');
    },
    dispose: async () => undefined,
  };
}

async function disk(sync: 'always' | 'interval'): Promise<JournalHarness> {
  const root = await mkdtemp(join(tmpdir(), 'polymq-journal-'));
  let copies = 0;
  let directory = join(root, 'store-0');
  const files = new FailingFiles(nodeFiles);
  return {
    open: async (): Promise<Journal> =>
      openDiskJournal({
        directory,
        sync,
        extentBytes: EXTENT_BYTES,
        minFreeBytes: 0,
        clock: new SystemClock(),
        log: silentLog,
        files,
      }),
    crash: async () => {
      // As a killed process leaves it: the system still has all that was written. The old journal goes on, unseen.
      copies += 1;
      const next = join(root, `store-${copies}`);
      await cp(directory, next, { recursive: true, filter: (source) => !source.includes('lock') });
      directory = next;
    },
    failNextGroup: () => files.failWrites('ENOSPC', 1),
    dispose: () => rm(root, { recursive: true }),
  };
}

journalContract('memory', memory);
journalContract('disk, sync always', () => disk('always'));
journalContract('disk, sync interval', () => disk('interval'));
