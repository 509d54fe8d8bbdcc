import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import type { Checkpoint, Journal } from '../ports/journal.js';
import { CHUNK_SLOTS, SLOT_BYTES } from '../queue/message-table.js';

const channel = 'q' as ChannelName;
const HEAD_BYTES = 16;
const BODY_COLUMN_BYTES = CHUNK_SLOTS * 4;

/** The same checkpoint as format 1 had it: chunks without the bytes of bodies. */
function asFormat1({ position, data }: Checkpoint): Checkpoint {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const tableAt = Math.ceil((HEAD_BYTES + view.getUint32(8, true)) / 8) * 8;
  const parts: Uint8Array[] = [Uint8Array.from(data.subarray(0, tableAt))];
  new DataView((parts[0] as Uint8Array).buffer).setUint32(4, 1, true);
  for (let at = tableAt; at < data.length; at += CHUNK_SLOTS * SLOT_BYTES)
    parts.push(data.subarray(at, at + CHUNK_SLOTS * SLOT_BYTES - BODY_COLUMN_BYTES));
  return { position, data: Buffer.concat(parts) };
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
