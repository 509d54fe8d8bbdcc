import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { BrokerError } from '../core/errors.js';
import type { PortableFigures, PortableItem } from '../core/partition/portable.js';

/*
 * A store in one file: eight bytes of magic with the version of the format, then frames of kind (1), length of the payload (4), CRC-32
 * over kind and payload (4), payload; little endian. A body's payload begins with its place (8). The last frame says how many frames
 * there are: a file without it is not whole.
 */
const MAGIC = Buffer.from('PMQSTOR1');
const FRAME_HEAD_BYTES = 9;
const PLACE_BYTES = 8;
/** Longest payload: the largest message, and the largest part of a state. */
const PAYLOAD_BYTES_MAX = 1 << 30;
const Kind = { body: 1, state: 2, end: 3 } as const;

/** Writes a new file; rejects when there is one. A file that did not become whole is left, and says so when it is read. */
export async function writeStoreFile(
  path: string,
  items: AsyncGenerator<PortableItem, PortableFigures>,
): Promise<PortableFigures> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.write(MAGIC);
    let frames = 0;
    for (;;) {
      const next = await items.next();
      if (next.done === true) {
        const count = Buffer.alloc(8);
        count.writeBigUInt64LE(BigInt(frames));
        await file.write(frame(Kind.end, count));
        await file.sync();
        return next.value;
      }
      await file.write(frameOf(next.value));
      frames++;
    }
  } finally {
    await file.close();
  }
}

function frameOf(item: PortableItem): Buffer {
  if (item.kind === 'state') return frame(Kind.state, item.bytes);
  const place = Buffer.alloc(PLACE_BYTES);
  place.writeBigUInt64LE(BigInt(item.position));
  return frame(Kind.body, place, item.bytes);
}

function frame(kind: number, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  head[0] = kind;
  head.writeUInt32LE(length, 1);
  head.writeUInt32LE(
    parts.reduce((crc, part) => crc32(part, crc), crc32(head.subarray(0, 1))),
    5,
  );
  return Buffer.concat([head, ...parts]);
}

/** Reads a file, frame by frame. Throws `invalid-argument` for what is no such file, damaged or cut off, by its place. */
export async function* readStoreFile(path: string): AsyncGenerator<PortableItem> {
  const source = new Source(path);
  const magic = await source.take(MAGIC.length);
  if (!magic.subarray(0, 7).equals(MAGIC.subarray(0, 7))) throw fault('it is no export of a store');
  if (!magic.equals(MAGIC)) throw fault(`its format ${magic.toString('latin1', 7)} is not format 1`);
  for (let frames = 0; ; frames++) {
    const at = source.offset;
    const head = await source.take(FRAME_HEAD_BYTES);
    const length = head.readUInt32LE(1);
    if (length > PAYLOAD_BYTES_MAX) throw fault(`it is damaged at offset ${at}`);
    const payload = await source.take(length);
    if (crc32(payload, crc32(head.subarray(0, 1))) !== head.readUInt32LE(5))
      throw fault(`it is damaged at offset ${at}`);
    if (head[0] === Kind.state) yield { kind: 'state', bytes: payload };
    else if (head[0] === Kind.body && length >= PLACE_BYTES) {
      const position = Number(payload.readBigUInt64LE(0));
      yield { kind: 'body', position, bytes: payload.subarray(PLACE_BYTES) };
    } else if (head[0] === Kind.end && length === 8 && Number(payload.readBigUInt64LE(0)) === frames) {
      if (!(await source.ended())) throw fault(`something stands behind its end at offset ${source.offset}`);
      return;
    } else throw fault(`it is damaged at offset ${at}`);
  }
}

function fault(what: string): BrokerError {
  return new BrokerError('invalid-argument', `the file cannot be used: ${what}`);
}

/** A file as a run of bytes. */
class Source {
  offset = 0;
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(path: string) {
    const stream = createReadStream(path, { highWaterMark: 1 << 20 });
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async take(length: number): Promise<Buffer> {
    while (this.#heldBytes < length)
      if (!(await this.#more())) throw fault(`it ends early, at offset ${this.offset + this.#heldBytes}`);
    const all = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held);
    this.#held = all.length > length ? [all.subarray(length)] : [];
    this.#heldBytes -= length;
    this.offset += length;
    return all.subarray(0, length);
  }

  async ended(): Promise<boolean> {
    return this.#heldBytes === 0 && !(await this.#more());
  }

  async #more(): Promise<boolean> {
    const next = await this.#chunks.next();
    if (next.done === true) return false;
    this.#held.push(next.value);
    this.#heldBytes += next.value.length;
    return true;
  }
}
