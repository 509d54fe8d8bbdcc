import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestStore } from '../../../test/support/disk-store.js';
import { repairStore, verifyStore } from './index.js';

let store: TestStore;

beforeEach(() => {
  store = new TestStore();
});

afterEach(() => store.dispose());

/** Nine entries in five segments. */
async function filled(): Promise<string[]> {
  const { journal } = await fill();
  await journal.close();
  return store.names('segment-');
}

async function fill(): Promise<Awaited<ReturnType<TestStore['open']>>> {
  const open = await store.open();
  for (let i = 0; i < 9; i++) await open.put(`${i}`.repeat(1500));
  return open;
}

/** Opens the store; the first character of each entry it replays. */
async function digits(): Promise<string> {
  const open = await store.open();
  const seen = open.replayed.map((entry) => entry.text.slice(0, 1)).join('');
  await open.journal.close();
  return seen;
}

/** A dry run changes nothing, applying does what it said, and then the store opens and verifies. */
async function repaired(): Promise<Awaited<ReturnType<typeof repairStore>>> {
  const before = new Map(
    store.names('').map((name) => [name, name.includes('.socket') ? '' : store.read(name).toString('hex')]),
  );
  const planned = await repairStore(store.directory, { apply: false });
  for (const [name, hex] of before) if (hex !== '') expect(store.read(name).toString('hex')).toBe(hex);
  const done = await repairStore(store.directory, { apply: true });
  expect(done).toEqual({ ...planned, applied: true });
  expect((await verifyStore(store.directory)).damages).toEqual([]);
  return done;
}

describe('verifyStore', () => {
  it('reports a whole store', async () => {
    const open = await fill();
    await open.journal.writeCheckpoint(open.journal.position, [Buffer.from('state')]);
    await open.put('last');
    await open.journal.close();
    const report = await verifyStore(store.directory);
    expect(report).toMatchObject({
      format: { format: 1, extentBytes: 4096, epoch: 1 },
      checkpoints: [{ bytes: 5, whole: true }],
      entriesToReplay: 1,
      closed: true,
      torn: undefined,
      damages: [],
    });
    expect(report.segments.map((segment) => segment.entries)).toEqual([2, 2, 2, 2, 2]);
    expect(report.replayFrom).toBe(report.checkpoints[0]!.position);
  });

  it('reports a store that was cut off, and its torn tail', async () => {
    const open = await fill();
    store.kill();
    const [, , , , last] = store.names('segment-');
    store.flip(last!, 100);
    const report = await verifyStore(store.directory);
    expect(report.closed).toBe(false);
    expect(report.damages).toEqual([]);
    expect(report.torn).toMatchObject({ position: 4 * 4096 + 32, entries: 0 });
    await open.journal.close();
  });

  it('reports every damaged place, those in front of the replay too', async () => {
    const open = await fill();
    await open.journal.writeCheckpoint(open.journal.position, [Buffer.from('state')]);
    await open.put('one');
    await open.put('two');
    await open.journal.close();
    const names = store.names('segment-');
    store.flip(names[0]!, 100);
    store.flip(names[1]!, 2000);
    store.flip(names[4]!, 32 + 1524 + 30);
    const report = await verifyStore(store.directory);
    expect(report.damages.map(({ path, offset }) => [path, offset])).toEqual([
      [join(store.directory, names[0]!), 32],
      [join(store.directory, names[1]!), 32 + 1524],
      [join(store.directory, names[4]!), 32 + 1524 + 27],
    ]);
  });

  it('reports a directory without a store', async () => {
    const empty = await verifyStore(join(store.directory, '..'));
    expect(empty).toMatchObject({ format: undefined, segments: [], damages: [], logEnd: 0 });
  });

  it('changes nothing', async () => {
    await filled();
    const before = store.names('');
    await verifyStore(store.directory);
    expect(store.names('')).toEqual(before);
  });
});

describe('repairStore', () => {
  it('has nothing to do in a whole store', async () => {
    await filled();
    expect((await repaired()).steps).toEqual([]);
    expect(await digits()).toBe('012345678');
  });

  it('drops a damaged entry and keeps all others', async () => {
    const [, second] = await filled();
    const original = store.read(second!).subarray(32, 32 + 1524);
    store.flip(second!, 500);
    const damaged = store.read(second!).subarray(32, 32 + 1524);
    const { steps, entriesToReplay } = await repaired();
    expect(steps).toEqual([
      {
        path: join(store.directory, second!),
        offset: 32,
        bytes: 1524,
        what: 'damaged entries are dropped',
        keptIn: join(store.directory, 'torn-0000000000004128'),
      },
    ]);
    expect(entriesToReplay).toBe(8);
    expect(store.read('torn-0000000000004128').equals(damaged)).toBe(true);
    expect(damaged.equals(original)).toBe(false);
    expect(await digits()).toBe('01345678');
  });

  it('drops the last entry of a segment', async () => {
    const [, , third] = await filled();
    store.flip(third!, 32 + 1524 + 700);
    await repaired();
    expect(await digits()).toBe('01234678');
  });

  it('drops several damaged places at once', async () => {
    const names = await filled();
    store.flip(names[0]!, 40);
    store.flip(names[0]!, 32 + 1524 + 3);
    store.flip(names[2]!, 33);
    store.flip(names[3]!, 4);
    const { steps } = await repaired();
    expect(steps.map((step) => step.what)).toEqual([
      'damaged entries are dropped',
      'damaged entries are dropped',
      'the start of a segment is made anew',
    ]);
    expect(await digits()).toBe('235678');
  });

  it('makes the start of a segment anew, with and without the entry behind it', async () => {
    const names = await filled();
    store.flip(names[1]!, 10);
    store.flip(names[3]!, 10);
    store.flip(names[3]!, 60);
    await repaired();
    expect(await digits()).toBe('01234578');
  });

  it('goes past a missing segment', async () => {
    const names = await filled();
    rmSync(join(store.directory, names[1]!));
    await repaired();
    expect(await digits()).toBe('0145678');
  });

  it('goes past missing first segments', async () => {
    const names = await filled();
    rmSync(join(store.directory, names[0]!));
    rmSync(join(store.directory, names[1]!));
    const { steps } = await repaired();
    expect(steps).toMatchObject([{ bytes: 0, keptIn: undefined }]);
    expect(await digits()).toBe('45678');
  });

  it('goes past a segment that was cut short', async () => {
    const names = await filled();
    store.write(names[1]!, store.read(names[1]!).subarray(0, 2000));
    await repaired();
    expect(await digits()).toBe('01245678');
  });

  it('drops damaged checkpoints and replays what is there', async () => {
    const open = await fill();
    await open.journal.writeCheckpoint(open.journal.position, [Buffer.from('state')]);
    await open.journal.close();
    const [checkpoint] = store.names('checkpoint-');
    store.flip(checkpoint!, 25);
    const { steps } = await repaired();
    expect(steps.map((step) => step.what)).toEqual(['a damaged checkpoint is dropped']);
    expect(store.names('torn-checkpoint-')).toHaveLength(1);
    expect(await digits()).toBe('012345678');
  });

  it('refuses where there is no store, and a store in use', async () => {
    await expect(repairStore(join(store.directory, '..'), { apply: false })).rejects.toMatchObject({
      kind: 'not-found',
    });
    await fill();
    await expect(repairStore(store.directory, { apply: true })).rejects.toMatchObject({
      kind: 'precondition',
    });
  });

  it('leaves a store that can be written to and opened again', async () => {
    const [, second] = await filled();
    store.flip(second!, 500);
    await repaired();
    const open = await store.open();
    await open.put('9');
    await open.journal.close();
    expect(await digits()).toBe('013456789');
  });
});
