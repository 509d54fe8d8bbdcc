import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import type { MemoryImage } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';

const QUEUE = 'q' as ChannelName;

async function opened(clock: ManualClock, image?: MemoryImage): Promise<[OpenBroker, MemoryJournal]> {
  const journal = new MemoryJournal(image === undefined ? {} : { image });
  return [await openBroker({ journal, clock, log: silentLog }), journal];
}

describe('the dedup window', () => {
  it('says what it knows: from the send on, after the message went and after a restart, until its time is over', async () => {
    const clock = new ManualClock();
    const [broker, journal] = await opened(clock);
    const settings = { dedupWindowMs: 1000, maxLength: 1 };
    await broker.change([{ do: 'create-queue', channel: QUEUE, settings }]);
    expect(broker.remembers(QUEUE, 'a')).toBe(false);
    expect(broker.remembers('none' as ChannelName, 'a')).toBe(false);
    const send = (dedupId: string) => broker.send([{ channel: QUEUE, body: Buffer.from('x'), dedupId }]);
    const sent = send('a');
    // A second sender of the same turn must see it, too.
    expect(broker.remembers(QUEUE, 'a')).toBe(true);
    await sent;
    await send('b');
    expect(broker.queueStats(QUEUE)?.ready).toBe(1);
    expect(broker.remembers(QUEUE, 'a')).toBe(true);
    await broker.close();
    const [again] = await opened(clock, journal.image());
    expect(again.remembers(QUEUE, 'a')).toBe(true);
    clock.advance(1000);
    expect(again.remembers(QUEUE, 'a')).toBe(false);
  });
});
