/** Called once; `error` carries the system's `code` (`ENOSPC`, `EIO`, …). */
export type Done = (error: NodeJS.ErrnoException | null) => void;

/** Place in bytes on the file system that holds a directory. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** One open file. Calls on one file may overlap; the hot ones take callbacks, since a promise a group costs more than it says. */
export interface StoreFile {
  /**
   * Writes all of `buffers` at `offset`. With `durable`, these bytes (not others of the file) are on the device when
   * `done` is called without error. After an error, nobody knows which of them were written.
   */
  write(buffers: readonly Uint8Array[], offset: number, durable: boolean, done: Done): void;
  /** Makes everything written before durable, and the file's length. */
  sync(done: Done): void;
  /** Fills `target` from `offset` on; resolves with the number of bytes read, less than asked only at the end of the file. */
  read(target: Uint8Array, offset: number): Promise<number>;
  truncate(length: number): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}

/** A held directory. */
export interface DirectoryLock {
  release(): Promise<void>;
}

/**
 * What the disk journal asks of a file system: everything it does goes through here, so that tests can take the power
 * away, fill the disk and break it. Paths are absolute.
 */
export interface FileLayer {
  makeDirectory(path: string): Promise<void>;
  /** Names in a directory, in no order. */
  list(directory: string): Promise<string[]>;
  /** `create` makes the file when it is absent and leaves it as it is otherwise. */
  open(path: string, mode: 'read' | 'write' | 'create'): Promise<StoreFile>;
  /** Replaces `to` atomically. Durable after `syncDirectory`. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
  space(directory: string): Promise<DiskSpace>;
  /** Takes the directory for this process; rejects with `precondition` naming the holder when another one has it. */
  lock(directory: string): Promise<DirectoryLock>;
}
