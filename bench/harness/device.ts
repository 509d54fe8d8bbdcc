import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { percentile } from './stats.js';

const MESSAGE_BYTES = 1024;
/** One file a run: blocks of files deleted before would be had again at once, and the file would not really grow. */
const FILE_BYTES_MAX = 4 * 1024 * 1024 * 1024;

export interface DeviceFigures {
  readonly messagesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Appends batches of 1 KiB to a growing file, each followed by fdatasync: what the device allows at most. */
export async function deviceAppend(folder: string, batch: number, seconds: number): Promise<DeviceFigures> {
  const block = Buffer.alloc(batch * MESSAGE_BYTES, 0x5a);
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  let spent = 0;
  for (let file = 0; performance.now() < end; file++) {
    const path = join(folder, `device-${String(file)}`);
    const handle = await open(path, 'w');
    for (let bytes = 0; bytes < FILE_BYTES_MAX && performance.now() < end; bytes += block.length) {
      const start = performance.now();
      await handle.write(block, 0, block.length, bytes);
      await handle.datasync();
      times.push(performance.now() - start);
      spent += performance.now() - start;
    }
    await handle.close();
    await rm(path);
  }
  return {
    messagesPerSecond: (times.length * batch) / (spent / 1000),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}
