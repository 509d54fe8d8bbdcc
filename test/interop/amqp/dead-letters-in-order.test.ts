import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { BrokerError } from '../../../src/core/errors.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import type { FieldTable } from '../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

/** Times each case is gone through: what races does not race once. */
const TURNS = 20;

let clock: ManualClock;
let server: AmqpServer;
let raw: RawAmqp;

/** `coldBytes`: bodies that are older than so many bytes have to be read. */
async function start(coldBytes?: number): Promise<void> {
  clock = new ManualClock();
  const journal = new MemoryJournal(coldBytes === undefined ? {} : { peekBytesMax: coldBytes });
  server = await startAmqpServer({ clock, journal });
  raw = await RawAmqp.open(server.port);
}

beforeEach(() => start());
afterEach(async () => {
  server.faults.holdCommits = false;
  server.journal.commit();
  await raw.close();
  await server.stop();
  expect(server.logged).toEqual([]);
});

const toDead = (more: Parameters<typeof table>[0] = {}): { arguments: FieldTable } => ({
  arguments: table({ 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'dead', ...more }),
});

const reject = (deliveryTag: number, channel = 1): void =>
  raw.send(channel, 'basic.reject', { deliveryTag, requeue: false });

/** The body in the answer to a get; the answer itself when it has none. */
const bodyOf = (answer: string): string => /"(.*?)"/.exec(answer)?.[1] ?? answer;

const got = async (queue: string, channel = 1): Promise<string> =>
  bodyOf(await raw.get(queue, true, channel));

/** Takes a message to answer for; gives its tag. */
async function take(queue: string, channel = 1): Promise<number> {
  const answer = await raw.get(queue, false, channel);
  return Number(/#(\d+)/.exec(answer)?.[1] ?? answer);
}

const passive = (queue: string): Promise<string> => raw.declare(queue, { passive: true });

describe.each([
  { durable: true, kind: 'durable queues' },
  { durable: false, kind: 'transient queues' },
])('dead letters of a settlement, $kind', ({ durable }) => {
  beforeEach(async () => {
    await raw.declare('dead', { durable });
    await raw.declare('work', { durable, ...toDead() });
  });

  it('are there for the next get, on the channel and on others of the connection', async () => {
    await raw.call(2, 'channel.open', { reserved1: '' });
    for (let turn = 0; turn < TURNS; turn++) {
      for (const channel of [1, 2]) {
        raw.publish('work', `m${String(turn)}`);
        reject(await take('work'));
        expect(await got('dead', channel)).toBe(`m${String(turn)}`);
      }
    }
  });

  it('are counted by declare, purge and delete', async () => {
    const die = async (): Promise<void> => {
      raw.publish('work', 'x');
      reject(await take('work'));
    };
    for (let turn = 1; turn <= TURNS; turn++) {
      await die();
      expect(await passive('dead')).toBe('queue.declare-ok dead 1 0');
      await die();
      expect(await raw.declare('dead', { durable })).toBe('queue.declare-ok dead 2 0');
      await die();
      const purge = { ticket: 0, queue: 'dead', nowait: false };
      expect(await raw.call(1, 'queue.purge', purge)).toBe('queue.purge-ok 3');
      await die();
      const remove = { ticket: 0, queue: 'dead', ifUnused: false, ifEmpty: false, nowait: false };
      expect(await raw.call(1, 'queue.delete', remove)).toBe('queue.delete-ok 1');
      await raw.declare('dead', { durable });
    }
  });

  it('keep a queue from being deleted as an empty one', async () => {
    raw.publish('work', 'x');
    reject(await take('work'));
    const remove = { ticket: 0, queue: 'dead', ifUnused: false, ifEmpty: true, nowait: false };
    expect(await raw.call(1, 'queue.delete', remove)).toContain('CH 406');
  });

  it('come in their order, also of a nack of many and of a transaction', async () => {
    for (let turn = 0; turn < TURNS; turn++) {
      const names = ['a', 'b', 'c'].map((name) => name + String(turn));
      for (const name of names) raw.publish('work', name);
      for (const name of names) expect(bodyOf(await raw.get('work', false))).toBe(name);
      raw.send(1, 'basic.nack', { deliveryTag: 0, multiple: true, requeue: false });
      for (const name of names) expect(await got('dead')).toBe(name);
    }
    await raw.call(2, 'channel.open', { reserved1: '' });
    await raw.call(2, 'tx.select', {});
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('work', 'x');
      await passive('work');
      reject(await take('work', 2), 2);
      expect(await raw.call(2, 'tx.commit', {})).toBe('tx.commit-ok @2');
      expect(await got('dead', 2)).toBe('x');
    }
  });
});

describe('dead letters of a publish', () => {
  beforeEach(() => raw.declare('dead', { durable: true }));

  it('to a full queue are there for the next get', async () => {
    await raw.declare('full', { durable: true, ...toDead({ 'x-max-length': 1 }) });
    raw.publish('full', 'm0');
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('full', `m${String(turn)}`);
      expect(await got('dead')).toBe(`m${String(turn - 1)}`);
    }
    await raw.call(1, 'tx.select', {});
    raw.publish('full', 'in a transaction');
    await raw.call(1, 'tx.commit', {});
    expect(await got('dead')).toBe(`m${String(TURNS)}`);
  });

  it('to a queue that refuses are there for the next get', async () => {
    const bound = { 'x-max-length': 1, 'x-overflow': 'reject-publish-dlx' };
    await raw.declare('full', { durable: true, ...toDead(bound) });
    raw.publish('full', 'stays');
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('full', `m${String(turn)}`);
      expect(await got('dead')).toBe(`m${String(turn)}`);
    }
  });

  it('that has no time to live are there for the next get', async () => {
    await raw.declare('short', { durable: true, ...toDead({ 'x-message-ttl': 0 }) });
    await raw.declare('plain', { durable: true, ...toDead() });
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('short', 'by its queue');
      expect(await got('dead')).toBe('by its queue');
      raw.publish('plain', 'by itself', { properties: { expiration: '0' } });
      expect(await passive('plain')).toBe('queue.declare-ok plain 0 0');
      expect(await got('dead')).toBe('by itself');
    }
  });

  it('go through queues that keep nothing in one go', async () => {
    const next = (key: string, bound: Parameters<typeof table>[0]): { arguments: FieldTable } => ({
      arguments: table({ ...bound, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': key }),
    });
    await raw.declare('last', { durable: true });
    await raw.declare('two', { durable: true, ...next('last', { 'x-max-length': 0 }) });
    await raw.declare('one', { durable: true, ...next('two', { 'x-message-ttl': 0 }) });
    await raw.declare('work', { durable: true, ...next('one', {}) });
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('work', 'x');
      reject(await take('work'));
      expect(await got('last')).toBe('x');
    }
    await raw.consume('two', 'waits', { noAck: true });
    raw.publish('one', 'y');
    expect(bodyOf(await raw.answer())).toBe('y');
  });

  it('go through bounded queues in one go', async () => {
    await raw.declare('last', { durable: true });
    const next = (key: string): FieldTable =>
      table({ 'x-max-length': 1, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': key });
    await raw.declare('two', { durable: true, arguments: next('last') });
    await raw.declare('one', { durable: true, arguments: next('two') });
    raw.publish('one', 'm0');
    raw.publish('one', 'm1');
    for (let turn = 2; turn < TURNS; turn++) {
      raw.publish('one', `m${String(turn)}`);
      expect(await got('last')).toBe(`m${String(turn - 2)}`);
    }
  });
});

describe('a command that looks into a queue', () => {
  const held = async (): Promise<string> => raw.answer(100);

  beforeEach(async () => {
    await raw.declare('dead', { durable: true });
    await raw.declare('work', { durable: true, ...toDead() });
    for (const body of ['a', 'b', 'c']) raw.publish('work', body);
    for (let i = 0; i < 3; i++) await raw.get('work', false);
  });

  it('waits for the dead letters on their way there, and for no others', async () => {
    await raw.declare('other', { durable: true });
    raw.publish('other', 'here');
    await passive('other');
    server.faults.holdCommits = true;
    reject(1);
    expect(await got('other')).toBe('here');
    expect(await passive('work')).toBe('queue.declare-ok work 0 0');
    raw.send(1, 'basic.get', { ticket: 0, queue: 'dead', noAck: true });
    expect(await held()).toBe('(silence)');
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(bodyOf(await raw.answer())).toBe('a');
  });

  it('waits for no longer than five seconds', async () => {
    server.faults.holdCommits = true;
    reject(1);
    raw.send(1, 'basic.get', { ticket: 0, queue: 'dead', noAck: true });
    expect(await held()).toBe('(silence)');
    clock.advance(5_000);
    expect(await raw.answer()).toContain('basic.get-empty');
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(await got('dead')).toBe('a');
  });

  it('goes on when the commit fails; the letter is not lost', async () => {
    server.faults.holdCommits = true;
    reject(1);
    raw.send(1, 'basic.get', { ticket: 0, queue: 'dead', noAck: true });
    expect(await held()).toBe('(silence)');
    server.faults.failNextGroup = new BrokerError('unavailable', 'the disk is gone');
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(await raw.answer()).toContain('basic.get-empty');
    reject(2);
    expect([await got('dead'), await got('dead')].sort()).toEqual(['a', 'b']);
  });

  it('holds up neither deliveries nor other channels, and ends with its connection', async () => {
    await raw.call(2, 'channel.open', { reserved1: '' });
    await raw.declare('fed', {}, 2);
    await raw.consume('fed', 'c', { noAck: true }, 2);
    server.faults.holdCommits = true;
    reject(1);
    raw.send(1, 'basic.get', { ticket: 0, queue: 'dead', noAck: true });
    raw.publish('fed', 'x', { channel: 2 });
    expect(bodyOf(await raw.answer())).toBe('x');
    await raw.close();
    await expect.poll(() => server.connector.status().connections).toBe(0);
    server.faults.holdCommits = false;
    server.journal.commit();
    raw = await RawAmqp.open(server.port);
    expect(await got('dead')).toBe('a');
  });

  it('ends when the broker goes away', async () => {
    server.faults.holdCommits = true;
    reject(1);
    raw.send(1, 'basic.get', { ticket: 0, queue: 'dead', noAck: true });
    expect(await held()).toBe('(silence)');
    server.broker.drain();
    expect(await raw.answer()).toContain('basic.get-empty');
  });

  it('finds its queue gone when it was deleted meanwhile', async () => {
    await raw.call(2, 'channel.open', { reserved1: '' });
    server.faults.holdCommits = true;
    reject(1);
    raw.send(1, 'basic.get', { ticket: 0, queue: 'dead', noAck: true });
    expect(await held()).toBe('(silence)');
    const change = server.broker.change([{ do: 'delete-queue', channel: 'amqp.default.dead' as never }]);
    server.faults.holdCommits = false;
    server.journal.commit();
    await change;
    expect(await raw.answer()).toMatch(/get-empty|CH 404|"a"/);
  });
});

describe('dead letters whose bodies have to be read', () => {
  it('are waited for, too', async () => {
    await raw.close();
    await server.stop();
    await start(64);
    await raw.declare('dead', { durable: true });
    await raw.declare('work', { durable: true, ...toDead() });
    for (let turn = 1; turn <= TURNS; turn++) {
      raw.publish('work', 'old');
      const tag = await take('work');
      // Now the body is no longer among the newest bytes.
      await raw.declare(`filler-${String(turn)}`, { durable: true });
      reject(tag);
      expect(await got('dead')).toBe('old');
    }
  });
});
