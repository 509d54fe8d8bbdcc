import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/base/clock.js';
import { runProgram } from '../../src/app/cli/program.js';
import { startPolymq, type ConfigOverrides, type RunningBroker } from '../../src/app/index.js';
import type { Broker } from '../../src/core/broker-api.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import type { Delivery } from '../../src/core/queue/types.js';
import { temporaryFolder } from '../support/folder.js';
import { natsMissing, startNats, type NatsServers } from '../support/nats-server.js';
import { spawnBroker } from '../support/process.js';

const on = (name: string): ChannelName => name as ChannelName;
const PLAIN = on('orders');
const FIFO = on('tasks');
const LOG = on('events');
const LARGE_BYTES = 3 << 20;
const CONTENT = {
  config: { host: '127.0.0.1', api: { port: 0 }, grpc: { enable: false }, rest: { enable: false } },
};

type Store = NonNullable<ConfigOverrides['store']>;

function start(store: Store, nats?: ConfigOverrides['nats']): Promise<RunningBroker> {
  return startPolymq({ config: { ...CONTENT.config, store, ...(nats && { nats }) } });
}

const text = (one: { readonly message: { readonly body: Uint8Array } }): string => {
  const body = Buffer.from(one.message.body);
  return body.length > 100 ? `${body.length} bytes` : body.toString();
};

function receive(broker: Broker, channel: ChannelName, max: number): Promise<readonly Delivery[]> {
  return broker.receive({ channel, max, waitMs: 0, handOut: { kind: 'lease', leaseMs: 3_600_000 } });
}

/** Something of everything a store can hold. */
async function fill(broker: Broker): Promise<void> {
  await broker.change([
    { do: 'create-queue', channel: PLAIN, settings: { dedupWindowMs: 300_000 } },
    { do: 'create-queue', channel: FIFO, settings: { subChannelMarks: ['.g.'] } },
    { do: 'create-log', channel: LOG },
    { do: 'set-alias', alias: on('other.orders'), channel: PLAIN },
    { do: 'put', kind: 'test.things', key: 'one', value: { colour: 'red' } },
  ]);
  const send = (channel: string, body: string | Buffer, more = {}): Promise<unknown> =>
    broker.send([{ channel: on(channel), body: Buffer.from(body), ...more }]);
  for (let i = 0; i < 20; i++) await send(PLAIN, `plain ${i}`);
  await send(PLAIN, 'once', { dedupId: 'id' });
  await send(PLAIN, Buffer.alloc(LARGE_BYTES, 'x'));
  await send(PLAIN, 'later', { policy: { delayMs: 3_600_000 } });
  for (let i = 0; i < 5; i++) await send(`${FIFO}.g.a`, `task ${i}`);
  const [first, second] = await receive(broker, PLAIN, 2);
  await broker.settle({ tokens: [first as Delivery], settlement: { kind: 'ack' }, durable: true });
  await broker.settle({ tokens: [second as Delivery], settlement: { kind: 'extend', leaseMs: 3_600_000 } });
  for (let i = 0; i < 10; i++) await broker.append([{ channel: LOG, body: Buffer.from(`event ${i}`) }]);
}

/** All of it that can be seen. */
async function contents(broker: Broker): Promise<unknown> {
  const stats = (channel: ChannelName): unknown => {
    const { ready, delayed, inFlight, bytes, lastSequence } = broker.queueStats(channel) ?? {};
    return { ready, delayed, inFlight, bytes, lastSequence };
  };
  const events = await broker.readLog({ channel: LOG, fromSequence: 1, max: 100 });
  return {
    queues: broker.queues(''),
    plain: [
      stats(PLAIN),
      (await broker.peek(PLAIN, 100)).map((one) => [text(one), one.sequence, one.enqueuedAt]),
    ],
    fifo: [stats(FIFO), (await broker.peek(FIFO, 100)).map((one) => [text(one), one.channel, one.sequence])],
    log: events.map((one) => [text(one), one.sequence, one.storedAt]),
    aliases: broker.aliases(),
    entry: broker.registry.get('test.things', 'one'),
    remembers: [broker.remembers(PLAIN, 'id'), broker.remembers(PLAIN, 'other')],
  };
}

async function polymq(...args: string[]): Promise<{ code: number; out: string; error: string }> {
  let out = '';
  let error = '';
  const code = await runProgram(args, {
    environment: {},
    out: (line) => (out += line),
    error: (line) => (error += line),
    input: () => Readable.from([]),
    clock: new SystemClock(),
  });
  return { code, out, error };
}

describe.skipIf(natsMissing !== undefined)('polymq store export and import', () => {
  const folder = temporaryFolder();
  const path = (name: string): string => join(folder.path, name);
  let nats: NatsServers;
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(async () => {
    await nats.stop();
    folder.remove();
  });

  it('carry a store from a directory to NATS and back, with everything in it', async () => {
    const disk = { engine: 'disk', path: path('first') } as const;
    const cluster = { url: nats.url, replicas: 1, name: 'carried' };
    const natsFlags = [
      '--store-engine',
      'nats',
      '--nats-url',
      nats.url,
      '--nats-replicas',
      '1',
      '--nats-name',
      'carried',
    ];
    let broker = await start(disk);
    await fill(broker.broker);
    await broker.stop(0);
    broker = await start(disk);
    const before = await contents(broker.broker);
    expect((await polymq('store', 'export', path('a.polymq'), '--store-path', disk.path)).error).toMatch(
      /in use/,
    );
    await broker.stop(0);

    const exported = await polymq('store', 'export', path('a.polymq'), '--store-path', disk.path);
    expect(exported).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^exported 27 messages and 10 events/) as unknown,
    });
    expect(await polymq('store', 'import', path('a.polymq'), ...natsFlags)).toMatchObject({
      code: 0,
      error: '',
    });
    broker = await start({ engine: 'nats' }, cluster);
    expect(await contents(broker.broker)).toEqual(before);
    expect((await polymq('store', 'export', path('b.polymq'), ...natsFlags)).error).toMatch(
      /a node of this cluster serves/,
    );
    await broker.stop(0);

    expect(await polymq('store', 'export', path('b.polymq'), ...natsFlags)).toMatchObject({
      code: 0,
      error: '',
    });
    const second = path('second');
    expect(await polymq('store', 'import', path('b.polymq'), '--store-path', second)).toMatchObject({
      code: 0,
      error: '',
    });
    broker = await start({ engine: 'disk', path: second });
    expect(await contents(broker.broker)).toEqual(before);
    // It lives: leases are settled, what comes gets the next sequence.
    const [task] = await receive(broker.broker, FIFO, 1);
    expect(text(task as Delivery)).toBe('task 0');
    await broker.stop(0);
    broker = await start({ engine: 'disk', path: second });
    expect(broker.broker.queueStats(FIFO)).toMatchObject({ ready: 4, inFlight: 1 });
    await broker.stop(0);
  });

  it('export what a cluster holds whose nodes all crashed', { timeout: 120_000 }, async () => {
    const environment = {
      STORE_ENGINE: 'nats',
      NATS_URL: nats.url,
      NATS_NAME: 'crashed',
      NATS_REPLICAS: '1',
    };
    const node = await spawnBroker({ folder: path('crashed'), environment });
    await node.kill('SIGKILL');
    const cluster = ['--store-engine', 'nats', '--nats-url', nats.url, '--nats-replicas', '1'];
    const exported = await polymq('store', 'export', path('c.polymq'), ...cluster, '--nats-name', 'crashed');
    expect(exported).toMatchObject({ code: 0, error: '' });
  });

  it('refuse a store that is not empty, and files that are there, are damaged, cut off, or of another format', async () => {
    const disk = path('third');
    const broker = await start({ engine: 'disk', path: disk });
    await fill(broker.broker);
    await broker.stop(0);
    const file = path('whole.polymq');
    expect((await polymq('store', 'export', file, '--store-path', disk)).code).toBe(0);
    expect((await polymq('store', 'export', file, '--store-path', disk)).error).toMatch(/EEXIST/);
    expect((await polymq('store', 'import', file, '--store-path', disk)).error).toMatch(/not empty/);
    expect((await polymq('store', 'export', path('m'), '--store-engine', 'memory')).error).toMatch(
      /in memory/,
    );
    const whole = readFileSync(file);
    const cases: readonly (readonly [string, (bytes: Buffer) => Buffer, RegExp])[] = [
      ['cut', (bytes) => bytes.subarray(0, bytes.length - 20), /ends early, at offset \d+/],
      ['flipped', (bytes) => ((bytes[5000] = (bytes[5000] as number) ^ 1), bytes), /damaged at offset \d+/],
      ['strange', () => Buffer.from('something else entirely'), /no export of a store/],
      ['newer', (bytes) => ((bytes[7] = 0x39), bytes), /format 9 is not format 1/],
    ];
    for (const [name, spoil, says] of cases) {
      writeFileSync(path(name), spoil(Buffer.from(whole)));
      const { code, error } = await polymq(
        'store',
        'import',
        path(name),
        '--store-path',
        path(`into-${name}`),
      );
      expect([name, code, error]).toEqual([name, 1, expect.stringMatching(says)]);
    }
    appendFileSync(path('cut'), whole.subarray(whole.length - 20));
    appendFileSync(path('cut'), 'x');
    expect((await polymq('store', 'import', path('cut'), '--store-path', path('long'))).error).toMatch(
      /behind its end/,
    );
  });
});
