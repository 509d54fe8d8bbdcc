import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FailingFiles } from '../../../test/support/failing-files.js';
import { entryOf, RecordingLog, TestStore } from '../../../test/support/disk-store.js';
import type { OpenStore } from '../../../test/support/disk-store.js';
import { EntryWriter } from '../../core/partition/entry-writer.js';
import { ENTRY_HEADER_BYTES } from '../../core/ports/journal.js';
import { nodeFiles } from './node-files.js';

let files: FailingFiles;
let log: RecordingLog;
let store: TestStore;

beforeEach(() => {
  files = new FailingFiles(nodeFiles);
  log = new RecordingLog();
  store = new TestStore({ files, log });
});

afterEach(async () => {
  files.heal();
  await store.dispose();
});

async function texts(): Promise<string[]> {
  const open = await store.open();
  const seen = open.replayed.map((entry) => entry.text);
  await open.journal.close();
  return seen;
}

/** Lets the pause after a failed write pass. */
async function afterPause(open: OpenStore): Promise<void> {
  open.clock.advance(200);
  await new Promise((resolve) => setImmediate(resolve));
}

describe('a full disk', () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    it(`loses what cannot be written, says so, and goes on when there is space (${code})`, async () => {
      const open = await store.open();
      await open.put('before');
      files.failWrites(code);
      expect(await open.put('lost')).toBeUndefined();
      expect(open.journal.shortage).toBe('the disk is nearly full');
      for (let i = 0; i < 5; i++) {
        expect(await open.put('refused at once')).toBeUndefined();
        await afterPause(open);
        expect(await open.put('tried again')).toBeUndefined();
      }
      files.heal();
      await afterPause(open);
      expect(await open.put('after')).toBeDefined();
      open.clock.advance(1000);
      await expect.poll(() => open.journal.shortage).toBeUndefined();
      await open.journal.close();
      expect(await texts()).toEqual(['before', 'after']);
    });
  }

  it('keeps unforced entries that were written before', async () => {
    const open = await store.open();
    await open.put('loose', false);
    files.failWrites('ENOSPC');
    expect(await open.put('lost')).toBeUndefined();
    files.heal();
    await afterPause(open);
    await open.put('after');
    store.kill();
    expect(await texts()).toEqual(['loose', 'after']);
  });

  it('also when the next segment cannot be made', async () => {
    const open = await store.open();
    await open.put('a'.repeat(1000));
    files.failCreates('ENOSPC');
    expect(await open.put('b'.repeat(3100))).toBeUndefined();
    files.heal();
    await afterPause(open);
    expect(await open.put('c')).toBeDefined();
    expect(await open.put('d'.repeat(3000))).toBeDefined();
    await open.journal.close();
    expect((await texts()).map((text) => text.slice(0, 1))).toEqual(['a', 'c', 'd']);
  });

  it('lays nothing over what it refused, which is written again when there is space', async () => {
    const open = await store.open();
    files.failWrites('ENOSPC');
    expect(await open.put('lost')).toBeUndefined();
    const writer = new EntryWriter(undefined, open.journal.arena?.bind(open.journal));
    const refused: { readonly entry: Uint8Array; readonly fill: number }[] = [];
    // In one turn: whoever appended them hears of it at its end.
    for (let fill = 1; fill <= 20; fill++) {
      writer.begin(400_000);
      writer.bytes(Buffer.alloc(400_000, fill));
      const entry = writer.take();
      open.journal.append(entry, false);
      refused.push({ entry, fill });
    }
    for (const { entry, fill } of refused) {
      expect(entry.subarray(ENTRY_HEADER_BYTES).every((byte) => byte === fill)).toBe(true);
    }
  });

  it('does not stop reading', async () => {
    const open = await store.open();
    const position = (await open.put('before'))!;
    files.failWrites('ENOSPC');
    expect(await open.put('lost')).toBeUndefined();
    expect(Buffer.from(await open.journal.read(position, 6)).toString()).toBe('before');
  });

  it('rejects a checkpoint and keeps the last one', async () => {
    const open = await store.open();
    await open.put('one');
    await open.journal.writeCheckpoint(open.journal.position, [Buffer.from('kept')]);
    files.failWrites('ENOSPC');
    await expect(
      open.journal.writeCheckpoint(open.journal.position, [Buffer.from('lost')]),
    ).rejects.toThrow();
    files.heal();
    await open.journal.close();
    const again = await store.open();
    expect(Buffer.from((await again.journal.checkpoint())?.data ?? []).toString()).toBe('kept');
  });

  it('is seen coming by the free-space watermark, and makes the spare files go', async () => {
    const open = await store.open({ minFreeBytes: 1000 });
    for (let i = 0; i < 12; i++) await open.put('x'.repeat(3000));
    await open.journal.writeCheckpoint(open.journal.position, []);
    await open.journal.writeCheckpoint(open.journal.position, []);
    open.journal.discard(open.journal.extents().slice(0, -1));
    await expect.poll(() => store.names('spare-').length).toBe(8);
    expect(open.journal.shortage).toBeUndefined();
    files.freeBytes = 999;
    open.clock.advance(1000);
    await expect.poll(() => open.journal.shortage).toBe('the disk is nearly full');
    await expect.poll(() => store.names('spare-').length).toBe(0);
    expect(await open.put('settling goes on')).toBeDefined();
    files.freeBytes = 1000;
    await expect
      .poll(() => {
        open.clock.advance(1000);
        return open.journal.shortage;
      })
      .toBeUndefined();
  });
});

describe('a disk that is nearly full', () => {
  it('gets the room of what is given up meanwhile; spare files are kept again when it has recovered', async () => {
    const open = await store.open({ minFreeBytes: 1000 });
    for (let i = 0; i < 6; i++) await open.put('x'.repeat(3000));
    await open.journal.writeCheckpoint(open.journal.position, []);
    await open.journal.writeCheckpoint(open.journal.position, []);
    files.freeBytes = 999;
    open.clock.advance(1000);
    await expect.poll(() => open.journal.shortage).toBe('the disk is nearly full');
    const before = store.names('').length;
    open.journal.discard(open.journal.extents().slice(0, 3));
    await expect.poll(() => store.names('').length).toBe(before - 3);
    expect(store.names('spare-')).toEqual([]);
    files.freeBytes = 1000;
    await expect
      .poll(() => {
        open.clock.advance(1000);
        return open.journal.shortage;
      })
      .toBeUndefined();
    open.journal.discard(open.journal.extents().slice(0, -1));
    await expect.poll(() => store.names('spare-').length).toBeGreaterThan(0);
  });

  it('has no spare files left from an earlier run', async () => {
    const first = await store.open();
    for (let i = 0; i < 6; i++) await first.put('x'.repeat(3000));
    await first.journal.writeCheckpoint(first.journal.position, []);
    await first.journal.writeCheckpoint(first.journal.position, []);
    first.journal.discard(first.journal.extents().slice(0, 3));
    await first.journal.close();
    expect(store.names('spare-').length).toBe(3);
    files.freeBytes = 999;
    await store.open({ minFreeBytes: 1000 });
    await expect.poll(() => store.names('spare-')).toEqual([]);
  });
});

describe('a disk that fails', () => {
  for (const fail of ['write', 'sync'] as const) {
    it(`ends writing until the store is opened again (${fail})`, async () => {
      const open = await store.open();
      await open.put('before');
      // The second has to be synced with the next forced one.
      await open.put('loose', false);
      await open.put('looser', false);
      if (fail === 'write') files.failWrites('EIO', 1);
      else files.failSyncs('EIO', 1);
      expect(await open.put('lost')).toBeUndefined();
      await afterPause(open);
      expect(await open.put('lost too')).toBeUndefined();
      await expect(open.journal.flush()).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(open.journal.writeCheckpoint(open.journal.position, [])).rejects.toThrow();
      expect(open.journal.shortage).toBe('the disk fails');
      expect(log.lines.some((line) => line.level === 'error' && line.message.includes('opened again'))).toBe(
        true,
      );
      await open.journal.close();
      const again = await store.open();
      expect(again.replayed.map((entry) => entry.text).slice(0, 3)).toEqual(['before', 'loose', 'looser']);
      expect(await again.put('after')).toBeDefined();
    });
  }
});

describe('a store directory', () => {
  it('belongs to one process at a time', async () => {
    const open = await store.open();
    await expect(store.open()).rejects.toMatchObject({ kind: 'precondition' });
    await open.journal.close();
    await (await store.open()).journal.close();
  });

  it('that cannot be made or written to is refused by name', async () => {
    const open = await store.open();
    await open.journal.close();
    store.directory = join(store.directory, 'format', 'store');
    await expect(store.open()).rejects.toMatchObject({
      kind: 'precondition',
      message: expect.stringMatching(
        /the store directory .*store cannot be written to \(ENOTDIR\)/,
      ) as string,
    });
  });

  it('is left locked by no failed opening', async () => {
    files.failCreates('EROFS');
    await expect(store.open()).rejects.toThrow(/cannot be written to \(EROFS\)/);
    files.heal();
    await store.open();
  });
});

describe('commits', () => {
  it('are one write for all appends of a turn', async () => {
    const open = await store.open();
    await open.put('first');
    const before = open.journal.stats().groups;
    for (let i = 0; i < 40; i++) open.journal.append(entryOf(String(i)), i % 2 === 0);
    await open.journal.flush();
    expect(open.journal.stats().groups).toBe(before + 1);
  });

  it('of many begin before the turn ends: the disk writes the first ones while the others are encoded', async () => {
    const open = await store.open({ extentBytes: 1 << 20 });
    await open.put('first');
    // A round in which the disk is busy with something else makes one of them.
    let most = 0;
    for (let round = 0; round < 30 && most < 2; round++) {
      const before = open.journal.stats().groups;
      for (let i = 0; i < 200; i++) open.journal.append(entryOf(String(i)), true);
      await open.journal.flush();
      most = Math.max(most, open.journal.stats().groups - before);
    }
    expect(most).toBe(2);
  });

  const SYNCS_BEFORE = 2;

  /** A store with one entry and room behind it: until it is full, no file is synced but for entries. */
  async function roomy(): Promise<OpenStore> {
    const open = await store.open({ extentBytes: 1 << 20 });
    await open.put('first');
    // What makes the directory a store, and the zeros behind the entry.
    await expect.poll(() => files.syncs).toBe(SYNCS_BEFORE);
    return open;
  }

  it('of unforced entries in a row are not synced', async () => {
    const open = await roomy();
    await open.put('loose', false);
    const before = open.journal.stats().syncs;
    await open.put('loose', false);
    await open.put('loose', false);
    expect(open.journal.stats().syncs).toBe(before);
    expect(files.syncs).toBe(SYNCS_BEFORE);
    await open.put('forced');
    expect(files.syncs).toBe(SYNCS_BEFORE + 1);
  });

  it('of unforced entries behind a forced one leave nothing to sync for the next one', async () => {
    const open = await roomy();
    const before = open.journal.stats().syncs;
    for (let i = 0; i < 5; i++) {
      await open.put('loose', false);
      await open.put('forced');
    }
    expect(open.journal.stats().syncs).toBe(before + 10);
    expect(files.syncs).toBe(SYNCS_BEFORE);
  });

  it('in interval mode are synced by the clock', async () => {
    const open = await store.open({ sync: 'interval', syncIntervalMs: 50 });
    await open.put('one');
    expect(open.journal.stats().syncs).toBe(0);
    open.clock.advance(50);
    await expect.poll(() => open.journal.stats().syncs).toBe(1);
    open.clock.advance(500);
    expect(open.journal.stats().syncs).toBe(1);
  });
});

describe('reading', () => {
  it('finds old bytes block by block, and their neighbours in memory', async () => {
    store = new TestStore({ extentBytes: 4 << 20, freshBytesMax: 1 << 20 });
    const open = await store.open();
    const body = 'b'.repeat(1000);
    const positions: number[] = [];
    for (let i = 0; i < 9000; i++)
      positions.push(open.journal.append(entryOf(`${i}`.padEnd(1000, 'b')), true));
    await open.journal.flush();
    expect(open.journal.peek(positions[0]!, 1000)).toBeUndefined();
    expect(open.journal.peek(positions[8999]!, 1000)).toBeDefined();
    let reads = 0;
    for (let i = 0; i < 9000; i++) {
      let bytes = open.journal.peek(positions[i]!, 1000);
      if (bytes === undefined) {
        reads += 1;
        bytes = await open.journal.read(positions[i]!, 1000);
      }
      expect(Buffer.from(bytes).toString()).toBe(
        `${i}${body}`.slice(0, 1000).replace(/b*$/, '').padEnd(1000, 'b'),
      );
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // Reading ahead finds nearly all.
    expect(reads).toBeLessThan(20);
  });
});

describe('a killed process', () => {
  it('loses nothing it said was committed', { timeout: 60_000 }, async () => {
    const script = `
      const { openDiskJournal } = await import('./src/journal/disk/index.ts');
      const { SystemClock } = await import('./src/base/clock.ts');
      const { silentLog } = await import('./src/base/log.ts');
      const journal = await openDiskJournal({ directory: process.argv[1], clock: new SystemClock(), log: silentLog, minFreeBytes: 0 });
      await journal.checkpoint();
      await journal.replay(0, () => undefined);
      const positions = [];
      let head = 0;
      let serial = Number(process.argv[2]);
      const send = () => {
        const text = String(serial++).padEnd(200, '.');
        const entry = Buffer.alloc(24 + text.length);
        entry.write(text, 24);
        positions.push([journal.append(entry, true), serial - 1]);
      };
      journal.start({
        committed: (below) => {
          const done = [];
          while (head < positions.length && positions[head][0] < below) done.push(positions[head++][1]);
          process.stdout.write(done.join('\\n') + '\\n');
          for (let i = 0; i < done.length; i++) send();
        },
        lost: () => process.exit(1),
      });
      for (let i = 0; i < 200; i++) send();`;
    let confirmed = -1;
    for (let round = 0; round < 3; round++) {
      const child = spawn(
        process.execPath,
        ['--import', 'tsx', '--input-type=module', '-e', script, store.directory, String(confirmed + 1)],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.length > 20_000 * (round + 1)) child.kill('SIGKILL');
      });
      await new Promise((resolve) => child.once('close', resolve));
      // The last line may be cut off.
      const lines = output
        .split('\n')
        .slice(0, -1)
        .filter((line) => line !== '');
      confirmed = Math.max(confirmed, ...lines.map(Number));
      const open = await store.open();
      const serials = open.replayed.map((entry) => Number(entry.text.replaceAll('.', '')));
      expect(serials).toEqual(Array.from({ length: serials.length }, (_, i) => i));
      expect(serials.at(-1)).toBeGreaterThanOrEqual(confirmed);
      confirmed = serials.at(-1) ?? -1;
      await open.journal.close();
    }
  });
});
