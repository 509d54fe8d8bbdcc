import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker } from '../support/process.js';
import { makeSmallDisk, smallDiskFault } from './small-disk.js';

describe('the store directory cannot be written to', () => {
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  });

  // Permissions do not hold root back; a read-only mount does, and only root can make one.
  if (process.getuid?.() !== 0) {
    it('refuses to start, naming the directory, without permission', async () => {
      const folder = temporaryFolder();
      const store = join(folder.path, 'store');
      mkdirSync(store);
      chmodSync(store, 0o500);
      cleanups.push(
        () => folder.remove(),
        () => chmodSync(store, 0o700),
      );
      await expectRefusal(store);
    });
  } else {
    it.skipIf(smallDiskFault() !== undefined)(
      'refuses to start, naming the directory, read-only mounted',
      async () => {
        const disk = makeSmallDisk(16);
        cleanups.push(() => disk.remove());
        mkdirSync(disk.store);
        const remount = spawnSync('mount', ['-o', 'remount,ro', join(disk.store, '..')]);
        expect(remount.status, remount.stderr.toString()).toBe(0);
        await expectRefusal(disk.store);
      },
    );
  }

  it('refuses to start when the directory is a file', async () => {
    await expectRefusal('/dev/null');
  });
});

async function expectRefusal(store: string): Promise<void> {
  const started = spawnBroker({ folder: store });
  const message = await started.then(
    () => 'it started',
    (error: unknown) => String(error),
  );
  expect(message).toContain(store);
  expect(message).toMatch(/cannot be (written to|opened)|not a directory|read-only/i);
  // A sentence for people, not a stack.
  expect(message).not.toMatch(/\n\s+at .*\(.*:\d+:\d+\)/);
}
