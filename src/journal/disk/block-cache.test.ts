import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockCache, view } from './block-cache.js';
import type { Segment, SegmentStore } from './segments.js';

const BLOCK_BYTES = 16 << 10;
const OVERLAP_BYTES = 1 << 10;
const BLOCKS_MAX = 6;
const SEGMENT_BYTES = 100 * BLOCK_BYTES;
const SEGMENT = { start: 0, end: SEGMENT_BYTES } as Segment;

/** What stands at a position. */
function byteAt(position: number): number {
  return (position * 31 + (position >>> 9)) & 0xff;
}

class Scene {
  readonly memory = new Set<ArrayBufferLike>();
  readonly cache: BlockCache;
  readonly views: { readonly bytes: Uint8Array; readonly position: number }[] = [];

  constructor() {
    const segments: Pick<SegmentStore, 'at' | 'read'> = {
      at: () => SEGMENT,
      read: async (_segment, bytes, offset) => {
        // Nothing is known of it before it was read.
        bytes.fill(0xee);
        await Promise.resolve();
        for (let i = 0; i < bytes.byteLength; i++) bytes[i] = byteAt(offset + i);
        this.memory.add(bytes.buffer);
      },
    };
    const sizes = { blockBytes: BLOCK_BYTES, overlapBytes: OVERLAP_BYTES, blocksMax: BLOCKS_MAX };
    this.cache = new BlockCache(segments as SegmentStore, sizes);
  }

  async read(position: number, length: number): Promise<void> {
    const block =
      this.cache.find(position, length) ?? (await this.cache.load(this.cache.numberOf(position), SEGMENT));
    const bytes = view(block, position, length);
    if (bytes !== undefined) this.views.push({ bytes, position });
  }

  /** Every view still shows what stands at its position. */
  check(): void {
    for (const { bytes, position } of this.views) {
      const expected = Uint8Array.from(bytes, (_, i) => byteAt(position + i));
      expect(Buffer.compare(bytes, expected)).toBe(0);
    }
  }
}

const reads = fc.array(
  fc.record({
    position: fc.nat(SEGMENT_BYTES - BLOCK_BYTES),
    length: fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 4000, max: BLOCK_BYTES })),
  }),
  { minLength: 20, maxLength: 80 },
);

describe('blocks whose memory is used again', () => {
  it('never change under a view that somebody has', async () => {
    await fc.assert(
      fc.asyncProperty(reads, fc.integer({ min: 1, max: 8 }), async (list, atOnce) => {
        const scene = new Scene();
        for (let i = 0; i < list.length; i += atOnce) {
          await Promise.all(
            list.slice(i, i + atOnce).map(({ position, length }) => scene.read(position, length)),
          );
        }
        scene.check();
        expect(scene.views.length).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  });

  it('are a few, however much is read in small pieces', async () => {
    const scene = new Scene();
    for (let round = 0; round < 4; round++) {
      for (let position = 0; position < SEGMENT_BYTES - 1000; position += 1000) {
        await scene.read(position, 1000);
      }
    }
    expect(scene.memory.size).toBeLessThan(BLOCKS_MAX + 6);
    scene.check();
  });

  it('stay with whoever reads a large piece', async () => {
    const scene = new Scene();
    for (let number = 0; number < 90; number++) await scene.read(number * BLOCK_BYTES, 5000);
    expect(scene.memory.size).toBe(90);
    scene.check();
  });

  it('show nothing once they were given up', async () => {
    const scene = new Scene();
    const block = await scene.cache.load(0, SEGMENT);
    expect(view(block, 0, 10)).toBeDefined();
    scene.cache.forget(SEGMENT, SEGMENT_BYTES);
    expect(view(block, 0, 10)).toBeUndefined();
  });
});
