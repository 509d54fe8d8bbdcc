import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

let clock: ManualClock;
let server: AmqpServer;
let raw: RawAmqp;

async function start(consumerTimeoutMs: number, capabilities?: ReturnType<typeof table>): Promise<void> {
  clock = new ManualClock();
  server = await startAmqpServer({ clock, config: { consumerTimeoutMs } });
  raw = await RawAmqp.open(server.port, capabilities === undefined ? {} : { capabilities });
}

beforeEach(() => start(0));
afterEach(async () => {
  await raw.close();
  await server.stop();
  expect(server.logged).toEqual([]);
});

async function again(...args: Parameters<typeof start>): Promise<void> {
  await raw.close();
  await server.stop();
  await start(...args);
}

const TIMED = { arguments: table({ 'x-consumer-timeout': 60_000 }) };
const TEXT = (ms: number): string =>
  `CH 406 PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: ${String(ms)} ms. This timeout value can be configured, see consumers doc guide to learn more [0.0]`;

describe('deliveries that are not acknowledged', () => {
  it('wait for ever by default', async () => {
    await raw.declare('q');
    raw.publish('q', 'x');
    await raw.consume('q', 't');
    expect(await raw.answer()).toContain('"x"');
    clock.advance(86_400_000);
    expect(await raw.rest()).toEqual([]);
    raw.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    expect(await raw.declare('q')).toBe('queue.declare-ok q 0 1');
  });

  it('go back when the time of their queue is over; the consumer is cancelled, and late answers are no mistake', async () => {
    await raw.declare('q', TIMED);
    for (const body of ['a', 'b']) raw.publish('q', body);
    await raw.consume('q', 't');
    expect(await raw.answer()).toContain('"a"');
    expect(await raw.answer()).toContain('"b"');
    clock.advance(30_000);
    raw.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
    await raw.declare('q', TIMED);
    clock.advance(30_000);
    expect(await raw.answer()).toBe('basic.cancel t true');
    raw.send(1, 'basic.ack', { deliveryTag: 2, multiple: false });
    expect(await raw.get('q', false)).toBe('get-ok #3 redelivered /q +0 "b"');
    raw.send(1, 'basic.ack', { deliveryTag: 3, multiple: false });
    await raw.declare('q', TIMED);
    clock.advance(120_000);
    expect(await raw.declare('q', TIMED)).toBe('queue.declare-ok q 0 0');
  });

  it('close the channel of a client that does not know basic.cancel, and of one that got them', async () => {
    await again(0, table({ 'basic.nack': true }));
    await raw.declare('q', TIMED);
    raw.publish('q', 'x');
    await raw.consume('q', 't');
    await raw.answer();
    clock.advance(60_000);
    expect(await raw.answer()).toBe(TEXT(60_000));
    await again(5_000);
    await raw.declare('q');
    raw.publish('q', 'x');
    expect(await raw.get('q', false)).toContain('"x"');
    clock.advance(5_000);
    expect(await raw.answer()).toBe(TEXT(5_000));
    await raw.call(1, 'channel.open', { reserved1: '' });
    expect(await raw.get('q')).toContain('redelivered');
  });

  it('have the time of their consumer, of their queue, or of the setting, in this order', async () => {
    await again(10_000);
    await raw.declare('plain');
    await raw.declare('q', TIMED);
    const own = { arguments: table({ 'x-consumer-timeout': 120_000 }) };
    for (const [queue, tag, options] of [
      ['plain', 'setting', {}],
      ['q', 'queue', {}],
      ['q', 'consumer', own],
    ] as const) {
      await raw.consume(queue, tag, options);
    }
    for (const queue of ['plain', 'q', 'q']) {
      raw.publish(queue, 'x');
      await raw.answer();
    }
    const ended: string[] = [];
    for (const ms of [10_000, 50_000, 60_000]) {
      clock.advance(ms);
      ended.push(...(await raw.rest()).filter((text) => text.startsWith('basic.cancel')));
    }
    expect(ended).toEqual([
      'basic.cancel setting true',
      'basic.cancel queue true',
      'basic.cancel consumer true',
    ]);
  });
});
