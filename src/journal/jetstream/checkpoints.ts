import { crc32 } from 'node:zlib';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import { LaterOwner } from './later-owner.js';
import type { ReadState } from './log-reader.js';
import type { JournalNames } from './names.js';
import { readRange } from './range.js';
import { PublishError, type FencedStream } from './stream.js';

/** The newest one, and one to fall back to when it is damaged. */
const KEPT = 2;
const PART_BYTES_MAX = 512 * 1024;
/** Parts published at once. */
const PARTS_IN_FLIGHT = 4;
const TRIES = 5;
/** How often a whole checkpoint is looked for: longer than a server that was cut off takes to notice it. */
const LOADS = 60;
const RETRY_MS = 200;

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

/** The message that says which checkpoints there are, newest last. */
interface Head {
  /** Epoch of the mark of the owner that wrote it. */
  readonly writer: number;
  readonly known: readonly Manifest[];
}

export interface LoadedCheckpoint {
  readonly position: Position;
  readonly replay: ReadState;
  readonly extentBytes: number;
  readonly index: Uint8Array;
  readonly data: Uint8Array;
}

interface CheckpointsParts {
  readonly stream: FencedStream;
  readonly names: JournalNames;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Checkpoints in a stream of their own: parts first, then one message that lists the whole ones, newest last. That head is written by
 * compare-and-set, and each owner begins with one of its own: a deposed owner cannot put an older state in front of a newer one.
 */
export class Checkpoints {
  readonly #stream: FencedStream;
  readonly #names: JournalNames;
  readonly #clock: Clock;
  readonly #log: Log;
  #writer = 0;
  #headSeq = 0;
  #known: readonly Manifest[] = [];
  /** Those that could not be read and were told of. */
  readonly #complained = new Set<string>();
  /** A head got no answer: it may be there, or come. */
  #isUnsure = false;
  #count = 0;

  constructor({ stream, names, clock, log }: CheckpointsParts) {
    this.#stream = stream;
    this.#names = names;
    this.#clock = clock;
    this.#log = log;
  }

  /** Entries below this are needed by no checkpoint. */
  get oldest(): Position {
    return this.#known[0]?.position ?? 0;
  }

  /** The same as the stream has it now. */
  async readOldest(): Promise<Position> {
    await this.#readHead();
    return this.oldest;
  }

  get usedBytes(): number {
    return this.#known.reduce((sum, known) => sum + known.bytes, 0);
  }

  /** The newest whole one. Rejects when there are some and none is whole: what stands in front of them is gone. */
  async load(): Promise<LoadedCheckpoint | undefined> {
    for (let tries = 1; ; tries++) {
      await this.#readHead();
      if (this.#known.length === 0) return undefined;
      const loaded = await this.#loadKnown();
      if (loaded !== undefined) return loaded;
      // Newer ones may have taken their place, or the server that was asked has not everything: another one may answer next.
      if (tries >= LOADS) throw new BrokerError('internal', 'every checkpoint of the journal is damaged');
      await this.#pause();
    }
  }

  async #loadKnown(): Promise<LoadedCheckpoint | undefined> {
    for (const manifest of [...this.#known].reverse()) {
      const bytes = await this.#readParts(manifest);
      if (bytes === undefined) {
        const { id, position } = manifest;
        if (!this.#complained.has(id))
          this.#log.error('a checkpoint is not whole, trying an older one', { position });
        this.#complained.add(id);
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

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(RETRY_MS, resolve));
  }

  /** Stores one, then lets go of those beyond the newest two. Rejects with `unavailable` when a newer owner has written one. */
  async write(
    state: { readonly position: Position; readonly replay: ReadState; readonly extentBytes: number },
    index: Uint8Array,
    parts: readonly Uint8Array[],
  ): Promise<void> {
    if (this.#isUnsure) await this.#findHead();
    this.#count += 1;
    const id = idOf(this.#writer, this.#count);
    const subject = this.#names.checkpoint(id);
    const bytes = Buffer.concat([index, ...parts]);
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
    // What was not whole goes first: behind this one nobody needs it any more.
    const whole = this.#known.filter((one) => !this.#complained.has(one.id));
    const known = [...whole, manifest].slice(-KEPT);
    await this.#writeHead(known);
    const gone = this.#known.filter((one) => !known.includes(one));
    this.#known = known;
    // What is not removed now is one of the leftovers of the next owner.
    for (const one of gone) await this.#stream.purge(this.#names.checkpoint(one.id)).catch(() => undefined);
  }

  /**
   * Fences earlier owners: `writer`, the epoch of this owner's mark, stands in the head from now on. What was written since the loading is
   * known then; parts that nothing lists, which owners left that ended while they wrote, are removed.
   */
  async takeOver(writer: number): Promise<void> {
    this.#writer = writer;
    for (let tries = 1; ; tries++) {
      try {
        const before = await this.#readHead();
        if (before > writer) throw new LaterOwner('the checkpoints belong');
        await this.#writeHead(this.#known);
        break;
      } catch (error) {
        if (error instanceof LaterOwner || tries >= TRIES) throw error;
        await this.#pause();
      }
    }
    await this.#removeLeftovers();
  }

  /** Of earlier owners only: this one may have been paused, and what a later one wrote is listed by a head not known here. */
  async #removeLeftovers(): Promise<void> {
    const listed = new Set(this.#known.map(({ id }) => id));
    for (const subject of await this.#stream.subjects()) {
      const id = this.#names.checkpointOf(subject);
      if (id === undefined || listed.has(id) || writerOf(id) >= this.#writer) continue;
      await this.#stream.purge(subject);
    }
  }

  /** The writer of the head that is there; 0 = nobody. */
  async #readHead(): Promise<number> {
    const head = await this.#stream.last(this.#names.head);
    this.#headSeq = head?.seq ?? 0;
    const read = head === undefined ? undefined : (JSON.parse(Buffer.from(head.payload).toString()) as Head);
    this.#known = read?.known ?? [];
    return read?.writer ?? 0;
  }

  /** What became of a head that got no answer. */
  async #findHead(): Promise<void> {
    if ((await this.#readHead()) !== this.#writer) throw deposed();
    this.#isUnsure = false;
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
    try {
      const firstSeq = await publish(0);
      let lastSeq = firstSeq;
      for (let i = 1; i < count; i += PARTS_IN_FLIGHT) {
        const batch = Array.from({ length: Math.min(PARTS_IN_FLIGHT, count - i) }, (_, k) => publish(i + k));
        lastSeq = Math.max(lastSeq, ...(await Promise.all(batch)));
      }
      return { firstSeq, lastSeq };
    } catch (error) {
      // No head lists them.
      await this.#stream.purge(subject).catch(() => undefined);
      throw new BrokerError('unavailable', 'the checkpoint cannot be written', { cause: error });
    }
  }

  /**
   * Rejects when it is not known to be stored. It may be all the same, so what it lists stays: removing it would leave a head that lists
   * what is gone.
   */
  async #writeHead(known: readonly Manifest[]): Promise<void> {
    const head: Head = { writer: this.#writer, known };
    const payload = Buffer.from(JSON.stringify(head));
    this.#isUnsure = true;
    for (let tries = 1; ; tries++) {
      try {
        const expected = { lastSubjectSeq: this.#headSeq };
        this.#headSeq = await this.#stream.publish(this.#names.head, payload, expected);
        break;
      } catch (error) {
        const found = await this.#stream.last(this.#names.head).catch((silence: unknown) => {
          throw new BrokerError('unavailable', 'the checkpoint cannot be written', { cause: silence });
        });
        if (found !== undefined && Buffer.compare(found.payload, payload) === 0) {
          this.#headSeq = found.seq;
          break;
        }
        // An older one only says that the server is behind.
        if ((found?.seq ?? 0) > this.#headSeq) throw deposed(error);
        if (tries >= TRIES)
          throw new BrokerError('unavailable', 'the checkpoint cannot be written', { cause: error });
        await this.#pause();
      }
    }
    this.#isUnsure = false;
  }

  async #readParts(manifest: Manifest): Promise<Buffer | undefined> {
    const subject = this.#names.checkpoint(manifest.id);
    const parts = new Map<number, Uint8Array>();
    try {
      const range = { from: manifest.firstSeq, to: manifest.lastSeq };
      await readRange({ stream: this.#stream, clock: this.#clock }, range, (message) => {
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

/** Writers rise from owner to owner, so an id is never used again and says who came first. */
function idOf(writer: number, count: number): string {
  return `${writer}-${count}`;
}

function writerOf(id: string): number {
  return Number(id.split('-', 1)[0]);
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

function deposed(cause?: unknown): BrokerError {
  return new BrokerError('unavailable', 'another owner has written a newer checkpoint', { cause });
}
