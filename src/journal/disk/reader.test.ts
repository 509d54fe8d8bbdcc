import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import type { Journal } from '../../core/ports/journal.js';
import type { FileLayer } from './file-layer.js';
import { openDiskJournal } from './index.js';
import { nodeFiles } from './node-files.js';

const ENTRY_BYTES = 1024;
const ENTRIES = 12_000;
const MIB = 1 << 20;

describe('what reading brings into memory', () => {
  let directory = '';
  let readBytes = 0;
  let journal: Journal;
  const positions: number[] = [];

  const counting: FileLayer = {
    ...nodeFiles,
    open: async (path, mode) => {
      const file = await nodeFiles.open(path, mode);
      const read = file.read.bind(file);
      file.read = (target, offset) => {
        readBytes += target.byteLength;
        return read(target, offset);
      };
      return file;
    },
  };

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'polymq-'));
    const options = {
      directory,
      clock: new ManualClock(),
      log: silentLog,
      files: counting,
      freshBytesMax: 0,
    };
    journal = await openDiskJournal(options);
    await journal.replay(0, () => undefined);
    journal.start({ committed: () => undefined, lost: () => undefined });
    positions.length = 0;
    for (let index = 0; index < ENTRIES; index++) {
      positions.push(journal.append(randomBytes(ENTRY_BYTES + ENTRY_HEADER_BYTES), true));
    }
    await journal.flush();
    readBytes = 0;
  });

  afterEach(async () => {
    await journal.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is little more than what is asked for when neighbours are read at once, jump after jump', async () => {
    // 64 queues that were filled by turns are drained by turns: near together, then far away.
    const rounds = 10;
    for (let round = 0; round < rounds; round++) {
      const first = round * 1100;
      const some = positions.slice(first, first + 64);
      await Promise.all(some.map((position) => journal.read(position, ENTRY_BYTES)));
    }
    expect(readBytes).toBeLessThan(3 * rounds * 64 * ENTRY_BYTES);
  });

  it('is large blocks ahead of time when one reader walks forward', async () => {
    let misses = 0;
    for (const position of positions) {
      if (journal.peek(position, ENTRY_BYTES) !== undefined) continue;
      misses++;
      await journal.read(position, ENTRY_BYTES);
    }
    expect(misses).toBeLessThan(60);
    expect(readBytes).toBeLessThan(2 * ENTRIES * ENTRY_BYTES + 4 * MIB);
  });
});
