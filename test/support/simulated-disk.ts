import { BrokerError } from '../../src/core/errors.js';
import type {
  DirectoryLock,
  DiskSpace,
  Done,
  FileLayer,
  StoreFile,
} from '../../src/journal/disk/file-layer.js';
import { randomFrom } from './random.js';
import type { Random } from './random.js';

/** What a device writes whole or not at all, in the meaner of its moods. */
const SECTOR_BYTES = 512;

interface Inode {
  /** What the system shows. */
  bytes: Buffer;
  size: number;
  /** What is on the device. */
  stored: Buffer;
  storedSize: number;
  /** Sectors that differ from the device, with the number of the write that made them so. */
  readonly dirty: Map<number, number>;
  /** The number of the newest write that is on the device, by sector: an older one never comes after it. */
  readonly newest: Map<number, number>;
}

type DirectoryChange =
  | { readonly kind: 'link'; readonly path: string; readonly inode: Inode }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'remove'; readonly path: string };

/**
 * A disk in memory that can lose its power. Then, by seed, every sector that was not synced is the new one or the old one,
 * each for itself; so is the length of every file and every change of a directory. It can also be full, and fail to sync.
 *
 * Writes and syncs complete out of order, some turns of the event loop later.
 */
export class SimulatedDisk {
  readonly #random: Random;
  /** Names as the system shows them, and as they are on the device with what was changed since. */
  #names = new Map<string, Inode>();
  #storedNames = new Map<string, Inode>();
  #changes: DirectoryChange[] = [];
  #writes = 0;
  /** Rises when a process or the machine ends: what older handles do no longer has any effect. */
  #life = 0;
  #locked = false;
  /** Bytes that all files together may have. */
  capacityBytes = Number.POSITIVE_INFINITY;
  /** So many syncs fail, and what they should have stored is quietly taken for stored. */
  failingSyncs = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  /** The file layer of a new process on this machine; those before it are dead. */
  boot(): FileLayer {
    this.#life += 1;
    this.#locked = false;
    return new SimulatedFiles(this, this.#life);
  }

  /** Takes the power away. */
  losePower(): void {
    this.#life += 1;
    for (const change of this.#changes) if (this.#random.chance(0.5)) apply(this.#storedNames, change);
    this.#changes = [];
    this.#names = new Map(this.#storedNames);
    for (const inode of new Set(this.#names.values())) this.#settle(inode);
  }

  /** Flips one bit of a file. */
  flipBit(path: string, offset: number, bit: number): void {
    const inode = this.#names.get(path) as Inode;
    inode.bytes[offset] = (inode.bytes[offset] as number) ^ (1 << bit);
    inode.stored[offset] = inode.bytes[offset];
  }

  paths(): string[] {
    return [...this.#names.keys()];
  }

  get usedBytes(): number {
    return [...new Set(this.#names.values())].reduce((sum, inode) => sum + inode.size, 0);
  }

  alive(life: number): boolean {
    return life === this.#life;
  }

  /** Calls `done` some turns later, unless its process is gone by then. */
  later(life: number, done: () => void): void {
    const turns = this.#random.below(4);
    const step = (left: number): void => {
      if (!this.alive(life)) return;
      if (left === 0) done();
      else setImmediate(step, left - 1);
    };
    setImmediate(step, turns);
  }

  find(path: string): Inode | undefined {
    return this.#names.get(path);
  }

  change(change: DirectoryChange): void {
    apply(this.#names, change);
    this.#changes.push(change);
  }

  syncDirectory(): void {
    for (const change of this.#changes) apply(this.#storedNames, change);
    this.#changes = [];
  }

  takeLock(): boolean {
    if (this.#locked) return false;
    this.#locked = true;
    return true;
  }

  releaseLock(): void {
    this.#locked = false;
  }

  /** Puts bytes where the system shows them. Returns how many found room. */
  write(inode: Inode, bytes: Uint8Array, offset: number): number {
    const growth = Math.max(0, offset + bytes.length - inode.size);
    const room = Math.max(0, this.capacityBytes - this.usedBytes);
    const count = growth <= room ? bytes.length : Math.max(0, bytes.length - (growth - room));
    const end = offset + count;
    if (end > inode.bytes.length) inode.bytes = grown(inode.bytes, end);
    inode.bytes.set(bytes.subarray(0, count), offset);
    inode.size = Math.max(inode.size, end);
    const number = ++this.#writes;
    for (let s = Math.floor(offset / SECTOR_BYTES); s * SECTOR_BYTES < end; s++) inode.dirty.set(s, number);
    return count;
  }

  truncate(inode: Inode, length: number): void {
    if (length > inode.bytes.length) inode.bytes = grown(inode.bytes, length);
    inode.bytes.fill(0, Math.min(length, inode.size));
    const number = ++this.#writes;
    for (let s = Math.floor(length / SECTOR_BYTES); s * SECTOR_BYTES < inode.size; s++)
      inode.dirty.set(s, number);
    inode.size = length;
  }

  /** Notes what is to be stored now; the returned function stores it, but for what was written over meanwhile. */
  beginSync(inode: Inode, from = 0, to = Number.POSITIVE_INFINITY): () => void {
    const noted = [...inode.dirty].filter(([s]) => (s + 1) * SECTOR_BYTES > from && s * SECTOR_BYTES < to);
    const copy = Buffer.from(inode.bytes);
    const lost = this.failingSyncs > 0;
    if (lost) this.failingSyncs -= 1;
    return () => {
      for (const [s, number] of noted) {
        if (!lost && number >= (inode.newest.get(s) ?? 0)) {
          storeSector(inode, s, copy);
          inode.newest.set(s, number);
        }
        if (inode.dirty.get(s) === number) inode.dirty.delete(s);
      }
      if (lost) throw Object.assign(new Error('injected EIO'), { code: 'EIO' });
      inode.storedSize = Math.max(
        to === Number.POSITIVE_INFINITY ? 0 : inode.storedSize,
        Math.min(to, inode.size),
      );
    };
  }

  #settle(inode: Inode): void {
    for (const s of inode.dirty.keys()) if (this.#random.chance(0.5)) storeSector(inode, s, inode.bytes);
    inode.dirty.clear();
    if (inode.size !== inode.storedSize && this.#random.chance(0.7)) {
      const between = Math.abs(inode.size - inode.storedSize);
      inode.storedSize = Math.min(inode.size, inode.storedSize) + this.#random.below(between + 1);
    }
    inode.stored = grown(inode.stored, inode.storedSize);
    inode.stored.fill(0, inode.storedSize);
    inode.size = inode.storedSize;
    inode.bytes = Buffer.from(inode.stored);
  }
}

class SimulatedFiles implements FileLayer {
  readonly #disk: SimulatedDisk;
  readonly #life: number;

  constructor(disk: SimulatedDisk, life: number) {
    this.#disk = disk;
    this.#life = life;
  }

  makeDirectory(): Promise<void> {
    return this.#after(() => undefined);
  }

  list(directory: string): Promise<string[]> {
    return this.#after(() =>
      this.#disk
        .paths()
        .filter((path) => path.startsWith(`${directory}/`))
        .map((path) => path.slice(directory.length + 1)),
    );
  }

  open(path: string, mode: 'read' | 'write' | 'create'): Promise<StoreFile> {
    return this.#after(() => {
      let inode = this.#disk.find(path);
      if (inode === undefined) {
        if (mode !== 'create') throw Object.assign(new Error(`no file ${path}`), { code: 'ENOENT' });
        inode = {
          bytes: Buffer.alloc(0),
          size: 0,
          stored: Buffer.alloc(0),
          storedSize: 0,
          dirty: new Map(),
          newest: new Map(),
        };
        this.#disk.change({ kind: 'link', path, inode });
      }
      return this.#file(inode);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#after(() => this.#disk.change({ kind: 'rename', from, to }));
  }

  remove(path: string): Promise<void> {
    return this.#after(() => this.#disk.change({ kind: 'remove', path }));
  }

  syncDirectory(): Promise<void> {
    return this.#after(() => this.#disk.syncDirectory());
  }

  space(): Promise<DiskSpace> {
    const totalBytes = Math.min(this.#disk.capacityBytes, 1e15);
    return this.#after(() => ({ totalBytes, freeBytes: totalBytes - this.#disk.usedBytes }));
  }

  lock(directory: string): Promise<DirectoryLock> {
    return this.#after(() => {
      if (!this.#disk.takeLock()) throw new BrokerError('precondition', `${directory} is in use`);
      return { release: () => this.#after(() => this.#disk.releaseLock()) };
    });
  }

  #file(inode: Inode): StoreFile {
    const disk = this.#disk;
    const finish = (store: () => void, done: Done): void => {
      disk.later(this.#life, () => {
        let failed: NodeJS.ErrnoException | null = null;
        try {
          store();
        } catch (error) {
          failed = error as NodeJS.ErrnoException;
        }
        done(failed);
      });
    };
    return {
      write: (buffers, offset, durable, done) => {
        if (!disk.alive(this.#life)) return;
        const bytes = Buffer.concat(buffers);
        const count = disk.write(inode, bytes, offset);
        const store = durable ? disk.beginSync(inode, offset, offset + count) : (): void => undefined;
        finish(() => {
          store();
          if (count < bytes.length) throw Object.assign(new Error('injected ENOSPC'), { code: 'ENOSPC' });
        }, done);
      },
      sync: (done) => {
        if (disk.alive(this.#life)) finish(disk.beginSync(inode), done);
      },
      read: (target, offset) =>
        this.#after(() => {
          const count = Math.max(0, Math.min(target.byteLength, inode.size - offset));
          target.set(inode.bytes.subarray(offset, offset + count));
          return count;
        }),
      truncate: (length) => this.#after(() => disk.truncate(inode, length)),
      size: () => this.#after(() => inode.size),
      close: () => this.#after(() => undefined),
    };
  }

  #after<T>(act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#disk.later(this.#life, () => {
        try {
          resolve(act());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
  }
}

function apply(names: Map<string, Inode>, change: DirectoryChange): void {
  if (change.kind === 'link') {
    names.set(change.path, change.inode);
  } else if (change.kind === 'remove') {
    names.delete(change.path);
  } else {
    const inode = names.get(change.from);
    if (inode === undefined) return;
    names.delete(change.from);
    names.set(change.to, inode);
  }
}

function storeSector(inode: Inode, sector: number, from: Buffer): void {
  const at = sector * SECTOR_BYTES;
  if (at + SECTOR_BYTES > inode.stored.length) inode.stored = grown(inode.stored, at + SECTOR_BYTES);
  inode.stored.fill(0, at, at + SECTOR_BYTES);
  from.copy(inode.stored, at, at, Math.min(from.length, at + SECTOR_BYTES));
}

function grown(bytes: Buffer, length: number): Buffer {
  if (length <= bytes.length) return bytes;
  const larger = Buffer.alloc(Math.max(length, bytes.length * 2));
  bytes.copy(larger);
  return larger;
}
