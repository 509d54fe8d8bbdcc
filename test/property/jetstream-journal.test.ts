import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import { ENTRY_HEADER_BYTES, type Journal, type Position } from '../../src/core/ports/journal.js';
import { journalNames, openJetStreamJournal } from '../../src/journal/jetstream/index.js';
import { randomFrom, type Random } from '../support/random.js';
import { NO_FAULTS, SimulatedConnection, SimulatedStream } from '../support/simulated-stream.js';

const SEEDS = Number(process.env['POLYMQ_SEEDS'] ?? 150);
const FIRST_SEED = Number(process.env['POLYMQ_SEED'] ?? 1);
/** By hand, as long as so many seeds take. */
const TIMEOUT_MS = Math.max(60_000, SEEDS * 1000);
const EXTENT_BYTES = 8192;
/** Short, so that owners give up what may yet be stored. */
const GIVE_UP_MS = 120;
/** Small, so that large entries go in parts. */
const PAYLOAD_BYTES_MAX = 4096;
const names = journalNames('sim', 0);

/** One owner, and what it was told. */
class Owner {
  readonly appended: { readonly position: Position; readonly text: string }[] = [];
  committedBelow = 0;
  /** Positions that were reported lost, and whether something behind them was committed since. */
  readonly lost = new Set<Position>();
  readonly voided = new Set<Position>();
  deposed = false;
  replayed: [Position, string][] = [];
  journal: Journal | undefined;
  readonly connection: SimulatedConnection;
  readonly #name: string;
  readonly #clock: ManualClock;
  readonly #checkpoints: SimulatedConnection;

  constructor(name: string, connection: SimulatedConnection, clock: ManualClock) {
    this.#name = name;
    this.#checkpoints = new SimulatedConnection({
      stream: new SimulatedStream(),
      clock,
      random: randomFrom(1),
    });
    this.connection = connection;
    this.#clock = clock;
  }

  async open(claim: number): Promise<void> {
    const journal = await openJetStreamJournal({
      stream: this.connection,
      checkpoints: this.#checkpoints,
      names,
      claim,
      extentBytes: EXTENT_BYTES,
      giveUpMs: GIVE_UP_MS,
      clock: this.#clock,
      monotonicMs: () => this.#clock.now(),
      log: silentLog,
      onDeposed: () => (this.deposed = true),
    });
    await journal.replay(0, (position, payload) => {
      this.replayed.push([position, Buffer.from(payload).toString()]);
    });
    journal.start({
      committed: (below) => {
        if (below > this.committedBelow) for (const position of this.lost) this.voided.add(position);
        this.committedBelow = Math.max(this.committedBelow, below);
      },
      lost: (from) => {
        for (const { position } of this.appended) if (position > from) this.lost.add(position);
      },
    });
    this.journal = journal;
  }

  append(random: Random): void {
    const size = random.chance(0.05) ? 5000 + random.below(20_000) : random.below(300);
    const text = `${this.#name}/${this.appended.length}/${'.'.repeat(size)}`;
    const entry = Buffer.alloc(ENTRY_HEADER_BYTES + text.length);
    entry.write(text, ENTRY_HEADER_BYTES);
    const position = this.journal?.append(entry, random.chance(0.7)) ?? 0;
    this.appended.push({ position, text });
  }

  /** What it may have told somebody is safe. */
  confirmed(): { readonly position: Position; readonly text: string }[] {
    return this.appended.filter(({ position }) => position < this.committedBelow && !this.lost.has(position));
  }
}

async function turn(clock: ManualClock): Promise<void> {
  clock.advance(1);
  await new Promise((resolve) => setImmediate(resolve));
}

/** Lets `work` come to its end in simulated time. */
async function finish<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const state = { isDone: false };
  const watched = work.finally(() => (state.isDone = true));
  watched.catch(() => undefined);
  for (let i = 0; i < 20_000 && !state.isDone; i++) await turn(clock);
  return watched;
}

/** Owners one after the other on a bad network; the one before may go on as if nothing were. */
async function run(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const clock = new ManualClock();
  const stream = new SimulatedStream();
  const connect = (): SimulatedConnection =>
    new SimulatedConnection({ stream, clock, random, payloadBytesMax: PAYLOAD_BYTES_MAX });
  const owners: Owner[] = [];
  const rounds = 2 + random.below(3);
  for (let round = 0; round < rounds; round++) {
    const owner = new Owner(`o${round}`, connect(), clock);
    await finish(clock, owner.open(round + 1));
    owners.push(owner);
    owner.connection.faults = {
      lost: random.next() * 0.2,
      ackLost: random.next() * 0.2,
      late: random.next() * 0.2,
      full: random.chance(0.3) ? random.next() * 0.1 : 0,
      readLost: random.next() * 0.2,
    };
    const turns = 50 + random.below(300);
    for (let i = 0; i < turns; i++) {
      for (const one of owners) if (random.chance(0.3)) one.append(random);
      await turn(clock);
    }
    if (random.chance(0.5)) owner.connection.cut();
  }
  for (const owner of owners) owner.connection.faults = NO_FAULTS;
  for (let i = 0; i < 1500; i++) await turn(clock);

  const last = new Owner('last', connect(), clock);
  await finish(clock, last.open(rounds + 1));
  check(owners, last);
}

function check(owners: readonly Owner[], last: Owner): void {
  const found = new Map(last.replayed);
  expect(found.size).toBe(last.replayed.length);
  expect(last.replayed.map(([position]) => position)).toEqual([...found.keys()].sort((a, b) => a - b));
  owners.forEach((owner, i) => {
    for (const { position, text } of owner.confirmed()) expect(found.get(position)).toBe(text);
    // What one owner's state was built on is there for every later one.
    for (const [position, text] of owner.replayed) expect(found.get(position)).toBe(text);
    for (const position of owner.voided) expect(found.has(position)).toBe(false);
    // In order, without one missing in between but those reported as lost.
    const mine = last.replayed.filter(([, text]) => text.startsWith(`o${i}/`)).map(([, text]) => text);
    const upTo = owner.appended.findIndex(({ text }) => text === mine.at(-1));
    const expected = owner.appended.slice(0, upTo + 1).filter(({ position }) => !owner.voided.has(position));
    const late = expected.filter(({ text }) => !mine.includes(text));
    expect(late.every(({ position }) => owner.lost.has(position))).toBe(true);
  });
}

describe('the journal on a stream with lost, late and doubled messages', () => {
  it(`keeps what it confirmed and fences who it must, ${SEEDS} seeds`, { timeout: TIMEOUT_MS }, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      try {
        await run(seed);
      } catch (error) {
        throw new Error(`seed ${seed} (POLYMQ_SEED=${seed} POLYMQ_SEEDS=1 runs it alone)`, { cause: error });
      }
    }
  });
});
