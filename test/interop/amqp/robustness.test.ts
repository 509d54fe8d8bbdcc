import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { contentFrames, frame, methodFrame, RawAmqp, table } from '../../support/raw-amqp.js';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';

let server: AmqpServer;
beforeEach(async () => {
  server = await startAmqpServer();
});
afterEach(() => server.stop());

const SEED = 20_261_130;

const publishTo = (routingKey: string): Buffer =>
  methodFrame(1, 'basic.publish', {
    ticket: 0,
    exchange: '',
    routingKey,
    mandatory: false,
    immediate: false,
  });

/** The broker still does its work. */
async function works(): Promise<void> {
  const raw = await RawAmqp.open(server.port);
  await raw.declare('alive', { autoDelete: false });
  raw.publish('alive', 'yes');
  expect(await raw.get('alive')).toContain('"yes"');
  await raw.close();
}

describe('greeting', () => {
  it('answers what is no AMQP 0-9-1 with its own header and closes', async () => {
    for (const hello of [
      'GET / HTTP/1.1\r\n\r\n',
      'AMQP\x00\x01\x00\x00',
      'AMQP\x03\x01\x00\x00',
      '\x16\x03\x01\x02\x00\x01\x00\x01',
      'X',
    ]) {
      const raw = await RawAmqp.dial(server.port);
      raw.write(Buffer.from(hello, 'latin1'));
      expect(await raw.rest()).toEqual(['header 00000901', 'EOF']);
    }
    await works();
  });

  it('takes 0-9 and a header that comes byte by byte', async () => {
    for (const header of ['AMQP\x00\x00\x09\x01', 'AMQP\x01\x01\x00\x09']) {
      const raw = await RawAmqp.dial(server.port);
      for (const byte of Buffer.from(header, 'latin1')) {
        raw.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await raw.answer()).toBe('connection.start');
      await raw.close();
    }
  });

  it('refuses unknown mechanisms and malformed responses, and says so to clients that understand it', async () => {
    const capabilities = table({ authentication_failure_close: true });
    const attempts: readonly Parameters<RawAmqp['login']>[0][] = [
      { capabilities, mechanism: 'MAGIC' },
      { capabilities, response: Buffer.from('guest') },
      { capabilities, response: Buffer.from('other\0guest\0guest') },
      { capabilities, mechanism: 'AMQPLAIN', response: Buffer.from('\x05LOGIN') },
    ];
    for (const attempt of attempts) {
      const raw = await RawAmqp.dial(server.port);
      raw.write(Buffer.from('AMQP\x00\x00\x09\x01', 'latin1'));
      await raw.answer();
      raw.login(attempt);
      expect(await raw.answer()).toMatch(
        /^CONN 403 ACCESS_REFUSED - Login was refused using authentication mechanism \w+\./,
      );
      await raw.close();
    }
  });

  it('takes AMQPLAIN', async () => {
    const raw = await RawAmqp.dial(server.port);
    raw.write(Buffer.from('AMQP\x00\x00\x09\x01', 'latin1'));
    await raw.answer();
    const field = (key: string, value: string): string =>
      `${String.fromCharCode(key.length)}${key}S\0\0\0${String.fromCharCode(value.length)}${value}`;
    raw.login({
      capabilities: table({}),
      mechanism: 'AMQPLAIN',
      response: Buffer.from(field('LOGIN', 'guest') + field('PASSWORD', 'guest'), 'latin1'),
    });
    expect(await raw.answer()).toBe('connection.tune 2047 131072 60');
    await raw.close();
  });

  it('refuses limits outside of what it offered', async () => {
    for (const [options, text] of [
      [{ frameMax: 1000 }, 'negotiated frame_max = 1000 is lower than the minimum allowed value (4096)'],
      [
        { frameMax: 200_000 },
        'negotiated frame_max = 200000 is higher than the maximum allowed value (131072)',
      ],
      [{ channelMax: 4000 }, 'negotiated channel_max = 4000 is higher than the maximum allowed value (2047)'],
    ] as const) {
      const raw = await RawAmqp.open(server.port, { ...options, channel: false });
      expect(await raw.answer()).toBe(`CONN 530 NOT_ALLOWED - ${text} [10.31]`);
      await raw.close();
    }
  });

  it('refuses virtual hosts whose names cannot be mapped', async () => {
    for (const vhost of ['default', 'a b', 'a>b', 'a.']) {
      const raw = await RawAmqp.open(server.port, { vhost, channel: false });
      expect(await raw.answer()).toMatch(/^CONN 402 INVALID_PATH - vhost /);
      await raw.close();
    }
  });
});

describe('bad input', () => {
  it('gets an error, and never hurts others', async () => {
    const half = [
      publishTo('q').subarray(0, 9),
      Buffer.concat([publishTo('q'), contentFrames(1, Buffer.alloc(50)).subarray(0, 40)]),
    ];
    for (const bytes of half) {
      const raw = await RawAmqp.open(server.port);
      raw.write(bytes);
      await raw.close();
    }
    const bad: readonly (readonly [Buffer, string])[] = [
      [
        frame(1, 1, Buffer.from('003c03e7', 'hex')),
        'CONN 503 COMMAND_INVALID - unimplemented method [60.999]',
      ],
      [frame(1, 1, Buffer.from('0032000a00', 'hex')), 'CONN 501 FRAME_ERROR - cannot decode queue.declare'],
      // A table that says it is longer than its frame leaves room for.
      [frame(1, 1, Buffer.from('0032000a0000017000000000090178490000', 'hex')), 'CONN 501 FRAME_ERROR'],
      [frame(1, 1, Buffer.from('0032000a00000170000000000301784a', 'hex')), 'CONN 502 SYNTAX_ERROR'],
      [frame(1, 1, Buffer.from('0014000a00ff', 'hex')), 'CONN 501 FRAME_ERROR'],
      [frame(1, 1, Buffer.from('00', 'hex')), 'CONN 501 FRAME_ERROR'],
      [
        Buffer.concat([publishTo('q'), frame(2, 1, Buffer.from('003c00000000000000000000ffff', 'hex'))]),
        'CONN 502 SYNTAX_ERROR',
      ],
    ];
    for (const [bytes, answer] of bad) {
      const raw = await RawAmqp.open(server.port);
      raw.write(bytes);
      expect((await raw.rest()).join(' ')).toContain(answer);
      await raw.close();
    }
    await works();
    expect(server.logged).toEqual([]);
  });

  it('of any kind on an open connection ends that connection alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (garbage) => {
        const raw = await RawAmqp.open(server.port);
        raw.write(garbage);
        await raw.rest(5);
        await raw.close();
      }),
      { numRuns: 60, seed: SEED },
    );
    await works();
    expect(server.logged).toEqual([]);
  });

  it('a message over the limit is refused on its channel', async () => {
    const small = await startAmqpServer({ config: { maxMessageSize: 1000 } });
    const raw = await RawAmqp.open(small.port);
    await raw.declare('small');
    raw.publish('small', 'x'.repeat(1001));
    expect(await raw.answer()).toBe(
      'CH 406 PRECONDITION_FAILED - message size 1001 is larger than max size 1000 [60.40]',
    );
    await raw.call(1, 'channel.open', { reserved1: '' });
    raw.publish('small', 'x'.repeat(1000));
    expect(await raw.get('small')).toContain('1000 bytes');
    await raw.close();
    await small.stop();
  });

  it('more connections than allowed are closed at once', async () => {
    const few = await startAmqpServer({ config: { maxConnections: 1 } });
    const first = await RawAmqp.open(few.port);
    const second = await RawAmqp.dial(few.port);
    expect(await second.answer()).toBe('EOF');
    await first.close();
    await few.stop();
  });
});

describe('time', () => {
  it('ends connections that do not finish their handshake', async () => {
    const clock = new ManualClock();
    const timed = await startAmqpServer({ clock });
    const raw = await RawAmqp.dial(timed.port);
    raw.write(Buffer.from('AMQP\x00\x00\x09\x01', 'latin1'));
    await raw.answer();
    clock.advance(9_999);
    expect(await raw.answer(50)).toBe('(silence)');
    clock.advance(1);
    expect(await raw.answer()).toBe('EOF');
    await timed.stop();
  });

  it('sends heartbeats when idle for half an interval, and cuts a peer that is silent for two', async () => {
    const clock = new ManualClock();
    const timed = await startAmqpServer({ clock });
    const raw = await RawAmqp.open(timed.port, { heartbeat: 10 });
    // The first look finds the handshake's own traffic.
    clock.advance(5_000);
    const answers: string[] = [];
    for (let second = 5; second <= 20; second += 5) {
      clock.advance(5_000);
      answers.push(await raw.answer());
    }
    expect(answers).toEqual(['heartbeat', 'heartbeat', 'heartbeat', 'EOF']);
    await timed.stop();
  });
});

describe('shortage', () => {
  it('holds publishes, tells the client, and goes on when there is room again', async () => {
    const raw = await RawAmqp.open(server.port);
    await raw.declare('held', { durable: true });
    await raw.call(1, 'confirm.select', { nowait: false });
    server.faults.lowSpace = true;
    for (const body of ['a', 'b', 'c']) raw.publish('held', body, { properties: { deliveryMode: 2 } });
    expect(await raw.rest()).toEqual(['connection.blocked the disk is nearly full']);
    const other = await RawAmqp.open(server.port);
    expect(await other.declare('held', { passive: true })).toBe('queue.declare-ok held 0 0');
    server.faults.lowSpace = false;
    const answers = await raw.rest(400);
    expect(answers).toContain('connection.unblocked');
    expect(answers.filter((text) => text.startsWith('basic.ack')).at(-1)).toMatch(/^basic\.ack 3 /);
    expect(await other.declare('held', { passive: true })).toBe('queue.declare-ok held 3 0');
    await raw.close();
    await other.close();
  });

  it('holds publishers at the memory watermark while consumers go on, and lets them go on below it', async () => {
    const few = await startAmqpServer({ limits: { memoryBytesMax: 64 * 1024 } });
    const publisher = await RawAmqp.open(few.port);
    const unaware = await RawAmqp.open(few.port, { capabilities: table({}) });
    const consumer = await RawAmqp.open(few.port);
    await publisher.declare('mem');
    await publisher.call(1, 'confirm.select', { nowait: false });
    const body = 'x'.repeat(1000);
    // Whoever is blocked is read no further: one at a time, until the watermark holds one back.
    let sent = 0;
    let answer = '';
    do {
      publisher.publish('mem', body);
      sent++;
      answer = await publisher.answer();
    } while (answer.startsWith('basic.ack'));
    expect(answer).toBe('connection.blocked memory is nearly full');
    expect(sent).toBeGreaterThan(10);
    unaware.publish('mem', body);
    expect(await unaware.rest()).toEqual([]);
    expect(await consumer.declare('mem', { passive: true })).toBe(
      `queue.declare-ok mem ${String(sent - 1)} 0`,
    );
    await consumer.consume('mem', 't', { noAck: true });
    const delivered = await consumer.rest(400);
    // Those that were held, too: taking messages out made room for them.
    expect(delivered).toHaveLength(sent + 1);
    expect([...(await publisher.rest())].sort()).toEqual([
      `basic.ack ${String(sent)} false`,
      'connection.unblocked',
    ]);
    publisher.publish('mem', 'after');
    expect(await consumer.answer()).toContain('"after"');
    for (const raw of [publisher, unaware, consumer]) await raw.close();
    await few.stop();
  });

  it('does not hand a slow reader more than its socket and a window hold', async () => {
    const raw = await RawAmqp.open(server.port);
    await raw.declare('slow');
    const body = 'x'.repeat(60_000);
    for (let i = 0; i < 500; i++) raw.publish('slow', body);
    await raw.declare('slow.after');
    const slow = await RawAmqp.open(server.port);
    await slow.consume('slow', 't', { noAck: true });
    slow.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const waiting = server.broker.queueStats('amqp.default.slow' as ChannelName)?.ready ?? 0;
    expect(waiting).toBeGreaterThan(200);
    slow.socket.resume();
    const got = await slow.rest(500);
    expect(got).toHaveLength(500);
    await slow.close();
    await raw.close();
  });
});

it('drains: peers are told, what they sent is kept', async () => {
  const raw = await RawAmqp.open(server.port);
  await raw.declare('drained', { durable: true });
  await raw.consume('drained', 't');
  raw.publish('drained', 'x', { properties: { deliveryMode: 2 } });
  await raw.answer();
  const drained = server.connector.drain(2_000);
  expect(await raw.rest(500)).toEqual(['CONN 320 CONNECTION_FORCED - broker is shutting down [0.0]', 'EOF']);
  await drained;
  expect(server.broker.queueStats('amqp.default.drained' as ChannelName)?.ready).toBe(1);
});

it('says nothing of memory-only queues that go with it when it shuts down', async () => {
  const raws = [await RawAmqp.open(server.port), await RawAmqp.open(server.port)];
  for (const raw of raws) {
    await raw.declare('', { exclusive: true });
    const left = `left.${String(raws.indexOf(raw))}`;
    await raw.declare(left, { autoDelete: true });
    await raw.consume(left, 't');
  }
  // The broker takes nothing more while its connections are told.
  server.broker.drain();
  await server.connector.drain(2_000);
  await server.connector.stop();
  for (const raw of raws) await raw.close();
  expect(server.logged).toEqual([]);
});
