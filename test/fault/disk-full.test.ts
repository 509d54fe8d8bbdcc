import { afterEach, describe, expect, it } from 'vitest';
import { spawnBroker, type BrokerProcess } from '../support/process.js';
import { sleep } from './exercise.js';
import { makeSmallDisk, smallDiskFault, type SmallDisk } from './small-disk.js';
import { openWires, type Wire } from './wires.js';

const MIB = 1024 * 1024;
const DISK_MIB = 256;
const SENDS_MAX = 30_000;
const RESUME_MS_MAX = 20_000;

const fault = smallDiskFault();
if (fault !== undefined) console.log(`skipped: the full-disk tests, because ${fault}`);

describe.skipIf(fault !== undefined)('the disk is full', () => {
  let disk: SmallDisk | undefined;
  let broker: BrokerProcess | undefined;
  let wires: readonly Wire[] = [];

  afterEach(async () => {
    for (const wire of wires) wire.close();
    await broker?.kill();
    disk?.remove();
  });

  // Free space that the watermark keeps, and how little is left for the store when the test begins.
  it.each([
    { when: 'at the free-space watermark', minFreeMib: 48, leftMib: 51 },
    { when: 'when the system says so (no watermark)', minFreeMib: 0, leftMib: 3 },
  ])('$when, sends are refused retryably, consuming goes on, and all resumes by itself', async (given) => {
    disk = makeSmallDisk(DISK_MIB);
    const start = () =>
      spawnBroker({
        folder: disk?.store ?? '',
        environment: { STORE_MIN_FREE_BYTES: String(given.minFreeMib * MIB) },
      });
    broker = await start();
    wires = await openWires(broker, 'full');
    const stored = new Map(wires.map((wire) => [wire.name, new Set<number>()]));
    for (const wire of wires) expect(await wire.send(0)).toBe('stored');
    for (const wire of wires) stored.get(wire.name)?.add(0);
    disk.fill(DISK_MIB - given.leftMib);

    let next = 1;
    for (const wire of wires) {
      // The first one fills the disk; the others find it so.
      let refused = false;
      for (const last = next + SENDS_MAX; next < last && !refused; next++) {
        const fate = await wire.send(next);
        if (fate === 'stored') stored.get(wire.name)?.add(next);
        else refused = true;
        expect(fate === 'stored' || fate === 'retryable' ? undefined : fate, wire.name).toBeUndefined();
      }
      expect(refused, `${wire.name} is refused when the disk is full`).toBe(true);
    }

    for (const wire of wires) {
      const sequence = await wire.receive();
      expect(
        stored.get(wire.name)?.delete(sequence ?? -1),
        `${wire.name} consumes while the disk is full`,
      ).toBe(true);
    }

    disk.free();
    for (const wire of wires) {
      const end = performance.now() + RESUME_MS_MAX;
      let fate = await wire.send(next);
      while (fate !== 'stored' && performance.now() < end) {
        await sleep(50);
        fate = await wire.send(next);
      }
      expect(fate, `${wire.name} resumes by itself`).toBe('stored');
      stored.get(wire.name)?.add(next++);
    }

    for (const wire of wires) for (const one of wire.close()) stored.get(wire.name)?.delete(one);
    await broker.kill();
    broker = await start();
    wires = await openWires(broker, 'full');
    for (const wire of wires) {
      await expectAll(wire, stored.get(wire.name) ?? new Set()).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${JSON.stringify(broker?.lines.slice(-20), undefined, 1)}`, {
          cause: error,
        });
      });
    }
  });
});

/** Receives until everything stored has come; what was refused may be there too, nothing may come twice. */
async function expectAll(wire: Wire, stored: ReadonlySet<number>): Promise<void> {
  const seen = new Set<number>();
  for (let empty = 0; empty < 15 && [...stored].some((one) => !seen.has(one));) {
    const sequence = await wire.receive();
    if (sequence === undefined) empty++;
    else {
      expect(seen.has(sequence) && `${wire.name}: ${sequence} came twice`).toBe(false);
      seen.add(sequence);
    }
  }
  const lost = [...stored].filter((one) => !seen.has(one));
  expect(lost, `${wire.name}: confirmed and lost`).toEqual([]);
}
