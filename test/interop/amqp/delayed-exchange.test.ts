import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import type { FieldValue } from '../../../src/connectors/amqp/wire/field-table.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import { startAmqpServer } from './amqp-server.js';

const TYPE = 'x-delayed-message';
const options = { durable: true, arguments: table({ 'x-delayed-type': 'direct' }) };

function delayed(value: FieldValue): {
  readonly deliveryMode: number;
  readonly headers: Map<string, FieldValue>;
} {
  return { deliveryMode: 2, headers: new Map([['x-delay', value]]) };
}

describe('a delayed exchange', () => {
  it('delivers when the time has come, also after a restart', async () => {
    const clock = new ManualClock();
    const first = await startAmqpServer({ clock });
    const raw = await RawAmqp.open(first.port);
    expect(await raw.exchange('later', TYPE, options)).toBe('exchange.declare-ok');
    await raw.declare('q', { durable: true });
    await raw.bind('q', 'later', 'k');
    raw.publish('k', 'at once', { exchange: 'later', properties: { deliveryMode: 2 } });
    raw.publish('k', 'in a minute', {
      exchange: 'later',
      mandatory: true,
      properties: delayed({ tag: 'I', value: 60_000 }),
    });
    // More than 32 bits of milliseconds, and than anybody waits.
    raw.publish('k', 'never', { exchange: 'later', properties: delayed({ tag: 'l', value: 2n ** 40n }) });
    expect(await raw.get('q')).toBe('get-ok #1 later/k +0 "at once" {deliveryMode=2}');
    expect(await raw.get('q')).toMatch(/^basic\.get-empty/);
    clock.advance(30_000);
    await raw.close();
    await first.stop();

    const journal = new MemoryJournal({ image: first.journal.image() });
    const second = await startAmqpServer({ clock, journal });
    const again = await RawAmqp.open(second.port);
    expect(await again.get('q')).toMatch(/^basic\.get-empty/);
    clock.advance(30_500);
    expect(await again.get('q')).toMatch(/^get-ok #1 later\/k \+0 "in a minute"/);
    clock.advance(5_000_000_000);
    expect(await again.get('q')).toMatch(/^basic\.get-empty/);
    expect(await again.exchange('later', TYPE, options)).toBe('exchange.declare-ok');
    await again.close();
    await second.stop();
  });

  it('begins the life of a message when its delay is over: with none, it is for whoever waits then', async () => {
    const clock = new ManualClock();
    const server = await startAmqpServer({ clock });
    const raw = await RawAmqp.open(server.port);
    await raw.exchange('later', TYPE, options);
    await raw.declare('q', { durable: true });
    await raw.bind('q', 'later', 'k');
    const properties = { ...delayed({ tag: 'I', value: 1_000 }), expiration: '0' };
    raw.publish('k', 'for nobody', { exchange: 'later', properties });
    await raw.declare('q', { passive: true });
    clock.advance(1_010);
    expect(await raw.get('q')).toMatch(/^basic\.get-empty/);
    await raw.consume('q', 't', { noAck: true });
    raw.publish('k', 'for somebody', { exchange: 'later', properties });
    await raw.declare('q', { passive: true });
    expect(await raw.rest()).toEqual([]);
    clock.advance(1_010);
    expect(await raw.answer()).toContain('"for somebody"');
    await raw.close();
    await server.stop();
  });

  it('returns what no queue is bound for when it is published, and says what it is', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    for (const args of [{}, { 'x-delayed-type': 'banana' }, { 'x-delayed-type': TYPE }]) {
      expect(await raw.exchange('bad', TYPE, { arguments: table(args) })).toBe(
        "CH 406 PRECONDITION_FAILED - Invalid argument, 'x-delayed-type' must be an existing exchange type [40.10]",
      );
      await raw.call(1, 'channel.open', { reserved1: '' });
    }
    await raw.exchange('later', TYPE, options);
    raw.publish('k', 'nowhere', {
      exchange: 'later',
      mandatory: true,
      properties: delayed({ tag: 'I', value: 50 }),
    });
    expect(await raw.answer()).toMatch(/^basic\.return 312 NO_ROUTE later k/);
    expect(await raw.exchange('later', 'direct', { durable: true })).toContain(
      "inequivalent arg 'type' for exchange 'later' in vhost '/': received 'direct' but current is 'x-delayed-message'",
    );
    await raw.close();
    await server.stop();
  });

  it('routes as the type it names', async () => {
    const server = await startAmqpServer();
    const raw = await RawAmqp.open(server.port);
    await raw.exchange('later', TYPE, { arguments: table({ 'x-delayed-type': 'topic' }) });
    await raw.declare('q');
    await raw.bind('q', 'later', 'a.#');
    raw.publish('a.b.c', 'soon', { exchange: 'later', properties: delayed({ tag: 'I', value: 20 }) });
    await expect.poll(() => raw.get('q')).toMatch(/^get-ok #1 later\/a\.b\.c \+0 "soon"/);
    await raw.close();
    await server.stop();
  });
});
