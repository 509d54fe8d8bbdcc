import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Log } from '../../base/log.js';
import type { Checkpoint, Position } from '../../core/ports/journal.js';
import type { FileLayer } from './file-layer.js';
import { readWhole, STEP_BYTES, writeWhole } from './files.js';
import { checkpointName, parseCheckpointName } from './layout.js';

/**
 * A checkpoint file, little endian: 8 bytes `PMQCHKPT`, position (8), bytes of data (8), the data, CRC-32 of all before (4).
 */
const MAGIC = Buffer.from('PMQCHKPT', 'latin1');
const HEADER_BYTES = 24;
const TRAILER_BYTES = 4;
/** The newest one, and one to fall back to when it is damaged. */
const KEPT = 2;

interface KnownCheckpoint {
  readonly position: Position;
  readonly bytes: number;
}

/** The checkpoint files of a store. */
export class Checkpoints {
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #log: Log;
  /** Oldest first. */
  #known: KnownCheckpoint[] = [];

  constructor(files: FileLayer, directory: string, log: Log) {
    this.#files = files;
    this.#directory = directory;
    this.#log = log;
  }

  /** Entries below this are needed by no checkpoint. */
  get oldest(): Position {
    return this.#known[0]?.position ?? 0;
  }

  get newest(): Position {
    return this.#known.at(-1)?.position ?? 0;
  }

  get usedBytes(): number {
    return this.#known.reduce((sum, known) => sum + known.bytes, 0);
  }

  /** The newest whole one. Damaged ones are reported, and passed over for an older one. */
  async load(): Promise<Checkpoint | undefined> {
    const positions = await listCheckpoints(this.#files, this.#directory);
    let found: Checkpoint | undefined;
    for (const position of positions.reverse()) {
      const path = join(this.#directory, checkpointName(position));
      const data = await readCheckpoint(this.#files, path, position);
      if (data === undefined) {
        this.#log.error('a checkpoint is damaged, trying an older one', { path });
        continue;
      }
      found ??= { position, data };
      this.#known.unshift({ position, bytes: data.byteLength });
    }
    return found;
  }

  /** Stores one durably, then lets go of those beyond `kept`. */
  async write(position: Position, parts: readonly Uint8Array[], kept = KEPT): Promise<void> {
    const name = checkpointName(position);
    const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
    await writeWhole(this.#files, this.#directory, name, encode(position, bytes, parts));
    this.#known = this.#known.filter((known) => known.position !== position);
    this.#known.push({ position, bytes });
    while (this.#known.length > kept) this.#known.shift();
    await this.#removeOthers();
  }

  /** Damaged and left over ones go too, now that there is a newer one. */
  async #removeOthers(): Promise<void> {
    for (const position of await listCheckpoints(this.#files, this.#directory)) {
      if (this.#known.some((known) => known.position === position)) continue;
      await this.#files.remove(join(this.#directory, checkpointName(position)));
    }
  }
}

/** Positions of the checkpoint files, rising. */
export async function listCheckpoints(files: FileLayer, directory: string): Promise<Position[]> {
  const names = await files.list(directory);
  return names
    .map(parseCheckpointName)
    .filter((position) => position !== undefined)
    .sort((a, b) => a - b);
}

/** The data of a checkpoint file, or undefined when it is not whole. */
export async function readCheckpoint(
  files: FileLayer,
  path: string,
  position: Position,
): Promise<Uint8Array | undefined> {
  const file = await readWhole(files, path).catch(() => undefined);
  if (file === undefined || file.length < HEADER_BYTES + TRAILER_BYTES) return undefined;
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const bytes = Number(file.readBigUInt64LE(16));
  const end = HEADER_BYTES + bytes;
  if (file.length !== end + TRAILER_BYTES || Number(file.readBigUInt64LE(8)) !== position) return undefined;
  if (crc32(file.subarray(0, end)) !== file.readUInt32LE(end)) return undefined;
  return file.subarray(HEADER_BYTES, end);
}

function* encode(position: Position, bytes: number, parts: readonly Uint8Array[]): Iterable<Uint8Array> {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeBigUInt64LE(BigInt(position), 8);
  header.writeBigUInt64LE(BigInt(bytes), 16);
  let sum = crc32(header);
  yield header;
  for (const part of parts) {
    for (let at = 0; at < part.byteLength; at += STEP_BYTES) {
      const step = part.subarray(at, at + STEP_BYTES);
      sum = crc32(step, sum);
      yield step;
    }
  }
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUInt32LE(sum);
  yield trailer;
}
