import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import { ENTRY_HEADER_BYTES } from '../../src/core/ports/journal.js';
import type { Journal, Position } from '../../src/core/ports/journal.js';
import { openDiskJournal } from '../../src/journal/disk/index.js';
import { SimulatedDisk } from '../support/simulated-disk.js';

const EXTENT_BYTES = 4096;
const DIRECTORY = '/store';

interface Written {
  readonly position: Position;
  readonly payload: Buffer;
  readonly forced: boolean;
}

type Step =
  | { readonly do: 'append'; readonly bytes: number; readonly forced: boolean; readonly count: number }
  | { readonly do: 'turns'; readonly count: number }
  | { readonly do: 'flush' }
  | { readonly do: 'checkpoint' }
  | { readonly do: 'discard'; readonly pick: number }
  | { readonly do: 'reopen' }
  | { readonly do: 'kill' }
  | { readonly do: 'power loss' }
  | { readonly do: 'disk full' }
  | { readonly do: 'space again' }
  | { readonly do: 'failing sync' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      bytes: fc.oneof(
        { weight: 8, arbitrary: fc.nat(300) },
        { weight: 2, arbitrary: fc.nat(4096) },
        { weight: 1, arbitrary: fc.nat(12_000) },
      ),
      forced: fc.boolean(),
      count: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'flush' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'checkpoint' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('discard' as const), pick: fc.nat(0xffff) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'kill' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'power loss' as const }) },
);

const brokenStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: step },
  { weight: 1, arbitrary: fc.constant({ do: 'disk full' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'space again' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'failing sync' as const }) },
);

/** An empty entry's payload begins where the entry ends, so places are compared by header. */
function headerOf(entry: Written): Position {
  return entry.position - ENTRY_HEADER_BYTES;
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** The journal over a simulated disk, and what it must remember. */
class Store {
  readonly disk: SimulatedDisk;
  readonly #sync: 'always' | 'interval';
  #journal: Journal | undefined;
  #clock = new ManualClock();
  /** All that was appended and not reported lost, in order. */
  #written: Written[] = [];
  /** What it would be with entries that were reported lost, while nothing behind them is durable: a restart may find those. */
  #doubtful: Written[][] = [];
  /** Everything in front of this was reported committed. */
  #committed = 0;
  /** Entries in front of this must survive anything. */
  #durable = 0;
  /** Positions of checkpoints that may be on the disk: the newest that is surely there, and those begun since. */
  #checkpoints: Position[] = [0];
  readonly #discarded = new Set<number>();
  #serial = 0;

  constructor(seed: number, sync: 'always' | 'interval') {
    this.disk = new SimulatedDisk(seed);
    this.#sync = sync;
  }

  async open(): Promise<void> {
    // A store on a disk that is full or broken is not opened at all.
    this.disk.capacityBytes = Number.POSITIVE_INFINITY;
    this.disk.failingSyncs = 0;
    this.#clock = new ManualClock();
    const journal = await openDiskJournal({
      directory: DIRECTORY,
      files: this.disk.boot(),
      sync: this.#sync,
      syncIntervalMs: 50,
      extentBytes: EXTENT_BYTES,
      freshBytesMax: 2 * EXTENT_BYTES,
      minFreeBytes: 0,
      clock: this.#clock,
      log: silentLog,
    });
    const checkpoint = await journal.checkpoint();
    const from = checkpoint?.position ?? 0;
    expect(this.#checkpoints).toContain(from);
    if (checkpoint !== undefined) expect(Buffer.from(checkpoint.data).toString()).toBe(`state at ${from}`);
    const replayed: { position: Position; payload: Buffer }[] = [];
    await journal.replay(from, (position, payload) =>
      replayed.push({ position, payload: Buffer.from(payload) }),
    );

    // In order, byte for byte, nothing missing in front of what must be there, nothing invented behind.
    const last = replayed.at(-1)?.position ?? -1;
    const written =
      this.#doubtful.find((branch) => branch.some((entry) => entry.position === last)) ?? this.#written;
    const expected = written.filter((entry) => headerOf(entry) >= from);
    const before = written.length - expected.length;
    expect(replayed.length).toBeGreaterThanOrEqual(this.#durable - before);
    expect(replayed.length).toBeLessThanOrEqual(expected.length);
    replayed.forEach((entry, i) => {
      expect(entry.position).toBe(expected[i]!.position);
      expect(entry.payload.equals(expected[i]!.payload)).toBe(true);
    });
    this.#written = written.slice(0, before + replayed.length);
    this.#doubtful = [];
    this.#committed = this.#written.length;
    this.#durable = this.#written.length;
    this.#checkpoints = [from];
    this.#journal = journal;
    journal.start({
      committed: (below) => {
        if (journal !== this.#journal) return;
        while (this.#committed < this.#written.length && headerOf(this.#written[this.#committed]!) < below) {
          this.#committed += 1;
          if (this.#sync === 'always' && this.#written[this.#committed - 1]!.forced)
            this.#durable = this.#committed;
        }
      },
      lost: (lostFrom) => {
        if (journal !== this.#journal) return;
        if (this.#written.some((entry) => headerOf(entry) >= lostFrom)) this.#doubtful.push(this.#written);
        this.#written = this.#written.filter((entry) => headerOf(entry) < lostFrom);
        expect(this.#written.length).toBeGreaterThanOrEqual(this.#committed);
      },
    });
    await this.#checkReads(journal);
  }

  async run(step: Step): Promise<void> {
    const journal = this.#journal!;
    switch (step.do) {
      case 'append':
        for (let i = 0; i < step.count; i++) this.#append(journal, step.bytes, step.forced);
        break;
      case 'turns':
        await turns(step.count);
        this.#clock.advance(3);
        break;
      case 'flush': {
        const count = this.#written.length;
        const flushed = journal.flush().then(
          () => true,
          () => false,
        );
        if (await flushed) this.#isDurable(Math.min(count, this.#written.length));
        break;
      }
      case 'checkpoint': {
        const position = journal.position;
        const count = this.#written.length;
        this.#checkpoints.push(position);
        const stored = await journal.writeCheckpoint(position, [Buffer.from(`state at ${position}`)]).then(
          () => true,
          () => false,
        );
        if (!stored) break;
        this.#checkpoints = [position];
        this.#isDurable(count);
        break;
      }
      case 'discard': {
        const checkpoint = this.#checkpoints[0]!;
        const extents = journal.extents().filter((extent) => (extent + 1) * EXTENT_BYTES <= checkpoint);
        const chosen = extents.filter((_, i) => ((step.pick >> (i % 16)) & 1) === 1);
        for (const extent of chosen) this.#discarded.add(extent);
        journal.discard(chosen);
        break;
      }
      case 'reopen':
        await journal.close();
        this.#afterClose();
        await this.open();
        break;
      case 'kill':
        this.#journal = undefined;
        await this.open();
        break;
      case 'power loss':
        this.#journal = undefined;
        this.disk.losePower();
        await this.open();
        break;
      case 'disk full':
        this.disk.capacityBytes = this.disk.usedBytes + 500;
        break;
      case 'space again':
        this.disk.capacityBytes = Number.POSITIVE_INFINITY;
        this.#clock.advance(200);
        await turns(3);
        break;
      case 'failing sync':
        this.disk.failingSyncs = 1;
        break;
    }
  }

  #isDurable(count: number): void {
    if (count <= this.#durable) return;
    this.#durable = count;
    // A branch ends where its lost entries do, once something behind their place is durable.
    const last = this.#written[count - 1]!;
    this.#doubtful = this.#doubtful.filter((branch) => branch.some((entry) => entry === last));
  }

  /** A clean close keeps everything, unless the disk would not have it. */
  #afterClose(): void {
    if (this.disk.capacityBytes === Number.POSITIVE_INFINITY && this.disk.failingSyncs === 0)
      this.#isDurable(this.#written.length);
  }

  #append(journal: Journal, bytes: number, forced: boolean): void {
    const serial = ++this.#serial;
    const entry = new Uint8Array(ENTRY_HEADER_BYTES + bytes).fill(serial);
    if (bytes >= 4) new DataView(entry.buffer).setUint32(ENTRY_HEADER_BYTES, serial);
    const payload = Buffer.from(entry.subarray(ENTRY_HEADER_BYTES));
    const position = journal.append(entry, forced);
    expect(position).toBeGreaterThan(this.#written.at(-1)?.position ?? -1);
    this.#written.push({ position, payload, forced });
  }

  async #checkReads(journal: Journal): Promise<void> {
    const step = Math.max(1, this.#written.length >> 4);
    for (let i = 0; i < this.#written.length; i += step) {
      const { position, payload } = this.#written[i]!;
      if (this.#discarded.has(Math.floor(position / EXTENT_BYTES))) continue;
      const found = journal.peek(position, payload.length) ?? (await journal.read(position, payload.length));
      expect(Buffer.from(found).equals(payload)).toBe(true);
    }
  }
}

async function check(seed: number, sync: 'always' | 'interval', steps: readonly Step[]): Promise<void> {
  const store = new Store(seed, sync);
  await store.open();
  for (const one of steps) await store.run(one);
  await store.run({ do: 'space again' });
  store.disk.failingSyncs = 0;
  await store.run({ do: 'power loss' });
}

const runs = Number(process.env['POLYMQ_PROPERTY_RUNS'] ?? 150);
/** By hand, as long as so many runs take. */
const TIMEOUT_MS = Math.max(120_000, runs * 1000);

describe('the journal on a disk that loses its power', () => {
  for (const sync of ['always', 'interval'] as const) {
    it(
      `keeps what it promised, in order, and nothing else (sync ${sync})`,
      { timeout: TIMEOUT_MS },
      async () => {
        await fc.assert(
          fc.asyncProperty(fc.nat(), fc.array(step, { minLength: 1, maxLength: 60 }), (seed, steps) =>
            check(seed, sync, steps),
          ),
          { numRuns: runs },
        );
      },
    );
  }

  it('also when the disk is full at times and syncs fail', { timeout: TIMEOUT_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(brokenStep, { minLength: 1, maxLength: 60 }), (seed, steps) =>
        check(seed, 'always', steps),
      ),
      { numRuns: runs },
    );
  });
});
