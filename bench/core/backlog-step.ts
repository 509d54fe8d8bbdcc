import { readSequence } from '../client/body.js';
import { channelName } from '../../src/core/channel-name.js';
import { makeQueue, message, openStore, produce } from './store.js';

const PRODUCERS = 2048;
const CONSUMERS = 128;
const RECEIVE_MAX = 10;

/** What one step of the backlog measure found. */
export interface FillResult {
  readonly perSecond: number;
  readonly bytesPerMessage: number;
}

export interface OpenResult {
  /** From the call that opens the store to the first message in hand. */
  readonly firstDeliveryMs: number;
  readonly bytesPerMessage: number;
  /** Absent when the step only opened. */
  readonly drainPerSecond?: number;
}

const LEASE = { kind: 'lease', leaseMs: 600_000 } as const;

/** Memory the heap and its buffers hold after a collection. */
function heldBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Fills a store, then closes it, or says so and waits to be killed. */
async function fill(folder: string, count: number, waitForKill: boolean): Promise<void> {
  const broker = await openStore(folder);
  const queue = await makeQueue(broker, 'bench');
  const before = heldBytes();
  const start = performance.now();
  let sequence = 0;
  await produce(broker, PRODUCERS, () => (sequence < count ? message(queue, sequence++) : undefined));
  const result: FillResult = {
    perSecond: count / ((performance.now() - start) / 1000),
    bytesPerMessage: (heldBytes() - before) / count,
  };
  if (!waitForKill) await broker.close();
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (waitForKill) await new Promise((resolve) => setTimeout(resolve, 600_000));
}

/** Opens a store and takes the first message; `drain` takes and acknowledges all others and counts them. */
async function open(folder: string, count: number, drain: boolean): Promise<void> {
  const before = heldBytes();
  const start = performance.now();
  const broker = await openStore(folder);
  const queue = channelName('bench');
  const first = await broker.receive({ channel: queue, max: 1, waitMs: 0, handOut: LEASE });
  const firstDeliveryMs = performance.now() - start;
  if (first.length !== 1) throw new Error('there is no first message');
  const bytesPerMessage = (heldBytes() - before) / count;
  let result: OpenResult = { firstDeliveryMs, bytesPerMessage };
  if (drain) {
    const seen = new Uint8Array(count);
    seen[readSequence(first[0]?.message.body ?? new Uint8Array(0), 0)] = 1;
    await broker.settle({ tokens: first, settlement: { kind: 'ack' }, durable: true });
    const drainStart = performance.now();
    await Promise.all(
      Array.from({ length: CONSUMERS }, async () => {
        for (;;) {
          const deliveries = await broker.receive({
            channel: queue,
            max: RECEIVE_MAX,
            waitMs: 0,
            handOut: LEASE,
          });
          if (deliveries.length === 0) return;
          for (const { message: stored } of deliveries) {
            const sequence = readSequence(stored.body, 0);
            if (seen[sequence] !== 0) throw new Error(`message ${String(sequence)} came twice`);
            seen[sequence] = 1;
          }
          await broker.settle({ tokens: deliveries, settlement: { kind: 'ack' }, durable: true });
        }
      }),
    );
    const missing = seen.indexOf(0);
    if (missing >= 0) throw new Error(`message ${String(missing)} is lost`);
    result = { ...result, drainPerSecond: (count - 1) / ((performance.now() - drainStart) / 1000) };
  } else {
    await broker.settle({ tokens: first, settlement: { kind: 'nack', to: 'origin', uncounted: true } });
  }
  await broker.close();
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

// Timers of the broker alone do not keep a process alive.
const alive = setInterval(() => undefined, 1000);
const [step = '', folder = '', count = '0'] = process.argv.slice(2);
if (step.startsWith('fill')) await fill(folder, Number(count), step === 'fill-and-wait');
else await open(folder, Number(count), step === 'drain');
clearInterval(alive);
