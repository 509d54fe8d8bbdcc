import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import type { MemoryImage } from '../../journal/memory/index.js';
import type { OpenBroker } from '../broker.js';
import { openBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';
import type { Delivery, SendOptions } from './types.js';

const IN = 'in' as ChannelName;
const OUT = 'out' as ChannelName;
const FULL = 'full' as ChannelName;

interface Rig {
  readonly broker: OpenBroker;
  readonly journal: MemoryJournal;
}

async function opened(image?: MemoryImage): Promise<Rig> {
  const journal = new MemoryJournal(image === undefined ? {} : { image });
  const broker = await openBroker({ journal, clock: new ManualClock(), log: silentLog });
  return { broker, journal };
}

function message(channel: ChannelName): OutgoingMessage {
  return { channel, body: Buffer.from('x') };
}

/** A broker with one message taken from `in`. */
async function withOneTaken(): Promise<Rig & { readonly taken: Delivery }> {
  const rig = await opened();
  await rig.broker.change([
    { do: 'create-queue', channel: IN },
    { do: 'create-queue', channel: OUT },
    { do: 'create-queue', channel: FULL, settings: { maxLength: 1, overflow: 'reject' } },
  ]);
  await rig.broker.send([message(IN), message(FULL)]);
  const handOut = { kind: 'lease', leaseMs: 0 } as const;
  const [taken] = await rig.broker.receive({ channel: IN, max: 1, waitMs: 0, handOut });
  return { ...rig, taken: taken as Delivery };
}

function figures(broker: OpenBroker): readonly number[] {
  const [from, to] = [broker.queueStats(IN), broker.queueStats(OUT)];
  return [from?.ready ?? -1, from?.inFlight ?? -1, to?.ready ?? -1];
}

const STAYED = [0, 1, 0];
const WENT_OVER = [0, 0, 1];

describe('acknowledging in the entry of a send', () => {
  it('takes the deliveries away when the messages are there, and not before', async () => {
    const { broker, journal, taken } = await withOneTaken();
    journal.faults.holdCommits = true;
    const sent = broker.send([message(OUT)], { allOrNothing: true, acks: [taken, taken] });
    expect(figures(broker)).toEqual(STAYED);
    expect(broker.holds(taken)).toBe(true);
    journal.faults.holdCommits = false;
    journal.commit();
    await sent;
    expect(figures(broker)).toEqual(WENT_OVER);
    expect(broker.queueStats(IN)?.acknowledged).toBe(1);
    const again = await opened(journal.image());
    expect(figures(again.broker)).toEqual(WENT_OVER);
  });

  it('leaves them alone when the batch is refused', async () => {
    const { broker, journal, taken } = await withOneTaken();
    const options: SendOptions = { allOrNothing: true, acks: [taken] };
    const outcomes = await broker.send([message(OUT), message(FULL)], options);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([false, false]);
    expect(figures(broker)).toEqual(STAYED);
    // The holder is gone after the restart: the message is back.
    expect(figures((await opened(journal.image())).broker)).toEqual([1, 0, 0]);
  });

  it('leaves them alone when the entry is lost', async () => {
    const { broker, journal, taken } = await withOneTaken();
    journal.faults.failNextGroup = new BrokerError('unavailable', 'disk');
    await expect(broker.send([message(OUT)], { allOrNothing: true, acks: [taken] })).rejects.toThrow('disk');
    expect(figures(broker)).toEqual(STAYED);
    expect(broker.holds(taken)).toBe(true);
    await broker.send([message(OUT)], { allOrNothing: true, acks: [taken] });
    expect(figures(broker)).toEqual(WENT_OVER);
  });

  it('holds over a checkpoint that is taken while the entry is on its way', async () => {
    const { broker, journal, taken } = await withOneTaken();
    journal.faults.holdCommits = true;
    const sent = broker.send([message(OUT)], { allOrNothing: true, acks: [taken] });
    const checkpoint = broker.checkpoint();
    journal.faults.holdCommits = false;
    journal.commit();
    await Promise.all([sent, checkpoint]);
    expect(broker.figures().checkpoints).toBe(1);
    expect(figures((await opened(journal.image())).broker)).toEqual(WENT_OVER);
  });

  it('passes over what owns nothing, and works where nothing is journaled', async () => {
    const { broker, taken } = await withOneTaken();
    const memory = 'memory' as ChannelName;
    await broker.change([{ do: 'create-queue', channel: memory, settings: { durable: false } }]);
    await broker.send([message(memory)], {
      acks: [
        { ...taken, attempt: 7 },
        { ...taken, sequence: 99 },
      ],
    });
    expect(figures(broker)).toEqual(STAYED);
    await broker.send([message(memory)], { acks: [taken] });
    expect(figures(broker)).toEqual([0, 0, 0]);
    expect(broker.queueStats(memory)?.ready).toBe(2);
  });
});
