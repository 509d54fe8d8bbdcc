import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock, SystemClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import type { OpenBroker } from '../../src/core/broker.js';
import { openBroker } from '../../src/core/broker.js';
import { openDiskJournal } from '../../src/journal/disk/index.js';
import { WatchedJournal } from '../support/watched-journal.js';
import type { BrokerHarness } from './broker-fixture.js';
import { brokerContract } from './broker.contract.js';

const EXTENT_BYTES = 4096;
const limits = { checkpointEveryBytes: 64 * 1024 };

async function memory(): Promise<BrokerHarness> {
  let clock = new ManualClock();
  let journal = new WatchedJournal({ extentBytes: EXTENT_BYTES });
  const open = (): Promise<OpenBroker> => openBroker({ journal, clock, log: silentLog, limits });
  return {
    get clock() {
      return clock;
    },
    open,
    crash: () => {
      journal = new WatchedJournal({ image: journal.crash(0) });
      clock = new ManualClock(clock.now());
      return open();
    },
    dispose: () => Promise.resolve(),
  };
}

async function disk(): Promise<BrokerHarness> {
  const root = await mkdtemp(join(tmpdir(), 'polymq-broker-'));
  let clock = new ManualClock();
  let copies = 0;
  let directory = join(root, 'store-0');
  const opened: OpenBroker[] = [];
  const open = async (): Promise<OpenBroker> => {
    const journal = await openDiskJournal({
      directory,
      extentBytes: EXTENT_BYTES,
      minFreeBytes: 0,
      clock: new SystemClock(),
      log: silentLog,
    });
    const broker = await openBroker({ journal, clock, log: silentLog, limits });
    opened.push(broker);
    return broker;
  };
  return {
    get clock() {
      return clock;
    },
    open,
    crash: async () => {
      // As a killed process leaves it: the system still has all that was written. The old broker goes on, unseen.
      copies += 1;
      const next = join(root, `store-${copies}`);
      await cp(directory, next, { recursive: true, filter: (source) => !source.includes('lock') });
      directory = next;
      clock = new ManualClock(clock.now());
      return open();
    },
    dispose: async () => {
      for (const broker of opened) await broker.close();
      await rm(root, { recursive: true });
    },
  };
}

brokerContract('memory journal', memory);
brokerContract('disk journal', disk);
