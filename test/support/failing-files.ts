import type {
  DirectoryLock,
  DiskSpace,
  Done,
  FileLayer,
  StoreFile,
} from '../../src/journal/disk/file-layer.js';

/** A file layer that fails when told to: the disk full, or broken. Everything else goes to the layer below. */
export class FailingFiles implements FileLayer {
  readonly #below: FileLayer;
  #writes: { readonly code: string; left: number } | undefined;
  #fills: { readonly code: string; left: number } | undefined;
  #syncs: { readonly code: string; left: number } | undefined;
  #held: (() => void)[] | undefined;
  /** Writes of nothing but zeros that were asked for. */
  fills = 0;
  /** Syncs of files that were asked for. */
  syncs = 0;
  #opens: { readonly code: string; left: number } | undefined;
  /** Reported instead of the real one. */
  freeBytes: number | undefined;

  constructor(below: FileLayer) {
    this.#below = below;
  }

  /** The next `count` writes of entries write half of their bytes and fail. */
  failWrites(code: string, count = Number.POSITIVE_INFINITY): void {
    this.#writes = { code, left: count };
  }

  /** The next `count` writes of nothing but zeros write half of them and fail. */
  failFills(code: string, count = Number.POSITIVE_INFINITY): void {
    this.#fills = { code, left: count };
  }

  failSyncs(code: string, count = Number.POSITIVE_INFINITY): void {
    this.#syncs = { code, left: count };
  }

  /** The next `count` files are not made. */
  failCreates(code: string, count = Number.POSITIVE_INFINITY): void {
    this.#opens = { code, left: count };
  }

  /** Writes of nothing but zeros wait for `releaseFills`. */
  holdFills(): void {
    this.#held = [];
  }

  releaseFills(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const write of held) write();
  }

  heal(): void {
    this.releaseFills();
    this.#writes = undefined;
    this.#fills = undefined;
    this.#syncs = undefined;
    this.#opens = undefined;
  }

  async open(path: string, mode: 'read' | 'write' | 'create'): Promise<StoreFile> {
    const error = mode === 'create' ? due(this.#opens) : undefined;
    if (error !== undefined) throw error;
    const file = await this.#below.open(path, mode);
    return {
      write: (buffers, offset, durable, done) => {
        const zeros = buffers.every((buffer) => buffer.every((byte) => byte === 0));
        const failed = due(zeros ? this.#fills : this.#writes);
        if (zeros) this.fills += 1;
        if (failed === undefined) {
          const write = (): void => file.write(buffers, offset, durable, done);
          if (zeros && this.#held !== undefined) this.#held.push(write);
          else write();
          return;
        }
        const first = buffers[0] as Uint8Array;
        file.write([first.subarray(0, first.length >> 1)], offset, false, () => done(failed));
      },
      sync: (done: Done) => {
        const failed = due(this.#syncs);
        this.syncs += 1;
        if (failed === undefined) file.sync(done);
        else setImmediate(done, failed);
      },
      read: (target, offset) => file.read(target, offset),
      truncate: (length) => file.truncate(length),
      size: () => file.size(),
      close: () => file.close(),
    };
  }

  makeDirectory(path: string): Promise<void> {
    return this.#below.makeDirectory(path);
  }

  list(directory: string): Promise<string[]> {
    return this.#below.list(directory);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#below.rename(from, to);
  }

  remove(path: string): Promise<void> {
    return this.#below.remove(path);
  }

  syncDirectory(directory: string): Promise<void> {
    return this.#below.syncDirectory(directory);
  }

  async space(directory: string): Promise<DiskSpace> {
    const space = await this.#below.space(directory);
    return this.freeBytes === undefined ? space : { ...space, freeBytes: this.freeBytes };
  }

  lock(directory: string): Promise<DirectoryLock> {
    return this.#below.lock(directory);
  }
}

function due(plan: { readonly code: string; left: number } | undefined): NodeJS.ErrnoException | undefined {
  if (plan === undefined || plan.left <= 0) return undefined;
  plan.left -= 1;
  return Object.assign(new Error(`injected ${plan.code}`), { code: plan.code });
}
