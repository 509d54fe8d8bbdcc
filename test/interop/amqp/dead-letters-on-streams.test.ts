import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { BrokerError } from '../../../src/core/errors.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import type { FieldTable } from '../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

/** Times each case is gone through: what races does not race once. */
const TURNS = 20;

const STREAM = 'amqp.default.s' as ChannelName;
const WORK = 'amqp.default.work' as ChannelName;

let clock: ManualClock;
let server: AmqpServer;
let raw: RawAmqp;

async function start(journal = new MemoryJournal()): Promise<void> {
  clock = new ManualClock();
  server = await startAmqpServer({ clock, journal });
  raw = await RawAmqp.open(server.port);
}

beforeEach(async () => {
  await start();
  await raw.declare('s', { durable: true, arguments: table({ 'x-queue-type': 'stream' }) });
});
afterEach(async () => {
  server.faults.holdCommits = false;
  server.journal.commit();
  await raw.close();
  await server.stop();
  expect(server.logged).toEqual([]);
});

const toStream = (more: Parameters<typeof table>[0] = {}): { arguments: FieldTable } => ({
  arguments: table({ 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 's', ...more }),
});

const reject = (deliveryTag: number): void => raw.send(1, 'basic.reject', { deliveryTag, requeue: false });
const bodyOf = (answer: string): string => /"(.*?)"/.exec(answer)?.[1] ?? answer;
const held = (): Promise<string> => raw.answer(100);
const passive = (queue: string): Promise<string> => raw.declare(queue, { passive: true });

async function take(queue: string): Promise<number> {
  const answer = await raw.get(queue, false);
  return Number(/#(\d+)/.exec(answer)?.[1] ?? answer);
}

/** The first delivery to a consumer that begins there. */
async function first(offset: string, channel = 2): Promise<string> {
  await raw.call(channel, 'channel.open', { reserved1: '' });
  await raw.call(channel, 'basic.qos', { prefetchSize: 0, prefetchCount: 1, global: false });
  const from = new Map([['x-stream-offset', { tag: 'S', value: Buffer.from(offset) } as const]]);
  await raw.consume('s', 't', { arguments: from }, channel);
  const delivery = bodyOf(await raw.answer());
  await raw.call(channel, 'channel.close', {
    replyCode: 200,
    replyText: '',
    failedClassId: 0,
    failedMethodId: 0,
  });
  return delivery;
}

async function bodies(): Promise<readonly string[]> {
  const events = await server.broker.readLog({ channel: STREAM, fromSequence: 1, max: 100 });
  return events.map(({ message }) => Buffer.from(message.body).toString());
}

describe.each([
  { durable: true, kind: 'durable queues' },
  { durable: false, kind: 'transient queues' },
])('dead letters of a settlement, $kind', ({ durable }) => {
  beforeEach(() => raw.declare('work', { durable, ...toStream() }));

  it('are counted by the next declare of the stream, and found by its next consumer', async () => {
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('work', `m${String(turn)}`);
      reject(await take('work'));
      expect(await passive('s')).toBe(`queue.declare-ok s ${String(2 * turn - 1)} 0`);
      raw.publish('work', `n${String(turn)}`);
      reject(await take('work'));
      expect(await first('last')).toBe(`n${String(turn)}`);
    }
  });

  it('are waited for, and those for other channels are not', async () => {
    await raw.declare('other', { durable: true });
    raw.publish('work', 'a');
    const tag = await take('work');
    server.faults.holdCommits = true;
    reject(tag);
    expect(await passive('other')).toBe('queue.declare-ok other 0 0');
    raw.send(1, 'queue.declare', PASSIVE);
    expect(await held()).toBe('(silence)');
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(await raw.answer()).toBe('queue.declare-ok s 1 0');
  });
});

const PASSIVE = {
  ticket: 0,
  queue: 's',
  passive: true,
  durable: true,
  exclusive: false,
  autoDelete: false,
  nowait: false,
  arguments: new Map(),
};

describe('dead letters of a publish', () => {
  it('to a full queue, to one that refuses, and without time to live', async () => {
    await raw.declare('full', { durable: true, ...toStream({ 'x-max-length': 1 }) });
    const refusing = { 'x-max-length': 1, 'x-overflow': 'reject-publish-dlx' };
    await raw.declare('refuses', { durable: true, ...toStream(refusing) });
    await raw.declare('short', { durable: true, ...toStream({ 'x-message-ttl': 0 }) });
    for (const queue of ['full', 'refuses']) raw.publish(queue, 'stays');
    for (const [i, queue] of ['full', 'refuses', 'short'].entries()) {
      raw.publish(queue, queue);
      expect(await passive('s')).toBe(`queue.declare-ok s ${String(i + 1)} 0`);
    }
    expect(await bodies()).toEqual(['stays', 'refuses', 'short']);
  });
});

describe('a dead-letter exchange with a queue and a stream', () => {
  beforeEach(async () => {
    await raw.declare('work', {
      durable: true,
      arguments: table({ 'x-dead-letter-exchange': 'amq.fanout' }),
    });
    await raw.declare('dead', { durable: true });
    for (const queue of ['dead', 's']) await raw.bind(queue, 'amq.fanout', '');
  });

  it('gives each letter to both, at once', async () => {
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('work', `m${String(turn)}`);
      reject(await take('work'));
      if (turn % 2 === 0) {
        expect(await passive('s')).toBe(`queue.declare-ok s ${String(turn)} 0`);
        expect(bodyOf(await raw.get('dead'))).toBe(`m${String(turn)}`);
      } else {
        expect(bodyOf(await raw.get('dead'))).toBe(`m${String(turn)}`);
        expect(await first('last')).toBe(`m${String(turn)}`);
      }
    }
  });

  it('gives what a full queue refuses to both', async () => {
    const refusing = { 'x-max-length': 1, 'x-overflow': 'reject-publish-dlx' };
    await raw.declare('refuses', {
      durable: true,
      arguments: table({ 'x-dead-letter-exchange': 'amq.fanout', ...refusing }),
    });
    raw.publish('refuses', 'stays');
    raw.publish('refuses', 'goes');
    expect(bodyOf(await raw.get('dead'))).toBe('goes');
    expect(await passive('s')).toBe('queue.declare-ok s 1 0');
  });

  it('loses none when the broker ends between two entries', async () => {
    raw.publish('work', 'a', { properties: { deliveryMode: 2 } });
    const tag = await take('work');
    await passive('work');
    // Every state the store goes through, from the rejection on.
    server.faults.holdCommits = true;
    reject(tag);
    await raw.call(2, 'channel.open', { reserved1: '' });
    const images = [server.journal.image()];
    server.journal.commit();
    images.push(server.journal.image());
    await expect.poll(async () => (await bodies()).length).toBe(1);
    server.journal.commit();
    images.push(server.journal.image());
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(bodyOf(await raw.get('dead', false))).toBe('a');
    images.push(server.journal.image());
    for (const image of images) {
      const other = await startAmqpServer({ clock, journal: new MemoryJournal({ image }) });
      const inStream = other.broker.logStats(STREAM)?.events ?? 0;
      const inDead = other.broker.queueStats('amqp.default.dead' as ChannelName)?.ready ?? 0;
      const inWork = other.broker.queueStats(WORK);
      const stillThere = (inWork?.ready ?? 0) + (inWork?.inFlight ?? 0) + (inWork?.delayed ?? 0);
      expect({ inStream, inDead, stillThere }).toSatisfy(
        () => stillThere === 1 || (inStream >= 1 && inDead === 1),
      );
      await other.stop();
    }
  });
});

it('goes with its stream when that is deleted meanwhile', async () => {
  await raw.declare('work', { durable: true, ...toStream() });
  for (const body of ['a', 'b']) raw.publish('work', body);
  const tag = await take('work');
  server.faults.holdCommits = true;
  reject(tag);
  await raw.call(2, 'channel.open', { reserved1: '' });
  const gone = server.broker.change([{ do: 'delete-log', channel: STREAM }]);
  server.faults.holdCommits = false;
  server.journal.commit();
  await gone;
  clock.advance(1_000);
  expect(bodyOf(await raw.get('work'))).toBe('b');
  expect(await passive('work')).toBe('queue.declare-ok work 0 0');
  expect(server.broker.queueStats(WORK)).toMatchObject({ ready: 0, delayed: 0, inFlight: 0, bytes: 0 });
});

describe('a letter that could not be written', () => {
  it.each(['s', 'both'])('is not lost, to %s', async (to) => {
    const exchange =
      to === 's' ? toStream() : { arguments: table({ 'x-dead-letter-exchange': 'amq.fanout' }) };
    await raw.declare('work', { durable: true, ...exchange });
    await raw.declare('dead', { durable: true });
    for (const queue of ['dead', 's']) await raw.bind(queue, 'amq.fanout', '');
    raw.publish('work', 'a', { properties: { deliveryMode: 2 } });
    const tag = await take('work');
    server.faults.holdCommits = true;
    reject(tag);
    raw.send(1, 'queue.declare', PASSIVE);
    expect(await held()).toBe('(silence)');
    server.faults.failNextGroup = new BrokerError('unavailable', 'the disk is gone');
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(await raw.answer()).toMatch(/^queue.declare-ok s [01] 0/);
    // It is back where it was.
    clock.advance(1_000);
    reject(await take('work'));
    expect(await passive('s')).toBe('queue.declare-ok s 1 0');
    expect(await bodies()).toEqual(['a']);
    if (to === 'both') expect(bodyOf(await raw.get('dead'))).toBe('a');
  });
});
