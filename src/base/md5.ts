import { hash } from 'node:crypto';
import { LANES_AT, md5Module, STATE_AT, TABLE_AT } from './md5-module.js';

const LANES = 4;
const LANE_BYTES = 16 * 1024;
const PAGES = 2;
const BLOCK_BYTES = 64;
/** What stands behind a message at least: a bit and its length. */
const PADDING_BYTES = 9;
/** Longer ones are hashed one by one: so much of them costs more than the call. */
const SHORT_BYTES_MAX = LANE_BYTES - PADDING_BYTES;
const START = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476] as const;
/** Characters of a digest in hexadecimal. */
export const MD5_CHARS = 32;
const HEX = Buffer.from('0123456789abcdef', 'latin1');

/** What is used of it here: the language's own library does not name it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Readonly<Record<string, unknown>> };
};

interface Machine {
  readonly memory: Buffer;
  readonly words: Uint32Array;
  /** Hashes so many blocks of each lane from its address on. */
  readonly run: (...lanesAndBlocks: [number, number, number, number, number]) => void;
}

let machine: Machine | undefined;

function start(): Machine {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(md5Module(PAGES)));
  const { buffer } = exports['memory'] as { buffer: ArrayBuffer };
  const words = new Uint32Array(buffer);
  for (let entry = 0; entry < 64; entry++) {
    words.fill(
      Math.floor(Math.abs(Math.sin(entry + 1)) * 2 ** 32),
      TABLE_AT / 4 + entry * 4,
      TABLE_AT / 4 + entry * 4 + 4,
    );
  }
  return { memory: Buffer.from(buffer), words, run: exports['run'] as Machine['run'] };
}

/** MD5 of a message, in lower-case hexadecimal. */
export function md5(message: Uint8Array): string {
  return hash('md5', message, 'hex');
}

/** The same of many, the characters of one behind those of the other; several times as fast when they are short. */
export function md5OfAll(messages: readonly Uint8Array[]): Buffer {
  const out = Buffer.allocUnsafe(messages.length * MD5_CHARS);
  const short: number[] = [];
  for (let place = 0; place < messages.length; place++) {
    const message = messages[place] as Uint8Array;
    if (messages.length > 1 && message.length <= SHORT_BYTES_MAX) short.push(place);
    else out.write(md5(message), place * MD5_CHARS, 'latin1');
  }
  if (short.length > 0) hashShort(messages, short, out);
  return out;
}

/** Fills the lanes, and again each that is done, until nothing is left. */
function hashShort(messages: readonly Uint8Array[], places: readonly number[], out: Buffer): void {
  machine ??= start();
  const { memory, run } = machine;
  // Of each lane: which message it has (-1 = none), where its next block stands, and how many are left.
  const held = [-1, -1, -1, -1];
  const at = [0, 0, 0, 0];
  const left = [0, 0, 0, 0];
  let next = 0;
  for (;;) {
    let blocks = Number.POSITIVE_INFINITY;
    for (let lane = 0; lane < LANES; lane++) {
      if (held[lane] === -1 && next < places.length) {
        at[lane] = LANES_AT + lane * LANE_BYTES;
        left[lane] = fill(machine, lane, messages[places[next] as number] as Uint8Array);
        held[lane] = next++;
      }
      // A lane without a message hashes whatever stands there.
      if (held[lane] === -1) at[lane] = LANES_AT + lane * LANE_BYTES;
      else blocks = Math.min(blocks, left[lane] as number);
    }
    if (blocks === Number.POSITIVE_INFINITY) break;
    run(at[0] as number, at[1] as number, at[2] as number, at[3] as number, blocks);
    for (let lane = 0; lane < LANES; lane++) {
      at[lane] = (at[lane] as number) + blocks * BLOCK_BYTES;
      if (held[lane] === -1) continue;
      left[lane] = (left[lane] as number) - blocks;
      if (left[lane] !== 0) continue;
      writeDigest(memory, lane, out, (places[held[lane] as number] as number) * MD5_CHARS);
      held[lane] = -1;
    }
  }
}

/** Puts a padded message into a lane and sets its state to the beginning; returns its blocks. */
function fill({ memory, words }: Machine, lane: number, message: Uint8Array): number {
  const { length } = message;
  const blocks = Math.ceil((length + PADDING_BYTES) / BLOCK_BYTES);
  const from = LANES_AT + lane * LANE_BYTES;
  const end = from + blocks * BLOCK_BYTES;
  memory.set(message, from);
  memory[from + length] = 0x80;
  memory.fill(0, from + length + 1, end);
  words[end / 4 - 2] = length * 8;
  for (let word = 0; word < START.length; word++)
    words[STATE_AT / 4 + word * LANES + lane] = START[word] as number;
  return blocks;
}

/** The state of a lane, as text. */
function writeDigest(memory: Buffer, lane: number, out: Buffer, start: number): void {
  let to = start;
  for (let word = 0; word < START.length; word++) {
    const from = STATE_AT + (word * LANES + lane) * 4;
    for (let place = from; place < from + 4; place++) {
      const byte = memory[place] as number;
      out[to++] = HEX[byte >>> 4] as number;
      out[to++] = HEX[byte & 15] as number;
    }
  }
}
