import { join } from 'node:path';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Journal } from '../../core/ports/journal.js';
import type { FileLayer } from './file-layer.js';
import { FORMAT, readFormat, writeFormat } from './format.js';
import { DiskJournal } from './journal.js';
import { parseSegmentName, TEMPORARY_SUFFIX } from './layout.js';
import { nodeFiles } from './node-files.js';
import { STREAM_BYTES } from './reader.js';
import { findSegments } from './scan.js';

export type { FileLayer } from './file-layer.js';
export { repairStore } from './repair.js';
export type { RepairOptions, RepairReport, RepairStep } from './repair.js';
export { verifyStore } from './verify.js';
export type { CheckpointReport, SegmentReport, StoreReport } from './verify.js';

const DEFAULT_EXTENT_BYTES = 64 << 20;
const EXTENT_BYTES_MIN = 4096;
const DEFAULT_SYNC_INTERVAL_MS = 100;
const DEFAULT_MIN_FREE_BYTES = 256 << 20;
const DEFAULT_FRESH_BYTES_MAX = 64 << 20;

export interface DiskJournalOptions {
  readonly directory: string;
  /** `always`: a forced entry is on the device when it is committed. `interval`: at most `syncIntervalMs` later. */
  readonly sync?: 'always' | 'interval';
  readonly syncIntervalMs?: number;
  /** Bytes of a segment, for a new store; a store that exists keeps its own. */
  readonly extentBytes?: number;
  /** A shortage of space below this. */
  readonly minFreeBytes?: number;
  /** The newest bytes, kept in memory. */
  readonly freshBytesMax?: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly files?: FileLayer;
}

/**
 * Opens the store in a directory, making it when there is none. Rejects with `precondition` when another process has it, when
 * it was written by a newer version, or when it cannot be written to.
 */
export async function openDiskJournal(options: DiskJournalOptions): Promise<Journal> {
  const { directory, files = nodeFiles, clock, log } = options;
  const lock = await writable(directory, async () => {
    await files.makeDirectory(directory);
    return files.lock(directory);
  });
  try {
    const before = await readFormat(files, directory);
    if (before === undefined) await refuseForeign(files, directory);
    const format = {
      format: FORMAT,
      extentBytes: before?.extentBytes ?? wholeExtent(options.extentBytes ?? DEFAULT_EXTENT_BYTES),
      epoch: (before?.epoch ?? 0) + 1,
    };
    await removeLeftovers(files, directory);
    const found = await findSegments(files, directory, format.extentBytes);
    // Entries of this run must differ from all that a recycled file may hold, so the number is durable before any is written.
    await writable(directory, () => writeFormat(files, directory, format));
    return new DiskJournal({
      directory,
      files,
      lock,
      extentBytes: format.extentBytes,
      epoch: format.epoch,
      found,
      sync: options.sync ?? 'always',
      syncIntervalMs: options.syncIntervalMs ?? DEFAULT_SYNC_INTERVAL_MS,
      minFreeBytes: options.minFreeBytes ?? DEFAULT_MIN_FREE_BYTES,
      freshBytesMax: options.freshBytesMax ?? DEFAULT_FRESH_BYTES_MAX,
      clock,
      log,
    });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Extents are whole numbers of blocks, or smaller than one. */
function wholeExtent(bytes: number): number {
  const whole = bytes > STREAM_BYTES ? Math.ceil(bytes / STREAM_BYTES) * STREAM_BYTES : bytes;
  return Math.max(EXTENT_BYTES_MIN, whole);
}

async function writable<T>(directory: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof BrokerError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new BrokerError('precondition', `the store directory ${directory} cannot be written to (${code})`, {
      cause: error,
    });
  }
}

async function refuseForeign(files: FileLayer, directory: string): Promise<void> {
  const segment = (await files.list(directory)).find((name) => parseSegmentName(name) !== undefined);
  if (segment === undefined) return;
  throw new BrokerError(
    'precondition',
    `${directory} holds ${segment} but no format file; restore it from a backup or see docs/storage.md`,
  );
}

/** Files that a crash left half made. */
async function removeLeftovers(files: FileLayer, directory: string): Promise<void> {
  for (const name of await files.list(directory)) {
    // Temporary files of the lock belong to whoever is asking for it.
    if (name.startsWith('lock-')) continue;
    if (name.endsWith(TEMPORARY_SUFFIX)) await files.remove(join(directory, name));
  }
}
