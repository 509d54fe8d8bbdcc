import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { randomFrom } from '../../../test/support/random.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { OutgoingMessage } from '../message.js';
import type { Delivery, QueueSettings } from './types.js';

const queue = 'q' as ChannelName;
const LEASE_MS = 60_000;
const settings: Partial<QueueSettings> = { subChannelMarks: ['.g.'], subChannels: 'fair' };

let clock: ManualClock;
let journal: MemoryJournal;
let broker: OpenBroker;

beforeEach(async () => {
  clock = new ManualClock();
  journal = new MemoryJournal();
  broker = await openBroker({ journal, clock, log: silentLog });
  await broker.change([{ do: 'create-queue', channel: queue, settings }]);
});

/** `count` messages `{share}0`, `{share}1`, … of a sub-channel; of the queue itself for ''. */
async function send(share: string, count: number): Promise<void> {
  const channel = (share === '' ? queue : `${queue}.g.${share}`) as ChannelName;
  const messages = Array.from({ length: count }, (_, i): OutgoingMessage => ({
    channel,
    body: Buffer.from(`${share}${i}`),
  }));
  await broker.send(messages);
}

const take = (max: number, waitMs = 0): Promise<readonly Delivery[]> =>
  broker.receive({ channel: queue, max, waitMs, handOut: { kind: 'lease', leaseMs: LEASE_MS } });
const textOf = ({ message }: Delivery): string => Buffer.from(message.body).toString();

/** One by one, without settling. */
async function texts(count: number): Promise<readonly string[]> {
  const out: string[] = [];
  for (let i = 0; i < count; i++) out.push(...(await take(1)).map(textOf));
  return out;
}

const settle = (tokens: readonly Delivery[], kind: 'ack' | 'nack'): Promise<unknown> =>
  broker.settle({ tokens, settlement: kind === 'ack' ? { kind } : { kind, to: 'tail' } });

describe('fair sub-channels', () => {
  it('hand out as many as are wanted, in turn', async () => {
    await send('a', 5);
    await send('b', 2);
    expect(await texts(7)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'a3', 'a4']);
  });

  it('come first while another has a large share of what is out', async () => {
    await send('a', 100);
    expect(await take(30)).toHaveLength(30);
    await send('b', 3);
    await send('', 2);
    const next = await texts(5);
    expect(new Set(next)).toEqual(new Set(['b0', 'b1', 'b2', '0', '1']));
    // Nobody else has anything: capacity is not left idle.
    expect(await texts(2)).toEqual(['a30', 'a31']);
    await send('b', 1);
    expect(await texts(2)).toEqual(['b0', 'a32']);
  });

  it('are in turn with fewer than thirty out, or no more than a tenth of all', async () => {
    await send('a', 40);
    const few = await take(29);
    await send('b', 2);
    expect(await texts(2)).toEqual(['a29', 'b0']);
    await settle(few, 'ack');
    await settle(await take(50), 'ack');

    await send('', 300);
    expect(await take(300)).toHaveLength(300);
    await send('c', 60);
    await send('d', 60);
    // 32 and 31 of 363, then 34 and 33 of 367: a tenth is more.
    expect((await take(30)).map(textOf).every((text) => text.startsWith('c'))).toBe(true);
    expect(await texts(4)).toEqual(['d0', 'c30', 'd1', 'c31']);
  });

  it('that are loud are served by how little they have out, and never what is in none of them', async () => {
    await send('a', 100);
    await send('', 100);
    const [first] = [await take(40)];
    expect(new Set(first.map((one) => textOf(one)[0]))).toEqual(new Set(['a']));
    const plain = await take(100);
    expect(plain.map(textOf)).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
    await send('b', 100);
    expect((await take(35)).map(textOf)[0]).toBe('b0');
    // 40 of a and 35 of b: b until it has as many.
    expect(await texts(5)).toEqual(['b35', 'b36', 'b37', 'b38', 'b39']);
    expect(new Set(await texts(2))).toEqual(new Set(['a40', 'b40']));
  });

  it('are in turn again when what they had out is settled', async () => {
    await send('a', 100);
    const out = await take(50);
    await send('b', 50);
    expect(await texts(2)).toEqual(['b0', 'b1']);
    await settle(out, 'ack');
    expect(new Set(await texts(2))).toEqual(new Set(['b2', 'a50']));
  });

  it('get what comes back at their tail, by a lease that ends too', async () => {
    await send('a', 3);
    const [first] = await take(1);
    if (first === undefined) throw new Error('nothing came');
    await settle([first], 'nack');
    expect(await texts(3)).toEqual(['a1', 'a2', 'a0']);
    clock.advance(LEASE_MS);
    expect(new Set(await texts(3))).toEqual(new Set(['a0', 'a1', 'a2']));
  });

  it('wake who waits', async () => {
    await send('a', 40);
    await take(40);
    const waiting = [take(1, 10_000), take(1, 10_000)];
    await send('a', 1);
    await send('b', 1);
    expect((await Promise.all(waiting)).flat().map(textOf)).toEqual(['a0', 'b0']);
  });

  it.each(['its journal', 'a checkpoint'])('are as fair after a restart from %s', async (from) => {
    await send('a', 100);
    await take(40);
    await send('b', 2);
    if (from === 'a checkpoint') await broker.checkpoint();
    const image = journal.crash(0);
    broker = await openBroker({ journal: new MemoryJournal({ image }), clock, log: silentLog });
    expect(await texts(3)).toEqual(['b0', 'b1', 'a40']);
  });

  it('lose and keep nothing, whatever happens to them', async () => {
    const dice = randomFrom(7);
    const random = (bound: number): number => dice.below(bound);
    let sent = 0;
    let acknowledged = 0;
    let out: Delivery[] = [];
    for (let step = 0; step < 3_000; step++) {
      const count = 1 + random(20);
      const what = random(5);
      if (what === 0) {
        await send(['', 'a', 'b', 'c', 'd'][random(5)] ?? '', count);
        sent += count;
      } else if (what === 1 || what === 2) {
        out.push(...(await take(count)));
      } else if (what === 3) {
        const some = out.splice(random(out.length + 1), count);
        await settle(some, 'ack');
        acknowledged += some.length;
      } else {
        await settle(out.splice(random(out.length + 1), count), 'nack');
      }
    }
    await settle(out, 'ack');
    acknowledged += out.length;
    for (out = [...(await take(100))]; out.length > 0; out = [...(await take(100))]) {
      await settle(out, 'ack');
      acknowledged += out.length;
    }
    expect(acknowledged).toBe(sent);
    expect(broker.queueStats(queue)).toMatchObject({ ready: 0, inFlight: 0, subChannels: 0 });
  });
});
