import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FailingFiles } from '../../../test/support/failing-files.js';
import { entryOf, TestStore } from '../../../test/support/disk-store.js';
import { nodeFiles } from './node-files.js';
import { verifyStore } from './verify.js';

const EXTENT_BYTES = 64 * 1024;
/** Of the extents of this size: what is written at once, and what is left free in front of it. */
const FILL_BYTES = 1024;
const MARGIN_BYTES = 128;

let files: FailingFiles;
let store: TestStore;

beforeEach(() => {
  files = new FailingFiles(nodeFiles);
  store = new TestStore({ files, extentBytes: EXTENT_BYTES });
});

afterEach(async () => {
  files.heal();
  await store.dispose();
});

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 1));
};

function segmentBytes(): number {
  return store.read(store.names('segment-')[0] ?? '').length;
}

describe('zeros ahead of small batches', () => {
  it('make the file longer before the entries do, and are no entries', async () => {
    const open = await store.open();
    for (let i = 0; i < 10; i++) await open.put(`entry ${i}`);
    await expect.poll(segmentBytes).toBeGreaterThan(FILL_BYTES);
    const before = segmentBytes();
    await open.put('over zeros');
    expect(segmentBytes()).toBe(before);
    store.kill();
    expect(await verifyStore(store.directory)).toMatchObject({ torn: undefined, damages: [] });
    const again = await store.open();
    expect(again.replayed.map((entry) => entry.text)).toEqual([
      ...Array.from({ length: 10 }, (_, i) => `entry ${i}`),
      'over zeros',
    ]);
  });

  it('are kept up with to the end of the segment and of those that follow', async () => {
    const open = await store.open();
    const texts = Array.from({ length: 300 }, (_, i) => String(i).padEnd(700, 'x'));
    for (const text of texts) await open.put(text);
    expect(files.fills).toBeGreaterThan(100);
    expect(store.names('segment-').length).toBeGreaterThan(3);
    store.kill();
    expect((await store.open()).replayed.map((entry) => entry.text)).toEqual(texts);
  });

  it('that are on their way hold back the batch that would reach into them, and no other', async () => {
    files.holdFills();
    const open = await store.open();
    await open.put('first');
    expect(files.fills).toBe(1);
    expect(await open.put('in front')).toBeDefined();
    const held = open.journal.append(entryOf('x'.repeat(MARGIN_BYTES * 2)), true);
    await turns();
    expect(open.committedBelow).toBeLessThan(held);
    files.releaseFills();
    await expect.poll(() => open.committedBelow).toBeGreaterThan(held);
    store.kill();
    expect((await store.open()).replayed.map((entry) => entry.text.length)).toEqual([5, 8, MARGIN_BYTES * 2]);
  });

  it('are ended before the file is closed', async () => {
    files.holdFills();
    const open = await store.open();
    await open.put('first');
    let closed = false;
    const closing = open.journal.close().then(() => (closed = true));
    await turns();
    expect(closed).toBe(false);
    files.releaseFills();
    await closing;
    expect((await store.open()).replayed.map((entry) => entry.text)).toEqual(['first']);
  });

  it('are done without in a segment for which the disk has no place', async () => {
    files.failFills('ENOSPC');
    const open = await store.open();
    for (let i = 0; i < 20; i++) expect(await open.put('still taken')).toBeDefined();
    expect(files.fills).toBe(1);
  });

  it('that cannot be synced end writing: what was written before them may be lost too', async () => {
    files.holdFills();
    const open = await store.open();
    await open.put('first');
    files.failSyncs('EIO', 1);
    files.releaseFills();
    await turns();
    expect(await open.put('refused')).toBeUndefined();
    await expect(open.journal.flush()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('are left out while batches are large', async () => {
    store = new TestStore({ files, extentBytes: 64 * EXTENT_BYTES });
    const open = await store.open();
    for (let i = 0; i < 20; i++) await open.put('small');
    await turns();
    for (let i = 0; i < 40; i++) await open.put('x'.repeat(100_000));
    await turns();
    const before = files.fills;
    for (let i = 0; i < 40; i++) await open.put('x'.repeat(100_000));
    expect(files.fills).toBe(before);
  });
});
