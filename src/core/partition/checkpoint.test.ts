import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { Checkpoint, Journal } from '../ports/journal.js';
import { Chunk, CHUNK_SLOTS, SLOT_BYTES } from '../queue/message-table.js';

const channel = 'q' as ChannelName;
const HEAD_BYTES = 16;
const BODY_COLUMN_BYTES = CHUNK_SLOTS * 4;

/** The same checkpoint as format 1 had it: chunks are whole, and without the bytes of bodies, which stand last. */
function asFormat1({ position, data }: Checkpoint): Checkpoint {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const tableAt = Math.ceil((HEAD_BYTES + view.getUint32(8, true)) / 8) * 8;
  const head = Uint8Array.from(data.subarray(0, tableAt));
  new DataView(head.buffer).setUint32(4, 1, true);
  const chunk = new Chunk();
  const slots = (data.length - tableAt) / SLOT_BYTES;
  let at = tableAt;
  for (const { start, bytesPerSlot } of chunk.columns) {
    new Uint8Array(chunk.memory, start).set(data.subarray(at, at + slots * bytesPerSlot));
    at += slots * bytesPerSlot;
  }
  const whole = new Uint8Array(chunk.memory, 0, CHUNK_SLOTS * SLOT_BYTES - BODY_COLUMN_BYTES);
  return { position, data: Buffer.concat([head, whole]) };
}

describe('a checkpoint of format 1', () => {
  it('is read, and counts what messages take instead of their bodies', async () => {
    const clock = new ManualClock();
    const before = createMemoryJournal({});
    const old = await openBroker({ journal: before, clock, log: silentLog });
    const settings = { maxLengthBytes: 1000 };
    await old.change([{ do: 'create-queue', channel, settings }]);
    await old.send(['a', 'b'].map((body) => ({ channel, body: Buffer.from(body.repeat(400)) })));
    await old.checkpoint();
    const checkpoint = await before.checkpoint();
    if (checkpoint === undefined) throw new Error('no checkpoint');
    const after: Journal = Object.assign(createMemoryJournal({ image: before.image() }), {
      checkpoint: () => Promise.resolve(asFormat1(checkpoint)),
    });
    const broker = await openBroker({ journal: after, clock, log: silentLog });
    expect(broker.queueStats(channel)).toMatchObject({ ready: 2 });
    // 2 × 413 bytes as they were counted then, and 175 of a body make too much.
    await broker.send([{ channel, body: Buffer.alloc(175) }]);
    clock.advance(100);
    const peeked = await broker.peek(channel, 10);
    expect(peeked.map(({ message }) => message.body.length)).toEqual([400, 175]);
    await broker.close();
  });
});

describe('a checkpoint', () => {
  it.each([0, 1, 3, CHUNK_SLOTS, CHUNK_SLOTS + 5])(
    'of %i messages brings all of them back',
    async (count) => {
      const clock = new ManualClock();
      const journal = createMemoryJournal({});
      const broker = await openBroker({ journal, clock, log: silentLog });
      await broker.change([{ do: 'create-queue', channel }]);
      const bodies = Array.from({ length: count }, (_, i) => String(i));
      for (let at = 0; at < count; at += 1000)
        await broker.send(bodies.slice(at, at + 1000).map((body) => ({ channel, body: Buffer.from(body) })));
      await broker.close();
      const data = (await journal.checkpoint())?.data.length ?? 0;
      expect(data).toBeLessThan((count + 20) * SLOT_BYTES + 1000);
      const again = createMemoryJournal({ image: journal.image() });
      const reopened = await openBroker({ journal: again, clock, log: silentLog });
      const lease = { kind: 'lease', leaseMs: 0 } as const;
      const found = await reopened.receive({ channel, max: count + 1, waitMs: 0, handOut: lease });
      expect(found.map(({ message }) => Buffer.from(message.body).toString())).toEqual(bodies);
      await reopened.close();
    },
  );
});
