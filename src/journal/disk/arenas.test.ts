import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryWriter } from '../../core/partition/entry-writer.js';
import { Arenas } from './arenas.js';
import { Batch } from './batch.js';
import { RecentBytes } from './recent.js';
import type { Segment } from './segments.js';

const ARENA_BYTES = 1 << 20;
const RECENT_BYTES = 4 << 20;
const SEGMENT = {} as Segment;

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Entries gathered, written and let go as the journal does it, with what was read of them. */
class Scene {
  readonly arenas = new Arenas();
  readonly recent = new RecentBytes(RECENT_BYTES);
  readonly memory = new Set<ArrayBufferLike>();
  readonly writers = [0, 1].map(
    () => new EntryWriter(ARENA_BYTES, (bytes, former) => this.arenas.take(bytes, former)),
  );
  readonly views: { readonly bytes: Uint8Array; readonly hash: string }[] = [];
  readonly entries: { readonly position: number; readonly length: number; readonly hash: string }[] = [];
  #batch = new Batch(SEGMENT, 0, this.arenas);
  #fill = 0;

  /** One entry of `size` bytes by one of the writers; a view of it when `read`. */
  append(writer: number, size: number, read: boolean): void {
    const w = this.writers[writer % this.writers.length]!;
    w.begin(size);
    this.#fill = (this.#fill + 1) % 256;
    w.bytes(Buffer.alloc(size, this.#fill));
    const entry = w.take();
    this.memory.add(entry.buffer);
    const position = this.#batch.end;
    if (this.#batch.entries === 0) this.recent.add(this.#batch);
    this.#batch.add(entry);
    this.entries.push({ position, length: entry.byteLength, hash: hash(entry) });
    if (read) {
      const bytes = this.recent.view(position, entry.byteLength)!;
      expect(hash(bytes)).toBe(hash(entry));
      this.views.push({ bytes, hash: hash(bytes) });
    }
  }

  /** Everything that is still in memory is what was written. */
  check(): void {
    for (const { position, length, hash: expected } of this.entries) {
      const bytes = this.recent.view(position, length);
      if (bytes !== undefined) expect(hash(bytes)).toBe(expected);
    }
    for (const view of this.views) expect(hash(view.bytes)).toBe(view.hash);
  }

  commit(): void {
    this.#batch.state = 'written';
    this.#batch = new Batch(SEGMENT, this.#batch.end, this.arenas);
    this.recent.trim();
  }
}

describe('arenas that are used again', () => {
  it('never change under a view that somebody has', () => {
    const step = fc.record({
      writer: fc.nat(1),
      size: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 100_000, max: 1_500_000 })),
      read: fc.boolean(),
      commit: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
        const scene = new Scene();
        for (const { writer, size, read, commit } of steps) {
          scene.append(writer, size, read);
          if (commit) scene.commit();
        }
        scene.check();
      }),
      { numRuns: 40 },
    );
  });

  it('are a few, however much is written, also when small messages are read', () => {
    const scene = new Scene();
    for (let i = 0; i < 20_000; i++) {
      scene.append(0, 2000, i % 7 === 0);
      if (i % 50 === 49) scene.commit();
    }
    expect(scene.memory.size).toBeLessThan(RECENT_BYTES / ARENA_BYTES + 12);
    scene.check();
  });

  it('stay with whoever reads a large message', () => {
    const scene = new Scene();
    for (let i = 0; i < 200; i++) {
      scene.append(0, 300_000, true);
      scene.commit();
    }
    expect(scene.memory.size).toBeGreaterThan(60);
    scene.check();
  });
});
