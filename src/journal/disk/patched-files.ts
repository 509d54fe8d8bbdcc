import { basename } from 'node:path';
import { BrokerError } from '../../core/errors.js';
import type { FileLayer, StoreFile } from './file-layer.js';

/** Bytes that would stand at a place of a file. */
export interface Patch {
  readonly path: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** Files as they would be with patches written and some names gone. Nothing can be changed through it. */
export function patchedFiles(
  below: FileLayer,
  patches: readonly Patch[],
  gone: ReadonlySet<string>,
): FileLayer {
  return {
    ...readOnly(below),
    list: async (directory) => (await below.list(directory)).filter((name) => !gone.has(name)),
    open: async (path, mode) => {
      if (mode !== 'read' || gone.has(basename(path))) throw refusal();
      const file = await below.open(path, mode);
      return patched(
        file,
        patches.filter((patch) => patch.path === path),
      );
    },
  };
}

function patched(file: StoreFile, patches: readonly Patch[]): StoreFile {
  const size = async (): Promise<number> =>
    Math.max(await file.size(), ...patches.map((patch) => patch.offset + patch.bytes.length));
  return {
    size,
    read: async (target, offset) => {
      const count = Math.min(target.byteLength, Math.max(0, (await size()) - offset));
      target.fill(0, 0, count);
      await file.read(target.subarray(0, count), offset);
      for (const patch of patches) {
        const from = Math.max(offset, patch.offset);
        const to = Math.min(offset + count, patch.offset + patch.bytes.length);
        if (from < to)
          target.set(patch.bytes.subarray(from - patch.offset, to - patch.offset), from - offset);
      }
      return count;
    },
    close: () => file.close(),
    write: (_buffers, _offset, _durable, done) => setImmediate(done, refusal()),
    sync: (done) => setImmediate(done, refusal()),
    truncate: () => Promise.reject(refusal()),
  };
}

function readOnly(below: FileLayer): FileLayer {
  const refuse = (): Promise<never> => Promise.reject(refusal());
  return {
    makeDirectory: refuse,
    list: (directory) => below.list(directory),
    open: refuse,
    rename: refuse,
    remove: refuse,
    syncDirectory: refuse,
    space: (directory) => below.space(directory),
    lock: refuse,
  };
}

function refusal(): BrokerError {
  return new BrokerError('internal', 'this view of the store is read-only');
}
