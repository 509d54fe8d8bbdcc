import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { Consumer, ConsumeRequest } from './types.js';

const QUEUE = 'q' as ChannelName;

async function rig(): Promise<{ readonly broker: OpenBroker; readonly seen: string[] }> {
  const broker = await openBroker({
    journal: new MemoryJournal(),
    clock: new ManualClock(),
    log: silentLog,
  });
  await broker.change([{ do: 'create-queue', channel: QUEUE }]);
  return { broker, seen: [] };
}

function consume(
  { broker, seen }: { readonly broker: OpenBroker; readonly seen: string[] },
  name: string,
  options: Partial<ConsumeRequest> = {},
): Consumer {
  return broker.consume({
    channel: QUEUE,
    handOut: { kind: 'lease', leaseMs: 0 },
    credit: 10,
    single: true,
    onDeliveries: (deliveries) => {
      for (const { message } of deliveries) seen.push(`${name}:${Buffer.from(message.body).toString()}`);
    },
    onCancel: () => seen.push(`${name} cancelled`),
    ...options,
  });
}

async function send(broker: OpenBroker, ...bodies: readonly string[]): Promise<void> {
  await broker.send(bodies.map((body) => ({ channel: QUEUE, body: Buffer.from(body) })));
  await Promise.resolve();
}

describe('consumers that stand by for each other', () => {
  it('one is served, also while it has no credit', async () => {
    const one = await rig();
    consume(one, 'a', { credit: 1 });
    consume(one, 'b');
    await send(one.broker, '1', '2');
    expect(one.seen).toEqual(['a:1']);
  });

  it('the next is the first of the highest priority, and gets what waits', async () => {
    const one = await rig();
    const a = consume(one, 'a', { credit: 0 });
    consume(one, 'low', { priority: -1 });
    const high = consume(one, 'high', { priority: 5 });
    consume(one, 'high too', { priority: 5 });
    await send(one.broker, '1');
    expect(one.seen).toEqual([]);
    a.cancel();
    await Promise.resolve();
    expect(one.seen).toEqual(['high:1']);
    high.cancel();
    await send(one.broker, '2');
    expect(one.seen).toEqual(['high:1', 'high too:2']);
  });

  it('others are served beside them, and all are told when the queue goes', async () => {
    const one = await rig();
    consume(one, 'a');
    consume(one, 'b');
    consume(one, 'free', { single: false });
    await send(one.broker, '1', '2', '3', '4');
    expect(one.seen.filter((text) => text.startsWith('b'))).toEqual([]);
    expect(one.seen).toHaveLength(4);
    expect(new Set(one.seen.map((text) => text.split(':')[0]))).toEqual(new Set(['a', 'free']));
    await one.broker.change([{ do: 'delete-queue', channel: QUEUE }]);
    expect(one.seen.slice(4)).toEqual(['a cancelled', 'b cancelled', 'free cancelled']);
  });
});
