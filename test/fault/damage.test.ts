import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NativeConnection } from '../../bench/client/native.js';
import { readSequence } from '../../bench/client/body.js';
import { temporaryFolder } from '../support/folder.js';
import { programArguments, spawnBroker, type BrokerProcess } from '../support/process.js';
import { queueMessage } from './exercises/native.js';
import { NativePoller } from './native-poller.js';

const CHANNEL = 'fault.damage';
const MESSAGES = 300;

describe('a store that was damaged while the broker was down', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let store = '';
  let broker: BrokerProcess | undefined;

  beforeEach(async () => {
    folder = temporaryFolder();
    store = join(folder.path, 'store');
    const filled = await spawnBroker({ folder: store });
    const connection = await NativeConnection.open(filled.port('native-grpc'));
    // One after the other, so that each is an entry of its own, in this order.
    for (let sequence = 0; sequence < MESSAGES; sequence++) {
      await connection.sendQueueMessage(queueMessage(CHANNEL, sequence));
    }
    connection.close();
    await filled.kill();
  });

  afterEach(async () => {
    await broker?.kill();
    folder.remove();
  });

  it('starts with a torn end: the entry that was cut off is gone, all others are there', async () => {
    const { path, bytes, end } = newestSegment(store);
    bytes.fill(0, end - 300);
    writeFileSync(path, bytes);
    broker = await spawnBroker({ folder: store });
    const sequences = await drain(broker);
    expect(sequences).toEqual(Array.from({ length: sequences.length }, (_, index) => index));
    expect(sequences.length).toBeGreaterThanOrEqual(MESSAGES - 2);
    expect(sequences.length).toBeLessThan(MESSAGES);
    expect(JSON.stringify(broker.lines)).toContain('torn');
  });

  it('refuses to start with a flipped bit in the middle, names the repair, and starts after it', async () => {
    const { path, bytes, end } = newestSegment(store);
    const at = Math.floor(end / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    writeFileSync(path, bytes);

    const refusal = await spawnBroker({ folder: store }).then(
      () => 'it started',
      (error: unknown) => String(error),
    );
    expect(refusal).toContain('polymq store repair');
    expect(refusal).toContain(store);

    expect(polymq('store', 'verify', store)).toMatchObject({
      ok: false,
      output: expect.stringContaining('DAMAGE'),
    });
    const plan = polymq('store', 'repair', store);
    expect(plan.output).toMatch(/would drop \d+ bytes/);
    const still = await spawnBroker({ folder: store }).then(
      () => 'it started',
      (error: unknown) => String(error),
    );
    expect(still, 'a repair without --apply changes nothing').toContain('polymq store repair');

    expect(polymq('store', 'repair', '--apply', store)).toMatchObject({ ok: true });
    broker = await spawnBroker({ folder: store });
    const sequences = await drain(broker);
    // What stood before the damage is there, in order; the plan said what was dropped.
    expect(sequences.length).toBeGreaterThan(MESSAGES / 4);
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
    expect(sequences[0]).toBe(0);

    const connection = await NativeConnection.open(broker.port('native-grpc'));
    await connection.sendQueueMessage(queueMessage(CHANNEL, MESSAGES));
    connection.close();
    expect(await drain(broker)).toEqual([MESSAGES]);
  });
});

function polymq(...args: readonly string[]): { readonly ok: boolean; readonly output: string } {
  const run = spawnSync(process.execPath, [...programArguments(), ...args], { encoding: 'utf8' });
  return { ok: run.status === 0, output: run.stdout + run.stderr };
}

async function drain(broker: BrokerProcess): Promise<readonly number[]> {
  const connection = await NativeConnection.open(broker.port('native-grpc'));
  const poller = new NativePoller(connection);
  const sequences: number[] = [];
  for (;;) {
    const poll = await poller.get(CHANNEL, MESSAGES, 1000);
    if (poll.messages.length === 0) break;
    sequences.push(...poll.messages.map(({ body }) => readSequence(body, 0)));
    poller.ackAll(poll);
  }
  connection.close();
  return sequences;
}

/** The segment with the last entries, and where its used bytes end: segments are longer than what is in them. */
function newestSegment(store: string): {
  readonly path: string;
  readonly bytes: Buffer;
  readonly end: number;
} {
  const names = readdirSync(store).filter((name) => name.endsWith('.seg') || name.startsWith('segment'));
  const found = names.map((name) => {
    const path = join(store, name);
    const bytes = readFileSync(path);
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end--;
    return { path, bytes, end };
  });
  const newest = found.filter(({ end }) => end > 10_000).at(-1);
  if (newest === undefined) throw new Error(`no segment with entries among ${readdirSync(store).join(', ')}`);
  return newest;
}
