import fs from 'node:fs/promises';
import { join } from 'node:path';
import { BrokerError } from '../../core/errors.js';
import type { DirectoryLock } from './file-layer.js';

/** One process a directory. */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const path = join(directory, 'lock');
  for (;;) {
    try {
      await fs.writeFile(path, String(process.pid), { flag: 'wx' });
      return { release: () => fs.rm(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pid = Number(await fs.readFile(path, 'utf8').catch(() => ''));
    const alive = await fs.stat(`/proc/${pid}`).then(
      () => true,
      () => false,
    );
    if (pid > 0 && alive) {
      throw new BrokerError('precondition', `the store in ${directory} is in use by process ${pid}`);
    }
    await fs.rm(path, { force: true });
  }
}
