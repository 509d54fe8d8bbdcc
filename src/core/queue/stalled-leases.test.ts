import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { createMemoryJournal, type MemoryImage } from '../../journal/memory/index.js';
import { openBroker, type OpenBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { Delivery } from './types.js';

const queue = 'q' as ChannelName;
const group = 'q.k.1' as ChannelName;
const LEASE_MS = 10_000;

/** An ordered sub-channel with two messages, and a consumer with room for both. */
async function world(image?: MemoryImage) {
  const clock = new ManualClock();
  const journal = createMemoryJournal(image === undefined ? {} : { image });
  const broker = await openBroker({ journal, clock, log: silentLog });
  if (image === undefined) {
    const settings = { subChannelMarks: ['.k.'], expiredLeaseTo: 'origin' } as const;
    await broker.change([{ do: 'create-queue', channel: queue, settings }]);
    await broker.send(['1', '2'].map((body) => ({ channel: group, body: Buffer.from(body) })));
  }
  return { clock, journal, broker, got: consumed(broker) };
}

function consumed(broker: OpenBroker): Delivery[] {
  const got: Delivery[] = [];
  broker.consume({
    channel: queue,
    credit: 10,
    handOut: { kind: 'lease', leaseMs: LEASE_MS },
    perSubChannelMax: 1,
    onDeliveries: (deliveries) => got.push(...deliveries),
    onCancel: () => undefined,
  });
  return got;
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const texts = (got: readonly Delivery[]): string[] =>
  got.map(({ message }) => Buffer.from(message.body).toString());
const ack = (broker: OpenBroker, delivery: Delivery | undefined) =>
  broker.settle({ tokens: delivery === undefined ? [] : [delivery], settlement: { kind: 'ack' } });

describe('an ordered message whose holder or broker stood still', () => {
  it('comes once when it is acknowledged in the last moment of its lease', async () => {
    const { clock, broker, got } = await world();
    await turn();
    clock.advance(LEASE_MS - 1);
    expect(await ack(broker, got[0])).toEqual({ refused: [] });
    clock.advance(LEASE_MS - 1);
    await turn();
    expect(texts(got)).toEqual(['1', '2']);
  });

  it('comes again before any other of its group when the lease ended; the late acknowledgement is refused', async () => {
    const { clock, broker, got } = await world();
    await turn();
    clock.advance(LEASE_MS + 5_000);
    expect(await ack(broker, got[0])).toEqual({ refused: [0] });
    await turn();
    expect(texts(got)).toEqual(['1', '1']);
    expect(await ack(broker, got[1])).toEqual({ refused: [] });
    await turn();
    expect(texts(got)).toEqual(['1', '1', '2']);
  });

  it('does not come again after a crash that a confirmed send came before, whenever its lease would have ended', async () => {
    const { journal, broker, got } = await world();
    await turn();
    await ack(broker, got[0]);
    // It proves the acknowledgement, which nobody waited for.
    await broker.send([{ channel: group, body: Buffer.from('3') }]);
    const after = await world(journal.crash());
    await turn();
    for (let i = 0; i < 2; i++) {
      after.clock.advance(LEASE_MS);
      await turn();
    }
    expect(new Set(texts(after.got))).toEqual(new Set(['2']));
    await ack(after.broker, after.got.at(-1));
    await turn();
    expect(texts(after.got).at(-1)).toBe('3');
  });

  it('keeps its lease over a crash, and comes when that ends', async () => {
    const { journal, broker, clock } = await world();
    await turn();
    clock.advance(4_000);
    await broker.send([{ channel: group, body: Buffer.from('3') }]);
    const after = await world(journal.crash());
    after.clock.advance(LEASE_MS - 1);
    await turn();
    expect(texts(after.got)).toEqual([]);
    after.clock.advance(20);
    await turn();
    expect(texts(after.got)).toEqual(['1']);
  });
});
