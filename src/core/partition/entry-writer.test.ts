import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENTRY_HEADER_BYTES } from '../ports/journal.js';
import { EntryWriter } from './entry-writer.js';
import { LiveExtents } from './live-extents.js';

describe('entry writer', () => {
  it('builds entries whose bytes stay, whatever is written afterwards', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.uint8Array({ maxLength: 400 }), fc.nat(50), fc.boolean())),
        (entries) => {
          const w = new EntryWriter(256);
          const taken: { entry: Uint8Array; bytes: Uint8Array }[] = [];
          for (const [bytes, hint, keep] of entries) {
            w.begin(hint);
            expect(w.open).toBe(true);
            w.u32(0);
            w.bytes(bytes);
            expect(w.offset).toBe(bytes.length + 4);
            w.patchU32(0, bytes.length);
            expect(Uint8Array.from(w.view(4, bytes.length))).toEqual(bytes);
            if (keep) taken.push({ entry: w.take(), bytes });
            else w.abandon();
            expect(w.open).toBe(false);
          }
          for (const { entry, bytes } of taken) {
            expect(entry.length).toBe(ENTRY_HEADER_BYTES + 4 + bytes.length);
            expect(Uint8Array.from(entry.subarray(ENTRY_HEADER_BYTES + 4))).toEqual(bytes);
          }
        },
      ),
    );
  });

  it('keeps a view good while it moves to a larger arena', () => {
    const w = new EntryWriter(64);
    w.begin(8);
    w.text('abc');
    const view = w.view(1, 3);
    w.bytes(new Uint8Array(1000));
    expect(Buffer.from(view).toString()).toBe('abc');
    expect(Buffer.from(w.view(1, 3)).toString()).toBe('abc');
  });
});

describe('live extents', () => {
  it('count what is referred to, by extent', () => {
    const change = fc.tuple(fc.nat(999), fc.integer({ min: 1, max: 50 }));
    fc.assert(
      fc.property(fc.array(change), fc.nat(), (changes, gone) => {
        const live = new LiveExtents(100);
        const model = new Map<number, number>();
        const count = (position: number, bytes: number): void => {
          const extent = Math.floor(position / 100);
          model.set(extent, (model.get(extent) ?? 0) + bytes);
        };
        for (const [position, bytes] of changes) {
          live.add(position, bytes);
          count(position, bytes);
        }
        for (const [position, bytes] of changes.slice(0, gone % (changes.length + 1))) {
          live.remove(position, bytes);
          count(position, -bytes);
        }
        live.add(-1, 50);
        const held = [...model].filter(([, bytes]) => bytes > 0);
        expect(live.extents()).toEqual(held.map(([extent]) => extent).sort((a, b) => a - b));
        for (const [extent, bytes] of model) expect(live.of(extent)).toBe(bytes);
        expect(live.total).toBe(held.reduce((sum, [, bytes]) => sum + bytes, 0));
      }),
    );
  });
});
