import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { MemoryJournal } from '../../journal/memory/index.js';
import type { MemoryImage } from '../../journal/memory/index.js';
import { openBroker, type OpenBroker } from '../broker.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type { OutgoingMessage } from '../message.js';

const QUEUE = 'q' as ChannelName;
const FULL = 'full' as ChannelName;
const LOG = 'l' as ChannelName;
const COPY = 'copy' as ChannelName;

async function opened(image?: MemoryImage): Promise<{ broker: OpenBroker; journal: MemoryJournal }> {
  const journal = new MemoryJournal(image === undefined ? {} : { image });
  const broker = await openBroker({ journal, clock: new ManualClock(), log: silentLog });
  return { broker, journal };
}

async function made(): Promise<{ broker: OpenBroker; journal: MemoryJournal }> {
  const rig = await opened();
  await rig.broker.change([
    { do: 'create-queue', channel: QUEUE },
    { do: 'create-queue', channel: COPY },
    { do: 'create-queue', channel: FULL, settings: { maxLength: 1, overflow: 'reject' } },
    { do: 'create-log', channel: LOG },
  ]);
  return rig;
}

function message(channel: ChannelName, body: string): OutgoingMessage {
  return { channel, body: Buffer.from(body) };
}

async function events(broker: OpenBroker): Promise<readonly string[]> {
  const read = await broker.readLog({ channel: LOG, fromSequence: 1, max: 100 });
  return read.map((event) => `${event.sequence} ${Buffer.from(event.message.body).toString()}`);
}

async function messages(broker: OpenBroker, channel = QUEUE): Promise<readonly string[]> {
  const peeked = await broker.peek(channel, 100);
  return peeked.map((one) => Buffer.from(one.message.body).toString());
}

describe('events appended in the entry of a send', () => {
  it('are there with its messages, after a restart too, and in the order of plain appends', async () => {
    const { broker, journal } = await made();
    await broker.append([message(LOG, 'a')]);
    await broker.send([message(QUEUE, 'm')], { append: [message(LOG, 'b'), message(LOG, 'c')] });
    await broker.append([message(LOG, 'd')]);
    for (const each of [broker, (await opened(journal.image())).broker]) {
      expect(await events(each)).toEqual(['1 a', '2 b', '3 c', '4 d']);
      expect(await messages(each)).toEqual(['m']);
    }
  });

  it('are copied to the targets of their log', async () => {
    const { broker } = await made();
    broker.setFanOut(LOG, [{ queue: COPY }]);
    await broker.send([message(QUEUE, 'm')], { append: [message(LOG, 'b')] });
    expect(await messages(broker, COPY)).toEqual(['b']);
  });

  it('are durable or lost together with its messages', async () => {
    const { broker, journal } = await made();
    await broker.append([message(LOG, 'before')]);
    journal.faults.holdCommits = true;
    const sent = broker.send([message(QUEUE, 'm')], { append: [message(LOG, 'b')] });
    expect(await events(broker)).toEqual(['1 before']);
    const after = (await opened(journal.image())).broker;
    expect([await events(after), await messages(after)]).toEqual([['1 before'], []]);
    journal.faults.holdCommits = false;
    journal.commit();
    await sent;
    expect(await events(broker)).toEqual(['1 before', '2 b']);
    journal.faults.failNextGroup = new BrokerError('unavailable', 'disk');
    await expect(broker.send([message(QUEUE, 'n')], { append: [message(LOG, 'c')] })).rejects.toThrow('disk');
    expect([await events(broker), await messages(broker)]).toEqual([['1 before', '2 b'], ['m']]);
    await broker.send([message(QUEUE, 'o')], { append: [message(LOG, 'd')] });
    expect(await events((await opened(journal.image())).broker)).toEqual(['1 before', '2 b', '3 d']);
  });

  it('stay out when the batch is refused as a whole, and go in when one message is', async () => {
    const { broker } = await made();
    await broker.send([message(FULL, 'only')]);
    const append = [message(LOG, 'x')];
    const refused = await broker.send([message(QUEUE, 'm'), message(FULL, 'n')], {
      allOrNothing: true,
      append,
    });
    expect(refused.map(({ ok }) => ok)).toEqual([false, false]);
    expect(await events(broker)).toEqual([]);
    const partly = await broker.send([message(QUEUE, 'm'), message(FULL, 'n')], { append });
    expect(partly.map(({ ok }) => ok)).toEqual([true, false]);
    expect(await events(broker)).toEqual(['1 x']);
  });

  it('reject the send, with nothing stored, when their log is missing', async () => {
    const { broker } = await made();
    const append = [message('none' as ChannelName, 'x')];
    await expect(broker.send([message(QUEUE, 'm')], { append })).rejects.toMatchObject({ kind: 'not-found' });
    expect(await messages(broker)).toEqual([]);
    await broker.send([message(QUEUE, 'm')]);
    expect(await messages(broker)).toEqual(['m']);
  });
});
