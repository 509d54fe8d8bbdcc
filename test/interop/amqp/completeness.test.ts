import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import { startAmqpServer } from './amqp-server.js';
import { until } from './probes/probe.js';

const persistent = { deliveryMode: 2 };
const channel = (name: string): ChannelName => `amqp.default.${name}` as ChannelName;

describe('a publish to more queues than one batch of the store holds', () => {
  it('reaches all of them, and is confirmed once', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    const count = 12_000;
    for (let i = 0; i < count; i++) {
      raw.send(1, 'queue.declare', {
        ticket: 0,
        queue: `w.${String(i)}`,
        passive: false,
        durable: false,
        exclusive: false,
        autoDelete: false,
        nowait: true,
        arguments: new Map(),
      });
      raw.send(1, 'queue.bind', {
        ticket: 0,
        queue: `w.${String(i)}`,
        exchange: 'amq.fanout',
        routingKey: '',
        nowait: true,
        arguments: new Map(),
      });
    }
    expect(await raw.call(1, 'confirm.select', { nowait: false })).toBe('confirm.select-ok');
    raw.publish('', 'to all', { exchange: 'amq.fanout' });
    raw.publish('', 'again', { exchange: 'amq.fanout' });
    const acks = await raw.rest(2_000);
    expect(acks.at(-1)).toMatch(/^basic\.ack 2 /);
    const ready = Array.from(
      { length: count },
      (_, i) => server.broker.queueStats(channel(`w.${String(i)}`))?.ready,
    );
    expect(new Set(ready)).toEqual(new Set([2]));
    expect(server.logged).toEqual([]);
    await raw.close();
    await server.stop();
  });

  it('may be large, too', async () => {
    const server = await startAmqpServer({ limits: { batchBytesMax: 32 * 1024 * 1024 } });
    const raw = await RawAmqp.open(server.port);
    for (let i = 0; i < 9; i++) {
      await raw.declare(`l.${String(i)}`);
      await raw.bind(`l.${String(i)}`, 'amq.fanout', '');
    }
    await raw.call(1, 'confirm.select', { nowait: false });
    raw.publish('', 'x'.repeat(5_000_000), { exchange: 'amq.fanout' });
    expect(await raw.answer()).toBe('basic.ack 1 false');
    expect(await raw.get('l.8')).toContain('(5000000 bytes)');
    expect(server.logged).toEqual([]);
    await raw.close();
    await server.stop();
  });
});

describe('dead letters that another protocol published', () => {
  it('tell where they died, and stay what they are for others', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    await raw.declare('dead', { durable: true });
    const args = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'dead' };
    await raw.declare('work', { durable: true, arguments: table(args) });
    const tags = new Map([['color', 'red']]);
    await server.broker.send([
      { channel: channel('work'), body: Buffer.from('hi'), id: 'n-1', metadata: 'mine', tags },
    ]);
    await until(raw, 'work', false);
    raw.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    const dead = await until(raw, 'dead', false);
    expect(dead).toContain('x-death:A(F[count:l1, exchange:S"", queue:S"work", reason:S"rejected"');
    expect(dead).toContain('color:S"red"');
    expect(dead).toContain('x-kubemq-metadata:S"mine"');
    raw.send(1, 'basic.reject', { deliveryTag: 2, requeue: true });
    await raw.declare('dead', { durable: true });
    const [seen] = await server.broker.peek(channel('dead'), 1);
    expect(seen?.message.metadata).toBe('mine');
    expect(seen?.message.tags.get('color')).toBe('red');
    await raw.close();
    await server.stop();
  });
});

describe('users', () => {
  it('of the configuration may come in with their passwords, and speak for themselves only', async () => {
    const users = [{ name: 'ann', password: 'a=b' }];
    const server = await startAmqpServer({ config: { users } });
    const wrong = await RawAmqp.open(server.port);
    expect(await wrong.answer()).toMatch(/^CONN 403 ACCESS_REFUSED - Login was refused/);
    const raw = await RawAmqp.open(server.port, { user: ['ann', 'a=b'] });
    await raw.declare('q');
    raw.publish('q', 'x', { properties: { userId: 'bob' } });
    expect(await raw.answer()).toBe(
      "CH 406 PRECONDITION_FAILED - user_id property set to 'bob' but authenticated user was 'ann' [60.40]",
    );
    raw.send(0, 'connection.update-secret', { newSecret: Buffer.from('new'), reason: 'why' });
    expect(await raw.answer()).toBe('connection.update-secret-ok');
    for (const one of [wrong, raw]) await one.close();
    await server.stop();
  });

  it('are who they say as long as none is known', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port, { user: ['anybody', ''] });
    await raw.declare('q');
    raw.publish('q', 'x', { properties: { userId: 'somebody else' } });
    expect(await raw.get('q')).toContain('userId=somebody else');
    await raw.close();
    await server.stop();
  });
});

describe('deliveries of quorum queues', () => {
  it('are counted over a restart, and dead-lettered at their limit', async () => {
    const first = await startAmqpServer();
    const args = {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 2,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': 'dead',
    };
    const raw = await RawAmqp.open(first.port);
    await raw.declare('dead', { durable: true });
    await raw.declare('q', { durable: true, arguments: table(args) });
    raw.publish('q', 'x', { properties: persistent });
    for (let tag = 1; tag <= 2; tag++) {
      expect(await until(raw, 'q', false)).toContain(`x-delivery-count:l${String(tag - 1)}`);
      raw.send(1, 'basic.nack', { deliveryTag: tag, multiple: false, requeue: true });
    }
    await raw.declare('dead', { durable: true });
    await raw.close();
    await first.stop();
    const second = await startAmqpServer({ journal: new MemoryJournal({ image: first.journal.image() }) });
    const again = await RawAmqp.open(second.port);
    expect(await until(again, 'q', false)).toMatch(/^get-ok #1 redelivered .*x-delivery-count:l2/);
    again.send(1, 'basic.nack', { deliveryTag: 1, multiple: false, requeue: true });
    expect(await until(again, 'dead')).toContain('delivery_limit');
    await again.close();
    await second.stop();
  });
});
