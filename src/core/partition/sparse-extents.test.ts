import { describe, expect, it } from 'vitest';
import { silentLog } from '../../base/log.js';
import { ManualClock } from '../../base/clock.js';
import { createMemoryJournal, type MemoryJournal } from '../../journal/memory/index.js';
import { openBroker, type OpenBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';

const LOG = 'topic' as ChannelName;
const QUEUES = Array.from({ length: 20 }, (_, i) => `subscription-${String(i)}` as ChannelName);
const EXTENT_BYTES = 64 * 1024;
const BODY_BYTES = 1000;

function open(journal: MemoryJournal): Promise<OpenBroker> {
  const limits = { checkpointEveryBytes: 1e9, cleanBelowShare: 0.4 };
  return openBroker({ journal, clock: new ManualClock(), log: silentLog, limits });
}

/** Events with a copy in each queue, and extents behind them that hold none of these. */
async function published(journal: MemoryJournal): Promise<OpenBroker> {
  const broker = await open(journal);
  await broker.change([
    { do: 'create-log', channel: LOG },
    ...QUEUES.map((channel) => ({ do: 'create-queue', channel, settings: {} }) as const),
  ]);
  broker.setFanOut(
    LOG,
    QUEUES.map((queue) => ({ queue })),
  );
  for (let i = 0; i < 100; i++) await broker.append([{ channel: LOG, body: Buffer.alloc(BODY_BYTES, i) }]);
  return broker;
}

/** Takes all but two messages of each queue: 40 references to two bodies, which would be 60 % of an extent if each were one of its own. */
async function takeMost(broker: OpenBroker): Promise<void> {
  for (const channel of QUEUES) {
    const tokens = await broker.receive({
      channel,
      max: 100,
      waitMs: 0,
      handOut: { kind: 'lease', leaseMs: 1e9 },
    });
    await broker.settle({
      tokens: [...tokens.slice(0, 10), ...tokens.slice(12)],
      settlement: { kind: 'ack' },
      durable: true,
    });
  }
  await broker.change([{ do: 'delete-log', channel: LOG }]);
}

const extentsOf = (journal: MemoryJournal): number[] => [...journal.extents()];

describe('an extent with bodies that many subscriptions share', () => {
  it('is copied forward when it holds little, and given up', async () => {
    const journal = createMemoryJournal({ extentBytes: EXTENT_BYTES });
    const broker = await published(journal);
    await takeMost(broker);
    await broker.checkpoint();
    await broker.checkpoint();
    expect(broker.figures().cleanedBytes).toBeGreaterThan(2 * BODY_BYTES);
    expect(broker.figures().cleanedBytes).toBeLessThan(3 * BODY_BYTES);
    expect(extentsOf(journal)).not.toContain(0);
  });

  it('likewise after a restart from a checkpoint', async () => {
    const before = createMemoryJournal({ extentBytes: EXTENT_BYTES });
    const first = await published(before);
    await first.checkpoint();
    const journal = createMemoryJournal({ image: before.image() });
    const broker = await open(journal);
    await takeMost(broker);
    await broker.checkpoint();
    await broker.checkpoint();
    expect(broker.figures().cleanedBytes).toBeLessThan(3 * BODY_BYTES);
    expect(extentsOf(journal)).not.toContain(0);
    for (const channel of QUEUES) expect(broker.queueStats(channel)?.inFlight).toBe(2);
  });
});
