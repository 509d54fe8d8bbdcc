import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/base/clock.js';
import { runProgram } from '../../src/app/cli/program.js';
import { channelName } from '../../src/core/channel-name.js';
import { temporaryFolder } from '../support/folder.js';
import { startServer } from '../support/server.js';

const queue = channelName('sqs.orders');

describe('polymq store', () => {
  const folders: { remove(): void }[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) folder.remove();
  });

  async function polymq(...args: string[]): Promise<{ code: number; out: string; error: string }> {
    let out = '';
    let error = '';
    const code = await runProgram(args, {
      environment: {},
      out: (text) => (out += text),
      error: (text) => (error += text),
      input: () => Readable.from([]),
      clock: new SystemClock(),
    });
    return { code, out, error };
  }

  /** A store with a hundred messages in two lives of a broker. */
  async function store(): Promise<string> {
    const folder = temporaryFolder();
    folders.push(folder);
    for (let life = 0; life < 2; life++) {
      const server = await startServer({ connectors: [], folder: folder.path });
      for (let i = 0; i < 50; i++) {
        await server.broker.send([{ channel: queue, body: Buffer.alloc(200, 65 + (i % 26)) }], {
          createMissing: true,
        });
      }
      await server.stop();
    }
    return folder.path;
  }

  /** Everything in a directory, to see that nothing changed. */
  function image(directory: string): ReadonlyMap<string, string> {
    const names = readdirSync(directory).filter((name) => statSync(join(directory, name)).isFile());
    return new Map(names.map((name) => [name, readFileSync(join(directory, name)).toString('base64')]));
  }

  /** Flips one bit of the newest checkpoint. */
  function damageCheckpoint(directory: string): void {
    const name = readdirSync(directory)
      .filter((file) => file.startsWith('checkpoint'))
      .sort()
      .at(-1);
    if (name === undefined) throw new Error('the store has no checkpoint');
    const file = openSync(join(directory, name), 'r+');
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, 40);
    byte[0] = (byte[0] ?? 0) ^ 1;
    writeSync(file, byte, 0, 1, 40);
    closeSync(file);
  }

  it('verify finds a store whole and changes nothing', async () => {
    const directory = await store();
    const before = image(directory);
    const { code, out } = await polymq('store', 'verify', directory);
    expect(code).toBe(0);
    expect(out).toContain('closed cleanly');
    expect(out).toContain('whole: nothing that was confirmed is missing');
    expect(image(directory)).toEqual(before);
  });

  it('repair has nothing to do on a whole store', async () => {
    expect(await polymq('store', 'repair', await store())).toEqual({
      code: 0,
      out: 'nothing to repair\n',
      error: '',
    });
  });

  it('says so when there is no store', async () => {
    const folder = temporaryFolder();
    folders.push(folder);
    expect(await polymq('store', 'verify', folder.path)).toMatchObject({
      code: 1,
      error: expect.stringMatching(/no store/),
    });
    expect(await polymq('store', 'repair', folder.path)).toMatchObject({
      code: 1,
      error: expect.stringMatching(/no store/),
    });
    expect((await polymq('store', 'verify', join(folder.path, 'nowhere'))).code).toBe(1);
  });

  it('repair says what it would drop, drops nothing, and with --apply does just that', async () => {
    const directory = await store();
    damageCheckpoint(directory);
    const found = await polymq('store', 'verify', directory);
    expect(found.out).toMatch(/checkpoints .*damaged/);
    expect(found.code).toBe(1);
    expect(found.error).toContain('polymq store repair');
    const before = image(directory);
    const plan = await polymq('store', 'repair', directory);
    expect(plan.code).toBe(0);
    expect(plan.out).toMatch(/would drop \d+ bytes of .*checkpoint/);
    expect(plan.out).toContain('nothing was changed');
    expect(image(directory)).toEqual(before);
    const done = await polymq('store', 'repair', directory, '--apply');
    expect(done.out).toMatch(/^dropped \d+ bytes of .*checkpoint.*kept in/);
    const server = await startServer({ connectors: [], folder: directory });
    expect(server.broker.queueStats(queue)?.ready).toBe(100);
    await server.stop();
  });
});
