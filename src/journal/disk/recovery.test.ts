import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import { entryOf, RecordingLog, TestStore } from '../../../test/support/disk-store.js';

let store: TestStore;

beforeEach(() => {
  store = new TestStore();
});

afterEach(() => store.dispose());

const TEXTS = Array.from({ length: 8 }, (_, i) => `entry number ${i}`);

/** A store with eight entries, each a commit of its own; positions of their headers. */
async function filled(close: boolean): Promise<number[]> {
  const { journal, put } = await store.open();
  const headers: number[] = [];
  for (const text of TEXTS) headers.push(((await put(text)) ?? 0) - ENTRY_HEADER_BYTES);
  if (close) await journal.close();
  else store.kill();
  return headers;
}

async function texts(): Promise<string[]> {
  return (await store.open()).replayed.map((entry) => entry.text);
}

describe('a damaged entry with durable entries behind it', () => {
  for (const close of [true, false]) {
    it(`stops the opening, whichever byte it is (${close ? 'closed' : 'killed'})`, async () => {
      const headers = await filled(close);
      const [segment] = store.names('segment-');
      const [from, to] = [headers[2]!, headers[3]!];
      for (let offset = from; offset < to; offset++) {
        const good = store.read(segment!);
        store.flip(segment!, offset, offset % 8);
        await expect(store.open()).rejects.toMatchObject({
          kind: 'precondition',
          message: expect.stringMatching(
            new RegExp(`damaged: .*${segment} at offset ${from}: .*polymq store repair ${store.directory}`),
          ) as string,
        });
        store.write(segment!, good);
      }
      expect(await texts()).toEqual(TEXTS);
    });
  }

  it('stops the opening when it is the first of its segment', async () => {
    await filled(true);
    const [segment] = store.names('segment-');
    store.flip(segment!, 9);
    await expect(store.open()).rejects.toThrow(/at offset 0: its first entry is damaged/);
  });

  it('stops the opening when it is the first of the newest segment', async () => {
    await filled(true);
    const again = await store.open();
    for (const text of TEXTS) await again.put(text);
    store.kill();
    const segment = store.names('segment-')[1]!;
    store.flip(segment, 30);
    await expect(store.open()).rejects.toThrow(
      new RegExp(`${segment} at offset 0: its first entry is damaged`),
    );
  });

  it('stops the opening when it is the last of a segment that is not the last', async () => {
    const { put, journal } = await store.open();
    const text = 'x'.repeat(1500);
    for (let i = 0; i < 6; i++) await put(text);
    await journal.close();
    const [first] = store.names('segment-');
    store.flip(first!, 32 + 24 + 1500 + 24 + 700);
    await expect(store.open()).rejects.toThrow(new RegExp(`${first} at offset 1556: a damaged entry`));
  });

  it('stops the opening when a segment is missing', async () => {
    const { put, journal } = await store.open();
    for (let i = 0; i < 9; i++) await put('x'.repeat(1500));
    await journal.close();
    const [, second] = store.names('segment-');
    rmSync(join(store.directory, second!));
    await expect(store.open()).rejects.toThrow(/the store is damaged/);
  });

  it('stops the opening when the first segment is missing and no checkpoint covers it', async () => {
    const { put, journal } = await store.open();
    for (let i = 0; i < 9; i++) await put('x'.repeat(1500));
    await journal.close();
    rmSync(join(store.directory, store.names('segment-')[0]!));
    await expect(store.open()).rejects.toThrow(/is missing/);
  });

  it('leaves everything as it was', async () => {
    const headers = await filled(true);
    const [segment] = store.names('segment-');
    store.flip(segment!, headers[1]! + 30);
    const before = store.read(segment!);
    await expect(store.open()).rejects.toThrow();
    expect(store.read(segment!)).toEqual(before);
    expect(store.names('torn-')).toEqual([]);
  });
});

describe('a torn tail', () => {
  it('is cut wherever the file ends, and what was whole stays', async () => {
    const headers = await filled(false);
    const [segment] = store.names('segment-');
    const whole = store.read(segment!);
    const end = headers[7]! + ENTRY_HEADER_BYTES + TEXTS[7]!.length;
    // Only the last commit may be torn; the others were known to be durable by the entries behind them.
    for (let length = headers[7]!; length < end; length++) {
      store.write(segment!, whole.subarray(0, length));
      const open = await store.open();
      expect(open.replayed.map((entry) => entry.text)).toEqual(TEXTS.slice(0, 7));
      await open.journal.close();
      for (const later of store.names('segment-').slice(1)) rmSync(join(store.directory, later));
    }
  });

  it('is kept aside and reported when an entry was begun', async () => {
    const headers = await filled(false);
    const [segment] = store.names('segment-');
    store.flip(segment!, headers[7]! + ENTRY_HEADER_BYTES + 2);
    const damaged = store.read(segment!);
    const log = new RecordingLog();
    const open = await store.open({ log });
    expect(open.replayed.map((entry) => entry.text)).toEqual(TEXTS.slice(0, 7));
    const [torn] = store.names('torn-');
    expect(store.read(torn!)).toEqual(damaged.subarray(headers[7]));
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        fields: {
          file: segment,
          offset: headers[7],
          position: headers[7],
          wholeEntriesBehind: 0,
          keptIn: torn,
        },
      }),
    );
  });

  it('takes whole entries of the same commit with it', async () => {
    const { journal, put } = await store.open();
    await put('before');
    const last = ['a', 'b', 'c', 'd'].map((text) => journal.append(entryOf(text), true));
    await journal.flush();
    store.kill();
    const [segment] = store.names('segment-');
    store.flip(segment!, last[1]!);
    expect(await texts()).toEqual(['before', 'a']);
  });

  it('never comes back, however often the store is opened', async () => {
    const headers = await filled(false);
    const [segment] = store.names('segment-');
    const damaged = store.read(segment!);
    store.flip(segment!, headers[7]! + ENTRY_HEADER_BYTES + 2);
    const again = await store.open();
    const position = await again.put('afterwards');
    expect(position).toBeGreaterThan(headers[7]!);
    store.kill();
    // As if the cut itself had not reached the device: the old bytes are there again.
    store.write(segment!, damaged);
    expect(await texts()).toEqual([...TEXTS.slice(0, 7), 'afterwards']);
    expect(await texts().catch((error: unknown) => String(error))).toMatch(/in use/);
  });

  it('is not seen in a segment that was made and never used', async () => {
    await filled(true);
    store.write('segment-0000000007-000001', Buffer.alloc(4096));
    expect(await texts()).toEqual(TEXTS);
    expect(store.names('segment-')).not.toContain('segment-0000000007-000001');
  });
});

describe('a segment that is written over', () => {
  it('shows nothing of what it held before', async () => {
    const first = await store.open();
    const text = 'y'.repeat(400);
    for (let i = 0; i < 40; i++) await first.put(text + String(i));
    await first.journal.writeCheckpoint(first.journal.position, [Buffer.from('1')]);
    await first.journal.writeCheckpoint(first.journal.position, [Buffer.from('2')]);
    const last = Math.floor(first.journal.position / 4096);
    first.journal.discard(first.journal.extents().filter((extent) => extent < last));
    // The freed files have the same entry sizes, so stale headers stand where new ones would.
    for (let i = 0; i < 30; i++) await first.put(text + String(i));
    expect(store.names('spare-').length).toBeGreaterThan(0);
    const recycled = store.names('segment-').at(-1)!;
    expect(store.read(recycled).length).toBeGreaterThan(3000);
    store.kill();
    const again = await store.open();
    expect(again.replayed.map((entry) => entry.text)).toEqual(
      Array.from({ length: 30 }, (_, i) => text + String(i)),
    );
  });

  it('keeps few of them', async () => {
    const { journal, put } = await store.open();
    for (let i = 0; i < 60; i++) await put('z'.repeat(3000));
    await journal.writeCheckpoint(journal.position, []);
    await journal.writeCheckpoint(journal.position, []);
    journal.discard(journal.extents().slice(0, -1));
    await put('more');
    await journal.close();
    expect(store.names('spare-')).toHaveLength(8);
    expect(store.names('segment-').length).toBeLessThan(4);
  });
});

describe('checkpoints', () => {
  it('fall back to the one before when the newest is damaged', async () => {
    const { journal, put } = await store.open();
    await put('one');
    await journal.writeCheckpoint(journal.position, [Buffer.from('state one')]);
    await put('two');
    await journal.writeCheckpoint(journal.position, [Buffer.from('state two')]);
    await put('three');
    await journal.close();
    const newest = store.names('checkpoint-').at(-1)!;
    for (const offset of [3, 9, 17, 26, store.read(newest).length - 1]) {
      const good = store.read(newest);
      store.flip(newest, offset);
      const log = new RecordingLog();
      const again = await store.open({ log });
      expect(again.replayed.map((entry) => entry.text)).toEqual(['two', 'three']);
      expect(log.lines[0]).toMatchObject({
        level: 'error',
        message: 'a checkpoint is damaged, trying an older one',
      });
      await again.journal.close();
      store.write(newest, good);
    }
  });

  it('keep what the older one needs', async () => {
    const { journal, put } = await store.open();
    for (let i = 0; i < 10; i++) await put('a'.repeat(2000));
    await journal.writeCheckpoint(journal.position, [Buffer.from('1')]);
    const before = journal.extents();
    for (let i = 0; i < 10; i++) await put('b'.repeat(2000));
    await journal.writeCheckpoint(journal.position, [Buffer.from('2')]);
    journal.discard(journal.extents().slice(0, -1));
    await put('last');
    await journal.close();
    const newest = store.names('checkpoint-').at(-1)!;
    store.flip(newest, 24);
    const again = await store.open();
    expect(again.replayed).toHaveLength(11);
    expect(again.journal.extents()[0]).toBeGreaterThanOrEqual(before.at(-1)!);
  });

  it('that were cut off half way leave nothing', async () => {
    const { journal, put } = await store.open();
    await put('one');
    await journal.close();
    store.write('checkpoint-0000000000000999.tmp', Buffer.alloc(100));
    expect(await texts()).toEqual(['one']);
    expect(store.names('checkpoint-')).toEqual([]);
  });
});

describe('what is no store of ours', () => {
  it('is refused by name when it is newer', async () => {
    await filled(true);
    store.write('format', Buffer.from('{"format":2,"extentBytes":4096,"epoch":3}'));
    await expect(store.open()).rejects.toMatchObject({
      kind: 'precondition',
      message: expect.stringMatching(/has format 2; this version of polymq knows formats up to 1/) as string,
    });
  });

  it('is refused when its format file is damaged or gone', async () => {
    await filled(true);
    const good = store.read('format');
    store.write('format', Buffer.from('{"format":'));
    await expect(store.open()).rejects.toThrow(/format is damaged/);
    rmSync(join(store.directory, 'format'));
    await expect(store.open()).rejects.toThrow(/no format file/);
    store.write('format', good);
    expect(await texts()).toEqual(TEXTS);
  });

  it('keeps its own segment size', async () => {
    await filled(true);
    const again = await store.open({ extentBytes: 1 << 20 });
    expect(again.journal.extentBytes).toBe(4096);
  });
});

it('rejects reading from a file that has become shorter', async () => {
  const { journal, put } = await store.open();
  const first = await put('x'.repeat(3000));
  for (let i = 0; i < 4; i++) await put('y'.repeat(3000));
  await journal.writeCheckpoint(journal.position, []);
  await journal.close();
  const again = await store.open();
  truncateSync(join(store.directory, store.names('segment-')[0]!), 1000);
  await expect(again.journal.read(first!, 3000)).rejects.toMatchObject({
    kind: 'internal',
    message: expect.stringMatching(/is damaged: it ends before offset/) as string,
  });
});
