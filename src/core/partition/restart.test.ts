import { describe, expect, it } from 'vitest';
import { RecordingLog } from '../../../test/support/disk-store.js';
import { ManualClock } from '../../base/clock.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';

const channel = 'q' as ChannelName;

describe('the log line of a start', () => {
  it('says what was read and how long each part took; a new store needs none', async () => {
    const clock = new ManualClock();
    const first = new RecordingLog();
    const journal = createMemoryJournal({});
    const before = await openBroker({ journal, clock, log: first });
    expect(first.lines).toEqual([]);
    await before.change([{ do: 'create-queue', channel, settings: {} }]);
    await before.send([{ channel, body: Buffer.from('in the checkpoint') }]);
    await before.checkpoint();
    await before.send([{ channel, body: Buffer.from('behind it') }]);

    const again = createMemoryJournal({ image: journal.image() });
    const [checkpoint, replay] = [again.checkpoint.bind(again), again.replay.bind(again)];
    again.checkpoint = () => {
      clock.advance(70);
      return checkpoint();
    };
    again.replay = (...args) => {
      clock.advance(300);
      return replay(...args);
    };
    const log = new RecordingLog();
    const at = (await again.checkpoint())!;
    await openBroker({ journal: again, clock, log });
    expect(log.lines).toEqual([
      {
        level: 'info',
        message: 'the store was read',
        fields: {
          messages: 2,
          checkpointBytes: at.data.length,
          checkpointMs: 70,
          replayedBytes: again.position - at.position,
          replayMs: 300,
        },
      },
    ]);
  });
});

describe('bytes that something refers to', () => {
  it('count a body once for the log and once for each queue that has it, after a restart too', async () => {
    const clock = new ManualClock();
    const log = 'topic' as ChannelName;
    const queues = ['a', 'b', 'c'] as ChannelName[];
    const journal = createMemoryJournal({});
    const broker = await openBroker({ journal, clock, log: new RecordingLog() });
    await broker.change([
      { do: 'create-log', channel: log },
      ...queues.map((queue) => ({ do: 'create-queue', channel: queue, settings: {} }) as const),
    ]);
    await broker.append([{ channel: log, body: Buffer.alloc(1000) }]);
    const once = broker.figures().liveBytes;
    expect(once).toBeGreaterThan(1000);
    broker.setFanOut(
      log,
      queues.map((queue) => ({ queue })),
    );
    await broker.append([{ channel: log, body: Buffer.alloc(1000) }]);
    expect(broker.figures().liveBytes).toBe(once + 4 * once);
    const again = await openBroker({
      journal: createMemoryJournal({ image: journal.image() }),
      clock,
      log: new RecordingLog(),
    });
    expect(again.figures().liveBytes).toBe(5 * once);
  });
});
