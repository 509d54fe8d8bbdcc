import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockDirectory } from './lock.js';

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'polymq-lock-'));
});

afterEach(() => rm(directory, { recursive: true }));

async function newestLock(): Promise<string> {
  const names = (await readdir(directory)).filter((name) => /^lock-\d+$/.test(name)).sort();
  return join(directory, names.at(-1) ?? '');
}

/** Rewrites the newest lock file as if somebody else had made it. */
async function pretend(fields: Record<string, unknown>): Promise<void> {
  const path = await newestLock();
  const holder = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  await writeFile(path, JSON.stringify({ ...holder, ...fields }));
}

describe('the lock of a store directory', () => {
  it('is refused while it is held, by name of the holder', async () => {
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toMatchObject({
      kind: 'precondition',
      message: expect.stringContaining(`in use by process ${process.pid}`) as string,
    });
    await lock.release();
    const again = await lockDirectory(directory);
    await again.release();
    await again.release();
  });

  it('goes to one of many who want it', async () => {
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => lockDirectory(directory)));
    const taken = results.filter((result) => result.status === 'fulfilled');
    expect(taken).toHaveLength(1);
    for (const { value } of taken) await value.release();
  });

  it('goes to one of many who find the holder dead', async () => {
    for (let round = 0; round < 5; round++) {
      const lock = await lockDirectory(directory);
      await pretend({ pid: 0x3fffffff });
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)));
      const taken = results.filter((result) => result.status === 'fulfilled');
      expect(taken).toHaveLength(1);
      for (const { value } of taken) await value.release();
      await lock.release();
    }
  });

  it('is not kept by another process that has the id of the dead holder', async () => {
    const first = await lockDirectory(directory);
    await pretend({ started: '1' });
    await (await lockDirectory(directory)).release();
    await first.release();
  });

  it('is not kept over a restart of the machine', async () => {
    const first = await lockDirectory(directory);
    await pretend({ boot: 'another one' });
    await (await lockDirectory(directory)).release();
    await first.release();
  });

  it('is kept by a holder in another container for as long as it listens', async () => {
    const first = await lockDirectory(directory);
    await pretend({ namespace: 'pid:[1]', pid: 1 });
    await expect(lockDirectory(directory)).rejects.toMatchObject({ kind: 'precondition' });
    await pretend({ socket: 'lock-of-nobody.socket' });
    await (await lockDirectory(directory)).release();
    await first.release();
  });

  it('is not kept by a file that is not whole', async () => {
    const first = await lockDirectory(directory);
    await writeFile(await newestLock(), '{"pid":');
    await (await lockDirectory(directory)).release();
    await first.release();
  });

  it('falls when its holder is killed', async () => {
    const script =
      "import('./src/journal/disk/lock.ts').then((m) => m.lockDirectory(process.argv[1]))" +
      ".then(() => { console.log('locked'); setInterval(() => {}, 1000); })";
    const child = spawn(process.execPath, ['--import', 'tsx', '-e', script, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await expect(lockDirectory(directory)).rejects.toMatchObject({ kind: 'precondition' });
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    await (await lockDirectory(directory)).release();
  });

  it('leaves no old files behind', async () => {
    for (let i = 0; i < 4; i++) await (await lockDirectory(directory)).release();
    expect(await readdir(directory)).toEqual(['lock-00000004']);
  });
});
