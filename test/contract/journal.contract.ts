import { afterEach, describe, expect, it } from 'vitest';
import { BrokerError } from '../../src/core/errors.js';
import { ENTRY_HEADER_BYTES } from '../../src/core/ports/journal.js';
import type { Journal, JournalListener, Position } from '../../src/core/ports/journal.js';

/** One store, opened as often as a test likes. */
export interface JournalHarness {
  /** Opens it; a test never has it open twice. */
  open(): Promise<Journal>;
  /** Takes `journal` away without closing it: what it did not commit may be gone at the next `open`. */
  crash(journal: Journal): Promise<void>;
  /** Makes the next commit of `journal` fail for want of space; nothing fails afterwards. */
  failNextGroup(journal: Journal): void;
  dispose(): Promise<void>;
}

interface Replayed {
  readonly position: Position;
  readonly text: string;
}

/** What a listener was told. */
class Told implements JournalListener {
  readonly below: Position[] = [];
  readonly losses: { readonly from: Position; readonly error: BrokerError }[] = [];
  #wake: (() => void)[] = [];

  committed(below: Position): void {
    this.below.push(below);
    this.#changed();
  }

  lost(from: Position, error: BrokerError): void {
    this.losses.push({ from, error });
    this.#changed();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  /** Resolves when the entry whose payload begins at `position` is committed. */
  passed(position: Position): Promise<void> {
    return this.until(() => (this.below.at(-1) ?? -1) > position);
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const resume of wake) resume();
  }
}

function entry(text: string): Uint8Array {
  const bytes = new Uint8Array(ENTRY_HEADER_BYTES + Buffer.byteLength(text));
  bytes.set(Buffer.from(text), ENTRY_HEADER_BYTES);
  return bytes;
}

async function replay(journal: Journal, from = 0): Promise<Replayed[]> {
  const seen: Replayed[] = [];
  await journal.replay(from, (position, payload) => {
    seen.push({ position, text: Buffer.from(payload).toString() });
  });
  return seen;
}

/** The promises of the `Journal` port, for every implementation. */
export function journalContract(name: string, make: () => Promise<JournalHarness>): void {
  describe(`journal contract: ${name}`, () => {
    let harness: JournalHarness;
    let opened: Journal[] = [];

    async function open(): Promise<Journal> {
      const journal = await harness.open();
      opened.push(journal);
      return journal;
    }

    async function started(): Promise<{ journal: Journal; told: Told; seen: Replayed[] }> {
      const journal = await open();
      const checkpoint = await journal.checkpoint();
      const seen = await replay(journal, checkpoint?.position ?? 0);
      const told = new Told();
      journal.start(told);
      return { journal, told, seen };
    }

    async function fresh(): Promise<{ journal: Journal; told: Told }> {
      harness = await make();
      return started();
    }

    afterEach(async () => {
      for (const journal of opened) await journal.close();
      opened = [];
      await harness.dispose();
    });

    it('is empty at first', async () => {
      harness = await make();
      const journal = await open();
      expect(await journal.checkpoint()).toBeUndefined();
      expect(await replay(journal)).toEqual([]);
    });

    it('commits appended entries in order and replays them after a close', async () => {
      const { journal, told } = await fresh();
      const positions = ['one', 'two', 'three'].map((text) => journal.append(entry(text), true));
      expect([...positions].sort((a, b) => a - b)).toEqual(positions);
      await told.passed(positions[2]!);
      expect([...told.below].sort((a, b) => a - b)).toEqual(told.below);
      expect(told.losses).toEqual([]);
      await journal.close();
      const again = await started();
      expect(again.seen).toEqual([
        { position: positions[0], text: 'one' },
        { position: positions[1], text: 'two' },
        { position: positions[2], text: 'three' },
      ]);
    });

    it('gives the position of the first payload byte', async () => {
      const { journal, told } = await fresh();
      const position = journal.append(entry('0123456789'), true);
      await told.passed(position);
      expect(Buffer.from(await journal.read(position + 3, 4)).toString()).toBe('3456');
    });

    it('refuses what has no room for its header, and goes on', async () => {
      const { journal, told } = await fresh();
      for (const bytes of [0, ENTRY_HEADER_BYTES - 1])
        expect(() => journal.append(new Uint8Array(bytes), true)).toThrow('room for its header');
      await told.passed(journal.append(entry('next'), true));
    });

    it('keeps forced entries through a crash', async () => {
      const { journal, told } = await fresh();
      const position = journal.append(entry('forced'), true);
      await told.passed(position);
      await harness.crash(journal);
      const again = await started();
      expect(again.seen).toEqual([{ position, text: 'forced' }]);
    });

    it('keeps everything in front of a forced entry', async () => {
      const { journal, told } = await fresh();
      for (let i = 0; i < 50; i++) journal.append(entry(`loose ${i}`), false);
      const position = journal.append(entry('forced'), true);
      await told.passed(position);
      await harness.crash(journal);
      const { seen } = await started();
      expect(seen.map((s) => s.text)).toEqual([
        ...Array.from({ length: 50 }, (_, i) => `loose ${i}`),
        'forced',
      ]);
    });

    it('commits unforced entries by themselves', async () => {
      const { journal, told } = await fresh();
      const position = journal.append(entry('loose'), false);
      await told.passed(position);
      await journal.close();
      expect((await started()).seen.map((s) => s.text)).toEqual(['loose']);
    });

    it('keeps the first ones of what a crash finds uncommitted, never one without those before it', async () => {
      const { journal } = await fresh();
      for (let i = 0; i < 20; i++) journal.append(entry(`${i}`), i % 3 === 0);
      await harness.crash(journal);
      const { seen } = await started();
      expect(seen.map((s) => s.text)).toEqual(Array.from({ length: seen.length }, (_, i) => `${i}`));
    });

    it('never gives a position twice, over any number of openings', async () => {
      harness = await make();
      let last = -1;
      for (let round = 0; round < 4; round++) {
        const { journal, told, seen } = await started();
        for (const { position } of seen) expect(position).toBeLessThanOrEqual(last);
        const first = journal.append(entry('a'), true);
        expect(first).toBeGreaterThan(last);
        const second = journal.append(entry('b'), true);
        await told.passed(second);
        last = second;
        if (round % 2 === 0) await journal.close();
        else await harness.crash(journal);
      }
      const { seen } = await started();
      expect(seen.map((s) => s.text).join('')).toBe('abababab');
    });

    it('resolves flush when everything appended before is durable, forced or not', async () => {
      const { journal } = await fresh();
      journal.append(entry('loose'), false);
      await journal.flush();
      await harness.crash(journal);
      expect((await started()).seen.map((s) => s.text)).toEqual(['loose']);
    });

    it('resolves flush when there is nothing to do', async () => {
      const { journal } = await fresh();
      await journal.flush();
      journal.append(entry('x'), true);
      await journal.flush();
      await journal.flush();
    });

    it('never lets an entry cross the start of an extent', async () => {
      const { journal, told } = await fresh();
      const size = Math.floor(journal.extentBytes / 3);
      const text = 'x'.repeat(size);
      let last = 0;
      for (let i = 0; i < 10; i++) {
        last = journal.append(entry(text), true);
        const header = last - ENTRY_HEADER_BYTES;
        const extent = Math.floor(header / journal.extentBytes);
        expect(Math.floor((last + size - 1) / journal.extentBytes)).toBe(extent);
      }
      await told.passed(last);
      await journal.close();
      expect((await started()).seen.map((s) => s.text.length)).toEqual(Array<number>(10).fill(size));
    });

    it('takes an entry larger than an extent', async () => {
      const { journal, told } = await fresh();
      journal.append(entry('before'), true);
      const text = 'y'.repeat(journal.extentBytes * 2 + 7);
      const large = journal.append(entry(text), true);
      const after = journal.append(entry('after'), true);
      await told.passed(after);
      const end = await journal.read(large + text.length - 5, 5);
      expect(Buffer.from(end).toString()).toBe('yyyyy');
      await harness.crash(journal);
      const { seen, journal: again } = await started();
      expect(seen.map((s) => s.text.length)).toEqual([6, text.length, 5]);
      expect(Buffer.from(await again.read(large, text.length)).toString()).toBe(text);
    });

    it('takes an entry of many megabytes, with others around it', async () => {
      const { journal, told } = await fresh();
      const text = 'what is large goes in parts; '.repeat(400_000);
      journal.append(entry('before'), true);
      const large = journal.append(entry(text), true);
      const after = journal.append(entry('after'), true);
      await told.passed(after);
      await harness.crash(journal);
      const { seen, journal: again } = await started();
      expect(seen.map((s) => s.text.length)).toEqual([6, text.length, 5]);
      expect(Buffer.from(await again.read(large, text.length)).toString() === text).toBe(true);
    });

    it('takes an empty payload', async () => {
      const { journal, told } = await fresh();
      const position = journal.append(entry(''), true);
      journal.append(entry('z'), true);
      await told.until(() => told.below.length > 0);
      await journal.flush();
      await journal.close();
      expect((await started()).seen[0]).toEqual({ position, text: '' });
    });

    it('takes entries that follow each other in one buffer', async () => {
      const { journal, told } = await fresh();
      const texts = Array.from({ length: 100 }, (_, i) => `message ${i}`);
      const arena = new Uint8Array(10_000);
      let at = 5;
      let last = 0;
      for (const text of texts) {
        const one = entry(text);
        arena.set(one, at);
        last = journal.append(arena.subarray(at, at + one.length), true);
        at += one.length;
      }
      await told.passed(last);
      expect(Buffer.from(journal.peek(last, 10) ?? []).toString()).toBe('message 99');
      await journal.close();
      expect((await started()).seen.map((s) => s.text)).toEqual(texts);
    });

    it('shows bytes in memory at once and reads the others', async () => {
      const { journal, told } = await fresh();
      const position = journal.append(entry('fresh bytes'), true);
      expect(Buffer.from(journal.peek(position, 5) ?? []).toString()).toBe('fresh');
      await told.passed(position);
      await journal.close();
      const { journal: again } = await started();
      expect(Buffer.from(await again.read(position + 6, 5)).toString()).toBe('bytes');
      expect(Buffer.from(again.peek(position, 5) ?? []).toString()).toBe('fresh');
    });

    it('reads every entry of a log of many extents, whatever peek knows', async () => {
      const { journal, told } = await fresh();
      const texts = new Map<Position, string>();
      let last = 0;
      for (let i = 0; i < 300; i++) {
        const text = `${i}:${'.'.repeat((i * 37) % 400)}`;
        last = journal.append(entry(text), true);
        texts.set(last, text);
      }
      await told.passed(last);
      await journal.close();
      const { journal: again } = await started();
      for (const [position, text] of texts) {
        const found = again.peek(position, text.length) ?? (await again.read(position, text.length));
        expect(Buffer.from(found).toString()).toBe(text);
      }
    });

    it('rejects reading what it does not have', async () => {
      const { journal, told } = await fresh();
      const position = journal.append(entry('short'), true);
      await told.passed(position);
      expect(journal.peek(position + 1_000_000_000, 4)).toBeUndefined();
      await expect(journal.read(position + 1_000_000_000, 4)).rejects.toMatchObject({ kind: 'internal' });
    });

    it('starts from its newest checkpoint', async () => {
      const { journal, told } = await fresh();
      journal.append(entry('covered'), true);
      await journal.writeCheckpoint(journal.position, [Buffer.from('first ')]);
      journal.append(entry('covered too'), true);
      await journal.writeCheckpoint(journal.position, [Buffer.from('second '), Buffer.from('state')]);
      const position = journal.append(entry('later'), true);
      await told.passed(position);
      await harness.crash(journal);
      const again = await open();
      const checkpoint = await again.checkpoint();
      expect(Buffer.from(checkpoint?.data ?? []).toString()).toBe('second state');
      expect(await replay(again, checkpoint?.position)).toEqual([{ position, text: 'later' }]);
    });

    it('makes everything a checkpoint covers durable with it', async () => {
      const { journal } = await fresh();
      const position = journal.append(entry('loose'), false);
      await journal.writeCheckpoint(journal.position, [Buffer.from('knows loose')]);
      await harness.crash(journal);
      const { journal: again, seen } = await started();
      expect(seen).toEqual([]);
      expect(Buffer.from(await again.read(position, 5)).toString()).toBe('loose');
    });

    it('takes a checkpoint of nothing, and one at the same position again', async () => {
      const { journal } = await fresh();
      await journal.writeCheckpoint(journal.position, []);
      await journal.writeCheckpoint(journal.position, [Buffer.from('more')]);
      await journal.close();
      const again = await open();
      expect(Buffer.from((await again.checkpoint())?.data ?? []).toString()).toBe('more');
    });

    it('keeps discarded extents from no one who needs them, and everything else', async () => {
      const { journal, told } = await fresh();
      const text = 'd'.repeat(Math.floor(journal.extentBytes / 2));
      const positions = Array.from({ length: 12 }, () => journal.append(entry(text), true));
      await told.passed(positions[11]!);
      await journal.writeCheckpoint(journal.position, [Buffer.from('1')]);
      const extents = [...new Set(positions.map((p) => Math.floor(p / journal.extentBytes)))];
      const kept = extents[2]!;
      journal.discard(extents.slice(0, -1).filter((extent) => extent !== kept));
      const last = journal.append(entry('more'), true);
      await told.passed(last);
      await journal.writeCheckpoint(journal.position, [Buffer.from('2')]);
      await harness.crash(journal);
      const { journal: again } = await started();
      for (const position of positions.filter((p) => Math.floor(p / again.extentBytes) === kept)) {
        expect(Buffer.from(await again.read(position, text.length)).toString()).toBe(text);
      }
      expect(again.extents()).toContain(kept);
      expect(again.extents().length).toBeLessThan(extents.length);
    });

    it('reports a lost group, keeps what was committed and goes on at positions never used', async () => {
      const { journal, told } = await fresh();
      const kept = journal.append(entry('kept'), true);
      await told.passed(kept);
      harness.failNextGroup(journal);
      const lost = journal.append(entry('lost'), true);
      const lostToo = journal.append(entry('lost too'), false);
      await told.until(() => told.losses.length > 0);
      expect(told.losses[0]!.error.kind).toBe('unavailable');
      expect(told.losses[0]!.from).toBeLessThanOrEqual(lost);
      expect(told.losses[0]!.from).toBeGreaterThan(kept);
      expect(told.below.at(-1)).toBeLessThanOrEqual(lost);

      // Lost entries may be refused for a moment more; each is reported.
      let position = 0;
      for (let tries = 0; tries < 100; tries++) {
        const losses = told.losses.length;
        position = journal.append(entry('after'), true);
        expect(position).toBeGreaterThan(lostToo);
        await told.until(() => told.losses.length > losses || (told.below.at(-1) ?? 0) > position);
        if ((told.below.at(-1) ?? 0) > position) break;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await harness.crash(journal);
      const { seen } = await started();
      expect(seen).toEqual([
        { position: kept, text: 'kept' },
        { position, text: 'after' },
      ]);
    });

    it('rejects a flush whose entries were lost', async () => {
      const { journal } = await fresh();
      harness.failNextGroup(journal);
      journal.append(entry('lost'), true);
      await expect(journal.flush()).rejects.toMatchObject({ kind: 'unavailable' });
    });

    it('commits what is queued when it closes, and refuses to append afterwards', async () => {
      const { journal } = await fresh();
      for (let i = 0; i < 10; i++) journal.append(entry(`${i}`), i % 2 === 0);
      await journal.close();
      await journal.close();
      expect(() => journal.append(entry('late'), true)).toThrow(BrokerError);
      expect((await started()).seen).toHaveLength(10);
    });

    it('counts', async () => {
      const { journal, told } = await fresh();
      const before = journal.stats();
      const position = journal.append(entry('x'), true);
      await told.passed(position);
      const after = journal.stats();
      expect(after.entries).toBe(before.entries + 1);
      expect(after.bytes).toBeGreaterThan(before.bytes);
      expect(after.groups).toBeGreaterThan(before.groups);
      expect(journal.space().usedBytes).toBeGreaterThan(0);
      expect(journal.shortage).toBeUndefined();
    });
  });
}
