import { join } from 'node:path';
import type { FileLayer, StoreFile } from './file-layer.js';
import { TEMPORARY_SUFFIX } from './layout.js';

/** Bytes written or read in one step: between two of them the event loop is free. */
export const STEP_BYTES = 1 << 20;
/** Bytes of a large file that may wait to be synced, so that the log's own syncs do not wait behind them. */
const UNSYNCED_BYTES_MAX = 8 << 20;

export async function readWhole(files: FileLayer, path: string): Promise<Buffer> {
  const file = await files.open(path, 'read');
  try {
    const data = Buffer.allocUnsafeSlow(await file.size());
    const count = await file.read(data, 0);
    return data.subarray(0, count);
  } finally {
    await file.close();
  }
}

/** Writes a file so that its name stands for all of it or nothing: under another name first, synced, then renamed. */
export async function writeWhole(
  files: FileLayer,
  directory: string,
  name: string,
  parts: Iterable<Uint8Array>,
): Promise<void> {
  const temporary = join(directory, name + TEMPORARY_SUFFIX);
  const file = await files.open(temporary, 'create');
  try {
    await file.truncate(0);
    let offset = 0;
    let synced = 0;
    for (const part of parts) {
      for (let at = 0; at < part.byteLength; at += STEP_BYTES) {
        const step = part.subarray(at, at + STEP_BYTES);
        await writeAt(file, step, offset);
        offset += step.byteLength;
        if (offset - synced >= UNSYNCED_BYTES_MAX) {
          await syncFile(file);
          synced = offset;
        }
      }
    }
    await syncFile(file);
  } finally {
    await file.close();
  }
  await files.rename(temporary, join(directory, name));
  await files.syncDirectory(directory);
}

export function writeAt(file: StoreFile, bytes: Uint8Array, offset: number): Promise<void> {
  return new Promise((resolve, reject) => {
    file.write([bytes], offset, false, (error) => (error === null ? resolve() : reject(error)));
  });
}

export function syncFile(file: StoreFile): Promise<void> {
  return new Promise((resolve, reject) => {
    file.sync((error) => (error === null ? resolve() : reject(error)));
  });
}
