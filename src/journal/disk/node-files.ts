import fs from 'node:fs';
import { lockDirectory } from './lock.js';
import type { DirectoryLock, DiskSpace, Done, FileLayer, StoreFile } from './file-layer.js';

/** Buffers in one system call; Linux allows 1024. */
const IOV_MAX = 1024;
// Elsewhere O_DSYNC promises less than fdatasync does, or is absent.
const DSYNC = process.platform === 'linux' ? fs.constants.O_DSYNC : 0;

/** The machine's file system. */
export const nodeFiles: FileLayer = {
  makeDirectory: async (path) => {
    await fs.promises.mkdir(path, { recursive: true });
  },
  list: (directory) => fs.promises.readdir(directory),
  open,
  rename: (from, to) => fs.promises.rename(from, to),
  remove: (path) => fs.promises.unlink(path),
  syncDirectory,
  space,
  lock: (directory): Promise<DirectoryLock> => lockDirectory(directory),
};

const flagsOf = {
  read: fs.constants.O_RDONLY,
  write: fs.constants.O_RDWR,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT,
};

async function open(path: string, mode: keyof typeof flagsOf): Promise<StoreFile> {
  const fd = await openFd(path, flagsOf[mode]);
  if (mode !== 'create' || DSYNC === 0) return new NodeFile(fd, undefined);
  try {
    return new NodeFile(fd, await openFd(path, fs.constants.O_WRONLY | DSYNC));
  } catch (error) {
    await closeFd(fd);
    throw error;
  }
}

class NodeFile implements StoreFile {
  readonly #fd: number;
  /** A second descriptor whose writes are durable when they return: one trip to the thread pool instead of two. */
  readonly #durableFd: number | undefined;

  constructor(fd: number, durableFd: number | undefined) {
    this.#fd = fd;
    this.#durableFd = durableFd;
  }

  write(buffers: readonly Uint8Array[], offset: number, durable: boolean, done: Done): void {
    if (!durable) {
      writeAll(this.#fd, buffers, offset, done);
    } else if (this.#durableFd === undefined || buffers.length > IOV_MAX) {
      writeAll(this.#fd, buffers, offset, (error) => {
        if (error === null) fs.fdatasync(this.#fd, done);
        else done(error);
      });
    } else {
      writeAll(this.#durableFd, buffers, offset, done);
    }
  }

  sync(done: Done): void {
    fs.fdatasync(this.#fd, done);
  }

  read(target: Uint8Array, offset: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const next = (filled: number): void => {
        fs.read(this.#fd, target, filled, target.byteLength - filled, offset + filled, (error, count) => {
          if (error !== null) reject(error);
          else if (count === 0 || filled + count === target.byteLength) resolve(filled + count);
          else next(filled + count);
        });
      };
      if (target.byteLength === 0) resolve(0);
      else next(0);
    });
  }

  truncate(length: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.ftruncate(this.#fd, length, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.fstat(this.#fd, (error, stat) => (error === null ? resolve(stat.size) : reject(error)));
    });
  }

  async close(): Promise<void> {
    await closeFd(this.#fd);
    if (this.#durableFd !== undefined) await closeFd(this.#durableFd);
  }
}

/** Writes all, however the system splits it. */
function writeAll(fd: number, buffers: readonly Uint8Array[], offset: number, done: Done): void {
  const first = buffers[0];
  if (first === undefined) {
    done(null);
    return;
  }
  const written = (error: NodeJS.ErrnoException | null, count: number): void => {
    if (error !== null) {
      done(error);
      return;
    }
    const rest = remaining(buffers, count);
    if (rest.length === 0) done(null);
    else if (count === 0) done(Object.assign(new Error('nothing was written'), { code: 'EIO' }));
    else writeAll(fd, rest, offset + count, done);
  };
  if (buffers.length === 1) fs.write(fd, first, 0, first.byteLength, offset, written);
  else fs.writev(fd, buffers.slice(0, IOV_MAX), offset, written);
}

/** What is left of `buffers` after `count` bytes. */
function remaining(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let left = count;
  for (let i = 0; i < buffers.length; i++) {
    const buffer = buffers[i] as Uint8Array;
    if (left < buffer.byteLength) return [buffer.subarray(left), ...buffers.slice(i + 1)];
    left -= buffer.byteLength;
  }
  return [];
}

function openFd(path: string, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, 0o640, (error, fd) => (error === null ? resolve(fd) : reject(error)));
  });
}

function closeFd(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.close(fd, (error) => (error ? reject(error) : resolve()));
  });
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.promises.open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function space(directory: string): Promise<DiskSpace> {
  const stat = await fs.promises.statfs(directory);
  return { freeBytes: stat.bavail * stat.bsize, totalBytes: stat.blocks * stat.bsize };
}
