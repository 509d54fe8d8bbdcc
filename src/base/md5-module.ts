/**
 * The code of `md5.ts`: MD5 (RFC 1321) of four messages at once, a lane of 128-bit vectors each, as a WebAssembly module.
 * One step of MD5 waits for the one before, so that a processor is mostly idle within one message; four cost about as much as
 * one. The module is put together here, step by step from the RFC's tables.
 */

/** The memory: the sine table (a vector an entry), the four state vectors, then room for the messages. */
export const TABLE_AT = 0;
export const STATE_AT = 64 * 16;
export const LANES_AT = STATE_AT + 64;

const SHIFTS: readonly (readonly number[])[] = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
];

// Locals: four addresses and the blocks left, then vectors.
const LEFT = 4;
const [A, B, C, D, T, U] = [5, 6, 7, 8, 9, 10];
const STATE = [A, B, C, D] as const;
const BEFORE = [11, 12, 13, 14];
const ROWS = [15, 16, 17, 18];
const WORDS = 19;
const VECTORS = 6 + 4 + 4 + 16;

type Code = readonly (number | readonly number[])[];

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** Of a number from 0 to 63: no sign bit to mind. */
const constant = (value: number): number[] => [0x41, value];
const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const tee = (local: number): number[] => [0x22, local];
const load = (offset: number): number[] => [0xfd, 0x00, 4, ...unsigned(offset)];
const store = (offset: number): number[] => [0xfd, 0x0b, 4, ...unsigned(offset)];
/** Where bytes may stand anywhere. */
const loadUnaligned = (offset: number): number[] => [0xfd, 0x00, 0, ...unsigned(offset)];
const shuffle = (words: readonly number[]): number[] => [
  0xfd,
  0x0d,
  ...words.flatMap((word) => [word * 4, word * 4 + 1, word * 4 + 2, word * 4 + 3]),
];
const NOT = [0xfd, 0x4d];
const AND = [0xfd, 0x4e];
/** The first without the bits of the second. */
const AND_NOT = [0xfd, 0x4f];
const OR = [0xfd, 0x50];
const XOR = [0xfd, 0x51];
const SHIFT_LEFT = [0xfd, 0xab, 0x01];
const SHIFT_RIGHT = [0xfd, 0xad, 0x01];
const ADD = [0xfd, 0xae, 0x01];

const flat = (code: Code): number[] => code.flat();

/** Words 4·group to 4·group + 3 of a block: from a row of each lane to a vector of each word. */
function loadWords(group: number): number[] {
  const [r0 = 0, r1 = 0, r2 = 0, r3 = 0] = ROWS;
  const lows = [0, 4, 1, 5];
  const highs = [2, 6, 3, 7];
  const word = WORDS + group * 4;
  const pair = (first: number, second: number, order: readonly number[]): number[] =>
    flat([get(first), get(second), shuffle(order)]);
  return flat([
    ...ROWS.flatMap((row, lane) => [get(lane), loadUnaligned(group * 16), set(row)]),
    // Halves of two lanes each, then of all four.
    pair(r0, r1, lows),
    set(T),
    pair(r2, r3, lows),
    set(U),
    pair(T, U, [0, 1, 4, 5]),
    set(word),
    pair(T, U, [2, 3, 6, 7]),
    set(word + 1),
    pair(r0, r1, highs),
    set(T),
    pair(r2, r3, highs),
    set(U),
    pair(T, U, [0, 1, 4, 5]),
    set(word + 2),
    pair(T, U, [2, 3, 6, 7]),
    set(word + 3),
  ]);
}

/** One of the 64 steps; `a` to `d` are the locals in their roles. */
function step(index: number, roles: readonly [number, number, number, number]): number[] {
  const [a, b, c, d] = roles;
  const round = index >>> 4;
  const word = [index, 5 * index + 1, 3 * index + 5, 7 * index][round] ?? 0;
  const shift = SHIFTS[round]?.[index % 4] ?? 0;
  const functions: readonly Code[] = [
    [get(d), get(b), get(c), get(d), XOR, AND, XOR, ADD],
    // Two parts without a common bit: the first does not wait for the step before.
    [get(c), get(d), AND_NOT, ADD, get(b), get(d), AND, ADD],
    [get(c), get(d), XOR, get(b), XOR, ADD],
    [get(d), NOT, get(b), OR, get(c), XOR, ADD],
  ];
  return flat([
    get(a),
    get(WORDS + (word % 16)),
    ADD,
    constant(0),
    load(TABLE_AT + index * 16),
    ADD,
    ...(functions[round] ?? []),
    tee(T),
    constant(shift),
    SHIFT_LEFT,
    get(T),
    constant(32 - shift),
    SHIFT_RIGHT,
    OR,
    get(b),
    ADD,
    set(a),
  ]);
}

function body(): number[] {
  const states = STATE.map((local, place) => ({
    local,
    before: BEFORE[place] ?? 0,
    at: STATE_AT + place * 16,
  }));
  const steps: number[] = [];
  let roles: readonly [number, number, number, number] = [A, B, C, D];
  for (let index = 0; index < 64; index++) {
    steps.push(...step(index, roles));
    const [a, b, c, d] = roles;
    roles = [d, a, b, c];
  }
  return flat([
    [1, VECTORS, 0x7b],
    ...states.flatMap(({ local, at }) => [constant(0), load(at), set(local)]),
    [0x03, 0x40],
    ...states.flatMap(({ local, before }) => [get(local), set(before)]),
    ...[0, 1, 2, 3].map(loadWords),
    steps,
    ...states.flatMap(({ local, before }) => [get(local), get(before), ADD, set(local)]),
    ...[0, 1, 2, 3].flatMap((lane) => [get(lane), [0x41, 0xc0, 0x00, 0x6a], set(lane)]),
    get(LEFT),
    [0x41, 0x01, 0x6b],
    tee(LEFT),
    [0x0d, 0x00],
    [0x0b],
    ...states.flatMap(({ local, at }) => [constant(0), get(local), store(at)]),
    [0x0b],
  ]);
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

const name = (text: string): number[] => [text.length, ...Buffer.from(text, 'latin1')];

/** The module's bytes. It exports `memory` and `run(lane0, lane1, lane2, lane3, blocks)`. */
export function md5Module(pages: number): Uint8Array {
  const code = body();
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 5, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0x01, pages, pages]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('run'), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}
