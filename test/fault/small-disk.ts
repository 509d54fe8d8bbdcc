import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.js';

const MIB = 1024 * 1024;

/** A file system of its own, so small that it can be filled in a moment. */
export interface SmallDisk {
  /** Where the store goes. */
  readonly store: string;
  /** Takes up so many MiB with one file. */
  fill(mebibytes: number): void;
  /** Gives them back. */
  free(): void;
  remove(): void;
}

/** Why there can be no small disk here, or undefined. */
export function smallDiskFault(): string | undefined {
  if (process.getuid?.() !== 0) return 'mounting a small file system takes root';
  const folder = temporaryFolder();
  const mounted = mount(folder.path, 1);
  if (mounted) spawnSync('umount', [folder.path]);
  folder.remove();
  return mounted ? undefined : 'a small file system cannot be mounted here';
}

export function makeSmallDisk(mebibytes: number): SmallDisk {
  const folder = temporaryFolder();
  if (!mount(folder.path, mebibytes)) throw new Error('the small file system could not be mounted');
  const ballast = join(folder.path, 'ballast');
  return {
    store: join(folder.path, 'store'),
    fill: (amount) => writeFileSync(ballast, Buffer.alloc(amount * MIB)),
    free: () => rmSync(ballast, { force: true }),
    remove: () => {
      // A lazy unmount also works while a dying process still holds a file.
      spawnSync('umount', ['--lazy', folder.path]);
      folder.remove();
    },
  };
}

function mount(folder: string, mebibytes: number): boolean {
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder];
  return spawnSync('mount', options, { stdio: 'ignore' }).status === 0;
}
