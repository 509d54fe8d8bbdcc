import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

const persistent = { deliveryMode: 2 };

/** A client in a transaction that takes from `in` and publishes to two other queues; the commit is sent. */
async function committing(server: AmqpServer): Promise<RawAmqp> {
  const raw = await RawAmqp.open(server.port);
  for (const name of ['in', 'out.1', 'out.2']) await raw.declare(name, { durable: true });
  raw.publish('in', 'task', { properties: persistent });
  await raw.call(1, 'tx.select', {});
  expect(await raw.get('in', false)).toContain('"task"');
  raw.publish('out.1', 'one', { properties: persistent });
  raw.publish('out.2', 'two', { properties: persistent });
  raw.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
  return raw;
}

function counts(server: AmqpServer): readonly number[] {
  return ['in', 'out.1', 'out.2'].map((name) => {
    const stats = server.broker.queueStats(`amqp.default.${name}` as ChannelName);
    return (stats?.ready ?? 0) + (stats?.inFlight ?? 0);
  });
}

describe('a transaction', () => {
  it('is all there or not at all after a crash', async () => {
    const server = await startAmqpServer();
    const raw = await committing(server);
    server.faults.holdCommits = true;
    raw.send(1, 'tx.commit', {});
    expect(await raw.rest()).toEqual([]);
    expect(counts(server)).toEqual([1, 0, 0]);
    const before = await startAmqpServer({ journal: new MemoryJournal({ image: server.journal.image() }) });
    expect(counts(before)).toEqual([1, 0, 0]);
    await before.stop();
    server.faults.holdCommits = false;
    server.journal.commit();
    expect(await raw.answer()).toBe('tx.commit-ok');
    expect(counts(server)).toEqual([0, 1, 1]);
    const after = await startAmqpServer({ journal: new MemoryJournal({ image: server.journal.image() }) });
    expect(counts(after)).toEqual([0, 1, 1]);
    await after.stop();
    await raw.close();
    await server.stop();
  });

  it('waits for room in the store', async () => {
    const server = await startAmqpServer();
    const raw = await committing(server);
    server.faults.lowSpace = true;
    raw.send(1, 'tx.commit', {});
    expect(await raw.answer()).toMatch(/^connection\.blocked/);
    server.faults.lowSpace = false;
    expect(await raw.answer()).toBe('connection.unblocked');
    expect(await raw.answer()).toBe('tx.commit-ok');
    expect(counts(server)).toEqual([0, 1, 1]);
    await raw.close();
    await server.stop();
  });

  it('gives back what it held when its connection ends before the commit is stored', async () => {
    const server = await startAmqpServer();
    const raw = await committing(server);
    await raw.close();
    await expect.poll(() => server.broker.queueStats('amqp.default.in' as ChannelName)?.ready).toBe(1);
    expect(counts(server)).toEqual([1, 0, 0]);
    expect(server.logged).toEqual([]);
    await server.stop();
  });

  it('has a bound', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    await raw.declare('in');
    await raw.call(1, 'tx.select', {});
    for (let i = 0; i <= 10_000; i++) raw.publish('in', 'x');
    expect(await raw.answer()).toMatch(
      /^CH 406 PRECONDITION_FAILED - a transaction has at most 10000 messages/,
    );
    await raw.close();
    await server.stop();
  });
});
