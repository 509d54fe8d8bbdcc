import { afterAll, beforeAll, expect, it } from 'vitest';
import { RawAmqp } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer();
});
afterAll(() => server.stop());

/** Until the server has the disk again. */
async function withoutDisk(run: () => Promise<void>): Promise<void> {
  server.faults.holdCommits = true;
  try {
    await run();
  } finally {
    server.faults.holdCommits = false;
    server.journal.commit();
  }
}

it('a message reaches who waits for it before the disk has it, and is confirmed when it does', async () => {
  const publisher = await RawAmqp.open(server.port);
  const consumer = await RawAmqp.open(server.port);
  await publisher.declare('early', { durable: true });
  await publisher.call(1, 'confirm.select', { nowait: false });
  expect(await consumer.consume('early', 't')).toBe('basic.consume-ok t');
  await withoutDisk(async () => {
    publisher.publish('early', 'at once', { properties: { deliveryMode: 2 } });
    expect(await consumer.answer()).toContain('deliver t #1 /early "at once"');
    expect(await publisher.rest()).toEqual([]);
  });
  expect(await publisher.answer()).toBe('basic.ack 1 false');
  for (const raw of [publisher, consumer]) await raw.close();
});

it('in a transaction, or fetched, it comes when the disk has it', async () => {
  const publisher = await RawAmqp.open(server.port);
  const consumer = await RawAmqp.open(server.port);
  await publisher.declare('late', { durable: true });
  await consumer.consume('late', 't');
  await publisher.call(1, 'tx.select', {});
  await withoutDisk(async () => {
    publisher.publish('late', 'together');
    publisher.send(1, 'tx.commit', {});
    expect(await consumer.rest()).toEqual([]);
  });
  expect(await consumer.answer()).toContain('deliver t #1 /late "together"');
  expect(await publisher.answer()).toBe('tx.commit-ok');
  for (const raw of [publisher, consumer]) await raw.close();
});
