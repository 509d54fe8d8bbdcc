import { crc32 } from 'node:zlib';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { ReadState } from './log-reader.js';
import type { JournalNames } from './names.js';
import { PublishError, type FencedStream } from './stream.js';

/** The newest one, and one to fall back to when it is damaged. */
const KEPT = 2;
const PART_BYTES_MAX = 512 * 1024;
/** Parts published at once. */
const PARTS_IN_FLIGHT = 4;
const TRIES = 5;

/** A checkpoint as the head message lists it. */
interface Manifest {
  readonly id: string;
  readonly position: Position;
  /** Where replay begins. */
  readonly replay: ReadState;
  readonly extentBytes: number;
  /** Bytes of the index of messages, which stands in front of the data. */
  readonly indexBytes: number;
  readonly bytes: number;
  readonly crc: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface LoadedCheckpoint {
  readonly position: Position;
  readonly replay: ReadState;
  readonly extentBytes: number;
  readonly index: Uint8Array;
  readonly data: Uint8Array;
}

/**
 * Checkpoints in a stream of their own: parts first, then one message that lists the whole ones, newest last. That head is written by
 * compare-and-set: a deposed owner cannot put an older state in front of a newer one.
 */
export class Checkpoints {
  readonly #stream: FencedStream;
  readonly #names: JournalNames;
  readonly #log: Log;
  readonly #writer: number;
  #headSeq = 0;
  #known: Manifest[] = [];
  #count = 0;

  /** `writer`: the epoch of this owner, part of the names of what it writes. */
  constructor(stream: FencedStream, names: JournalNames, writer: number, log: Log) {
    this.#stream = stream;
    this.#names = names;
    this.#writer = writer;
    this.#log = log;
  }

  /** Entries below this are needed by no checkpoint. */
  get oldest(): Position {
    return this.#known[0]?.position ?? 0;
  }

  get usedBytes(): number {
    return this.#known.reduce((sum, known) => sum + known.bytes, 0);
  }

  /** The newest whole one. */
  async load(): Promise<LoadedCheckpoint | undefined> {
    await this.#readHead();
    for (const manifest of [...this.#known].reverse()) {
      const bytes = await this.#readParts(manifest);
      if (bytes === undefined) {
        this.#log.error('a checkpoint is damaged, trying an older one', { position: manifest.position });
        this.#known = this.#known.filter((known) => known !== manifest);
        continue;
      }
      const { position, replay, extentBytes, indexBytes } = manifest;
      return {
        position,
        replay,
        extentBytes,
        index: bytes.subarray(0, indexBytes),
        data: bytes.subarray(indexBytes),
      };
    }
    return undefined;
  }

  /** Stores one, then lets go of those beyond the newest two. Rejects with `unavailable` when a newer owner has written one. */
  async write(
    state: { readonly position: Position; readonly replay: ReadState; readonly extentBytes: number },
    index: Uint8Array,
    parts: readonly Uint8Array[],
  ): Promise<void> {
    this.#count += 1;
    const id = `${this.#writer}-${this.#count}`;
    const subject = this.#names.checkpoint(id);
    const bytes = Buffer.concat([index, ...parts]);
    try {
      const { firstSeq, lastSeq } = await this.#writeParts(subject, bytes);
      const crc = crc32(bytes);
      const manifest = {
        ...state,
        id,
        indexBytes: index.byteLength,
        bytes: bytes.length,
        crc,
        firstSeq,
        lastSeq,
      };
      const known = [...this.#known, manifest].slice(-KEPT);
      await this.#writeHead(known);
      const gone = this.#known.filter((one) => !known.includes(one));
      this.#known = known;
      for (const one of gone) await this.#stream.purge(this.#names.checkpoint(one.id));
    } catch (error) {
      await this.#stream.purge(subject).catch(() => undefined);
      throw error instanceof BrokerError
        ? error
        : new BrokerError('unavailable', 'the checkpoint cannot be written', { cause: error });
    }
  }

  /** Removes parts that nothing lists: what owners left that ended while they wrote. */
  async removeLeftovers(): Promise<void> {
    const listed = new Set([this.#names.head, ...this.#known.map(({ id }) => this.#names.checkpoint(id))]);
    for (const subject of await this.#stream.subjects())
      if (!listed.has(subject)) await this.#stream.purge(subject);
  }

  async #readHead(): Promise<void> {
    const head = await this.#stream.last(this.#names.head);
    this.#headSeq = head?.seq ?? 0;
    this.#known = head === undefined ? [] : (JSON.parse(Buffer.from(head.payload).toString()) as Manifest[]);
  }

  async #writeParts(subject: string, bytes: Buffer): Promise<{ firstSeq: number; lastSeq: number }> {
    const size = Math.min(PART_BYTES_MAX, this.#stream.payloadBytesMax - 1024);
    const count = Math.max(1, Math.ceil(bytes.length / size));
    // The first alone, so that its number is the lowest; a reader sorts the others by what stands in front of each.
    const publish = (i: number): Promise<number> => {
      const part = Buffer.allocUnsafeSlow(4 + Math.min(size, bytes.length - i * size));
      part.writeUInt32LE(i);
      bytes.copy(part, 4, i * size, (i + 1) * size);
      return tried(() => this.#stream.publish(subject, part, {}));
    };
    const firstSeq = await publish(0);
    let lastSeq = firstSeq;
    for (let i = 1; i < count; i += PARTS_IN_FLIGHT) {
      const batch = Array.from({ length: Math.min(PARTS_IN_FLIGHT, count - i) }, (_, k) => publish(i + k));
      lastSeq = Math.max(lastSeq, ...(await Promise.all(batch)));
    }
    return { firstSeq, lastSeq };
  }

  async #writeHead(known: readonly Manifest[]): Promise<void> {
    const payload = Buffer.from(JSON.stringify(known));
    for (let tries = 1; ; tries++) {
      try {
        this.#headSeq = await this.#stream.publish(this.#names.head, payload, {
          lastSubjectSeq: this.#headSeq,
        });
        return;
      } catch (error) {
        const found = await this.#stream.last(this.#names.head);
        if (found !== undefined && Buffer.compare(found.payload, payload) === 0) {
          this.#headSeq = found.seq;
          return;
        }
        const isMine = (found?.seq ?? 0) === this.#headSeq;
        if (!isMine && !this.#isOlder(found?.payload))
          throw new BrokerError('unavailable', 'another owner has written a newer checkpoint', {
            cause: error,
          });
        this.#headSeq = found?.seq ?? 0;
        if (tries >= TRIES) throw error;
      }
    }
  }

  /** Whether a head was written by an owner in front of this one, who wrote it late. */
  #isOlder(payload: Uint8Array | undefined): boolean {
    if (payload === undefined) return true;
    const written = JSON.parse(Buffer.from(payload).toString()) as Manifest[];
    return written.every(({ id }) => Number(id.slice(0, id.indexOf('-'))) < this.#writer);
  }

  async #readParts(manifest: Manifest): Promise<Buffer | undefined> {
    const subject = this.#names.checkpoint(manifest.id);
    const parts = new Map<number, Uint8Array>();
    try {
      await this.#stream.read(manifest.firstSeq, manifest.lastSeq, (message) => {
        if (message.subject !== subject) return;
        const part = Buffer.from(message.payload);
        parts.set(part.readUInt32LE(0), part.subarray(4));
      });
    } catch (error) {
      if (error instanceof BrokerError && error.kind === 'unavailable') throw error;
      return undefined;
    }
    const sorted = [...parts.keys()].sort((a, b) => a - b).map((i) => parts.get(i) as Uint8Array);
    const bytes = Buffer.concat(sorted);
    return bytes.length === manifest.bytes && crc32(bytes) === manifest.crc ? bytes : undefined;
  }
}

/** Parts carry their number, so one that is stored twice does no harm. */
async function tried(publish: () => Promise<number>): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      return await publish();
    } catch (error) {
      if (tries >= TRIES || !(error instanceof PublishError) || error.fault !== 'unknown') throw error;
    }
  }
}
