import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AmqpConnection } from '../../bench/client/amqp.js';
import { PubSubConnection } from '../../bench/client/pubsub.js';
import { SqsConnection } from '../../bench/client/sqs.js';
import { SeededIds } from '../../src/base/ids.js';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';
import { sleep } from './exercise.js';
import { openWires, type Wire } from './wires.js';

const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Date.now() / 86_400_000));
const ROUNDS = 60;
const MIB = 1024 * 1024;
const MEMORY_MIB_MAX = 700;
const LISTENERS = ['aws', 'gcp', 'amqp', 'native-grpc', 'api'] as const;

const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const AMQP_HEADER = Buffer.from([65, 77, 81, 80, 0, 0, 9, 1]);

/** Whole, right beginnings of each protocol: cut anywhere they are half frames. */
const BEGINNINGS: readonly Buffer[] = [
  AMQP_HEADER,
  Buffer.concat([HTTP2_PREFACE, Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]),
  Buffer.from(
    'POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 50\r\n\r\n{"QueueUrl"',
  ),
  Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
];

/** Things that claim or are more than any limit allows. */
const OVERSIZE: readonly Buffer[] = [
  // AMQP: a frame of 2 GiB, after the greeting.
  Buffer.concat([AMQP_HEADER, Buffer.from([1, 0, 0, 0x7f, 0xff, 0xff, 0xff])]),
  // HTTP/2: a frame of 16 MiB, and a header block that never ends.
  Buffer.concat([HTTP2_PREFACE, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])]),
  Buffer.concat([HTTP2_PREFACE, ...Array.from({ length: 50 }, () => continuation(16_000))]),
  // HTTP/1.1: a head of 2 MiB, a body of 1 TiB, a chunk of 4 GiB.
  Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(2 * MIB)}\r\n\r\n`),
  Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1099511627776\r\n\r\n${'x'.repeat(3 * MIB)}`),
  Buffer.from(
    `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n${'x'.repeat(3 * MIB)}`,
  ),
];

function continuation(bytes: number): Buffer {
  const head = Buffer.from([0, 0, 0, 9, 0, 0, 0, 0, 1]);
  head.writeUIntBE(bytes, 0, 3);
  return Buffer.concat([head, Buffer.alloc(bytes, 0x40)]);
}

describe(`bad input (seed ${SEED})`, () => {
  const folder = temporaryFolder();
  let broker: BrokerProcess;

  beforeAll(async () => {
    broker = await spawnBroker({ folder: folder.path });
  });
  afterAll(async () => {
    await broker.kill();
    folder.remove();
  });

  it('garbage, half frames and oversize requests on every port leave good clients alone', async () => {
    const random = new SeededIds(SEED);
    const wires = await openWires(broker, 'garbage');
    let attacking = true;
    const good = wires.map((wire) => exchange(wire, () => attacking));
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(LISTENERS.map((listener) => attack(broker.port(listener), input(random), random)));
    }
    attacking = false;
    for (const exchanged of await Promise.all(good)) expect(exchanged).toBeGreaterThan(0);
    for (const wire of wires) wire.close();

    expect(memoryMib(broker.pid)).toBeLessThan(MEMORY_MIB_MAX);
    const errors = broker.lines.filter((line) => line['level'] === 'error' || line['level'] === 'fatal');
    expect(errors, 'bad input is no error of the broker').toEqual([]);
    expect(broker.errorOutput()).toBe('');
  });

  it('SQS says what is wrong in its own words', async () => {
    const port = broker.port('aws');
    const noJson = await answerOf(port, http('{"QueueUrl": nonsense', 'AmazonSQS.SendMessage'));
    expect(noJson).toMatch(/^HTTP\/1.1 400/);
    expect(noJson).toContain('SerializationException');
    const noAction = await answerOf(port, http('{}', 'AmazonSQS.Nonsense'));
    expect(noAction).toMatch(/^HTTP\/1.1 [45]\d\d/);
    expect(noAction).toContain('__type');
    expect(await answerOf(port, Buffer.from('\x00\x01\x02garbage\r\n\r\n'))).toMatch(/^(HTTP\/1.1 400|$)/);
    // The largest SQS request is a little over 1 MiB.
    const large = await answerOf(port, http(`{"x":"${'x'.repeat(8 * MIB)}"}`, 'AmazonSQS.SendMessage'));
    expect(large).toMatch(/^(HTTP\/1.1 4(00|13)|$)/);
    await stillServes(broker);
  });

  it('AMQP answers a wrong greeting with the right one and a wrong frame with its close', async () => {
    const port = broker.port('amqp');
    expect(await answerOf(port, Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBe(AMQP_HEADER.toString('latin1'));
    const oversize = Buffer.concat([AMQP_HEADER, Buffer.from([1, 0, 0, 0x7f, 0xff, 0xff, 0xff])]);
    // Before the tuning, RabbitMQ closes without a word too.
    await answerOf(port, oversize);
    let reason = '';
    const connection = await AmqpConnection.open({ port, onClose: (text) => (reason = text) });
    // A method frame without its end byte.
    connection.publish(Buffer.from([1, 0, 1, 0, 0, 0, 4, 0, 60, 0, 40, 0x00]));
    for (let tries = 0; reason === '' && tries < 500; tries++) await sleep(10);
    expect(reason).toMatch(/501|505/);
    await stillServes(broker);
  });

  it.each(['gcp', 'native-grpc'])(
    'gRPC on the %s port refuses bad messages with a status',
    async (listener) => {
      const { grpc } = await PubSubConnection.open(broker.port(listener));
      const path =
        listener === 'gcp' ? '/google.pubsub.v1.Publisher/Publish' : '/kubemq.kubemq/SendQueueMessage';
      // A length that goes past the end: no protocol buffer.
      await expect(grpc.unary(path, Buffer.from([0x0a, 0xff, 0x01, 1, 2, 3]))).rejects.toThrow(
        /status (3|13)/,
      );
      await expect(grpc.unary('/no.such.Service/Method', Buffer.alloc(0))).rejects.toThrow(/status 12/);
      // A message that is too large: refused, and the connection goes on or is closed, but nothing is stored.
      await expect(grpc.unary(path, Buffer.alloc(150 * MIB, 0x0a))).rejects.toThrow(/status (3|8|13|14)/);
      grpc.close();
      await stillServes(broker);
    },
  );
});

function input(random: SeededIds): Buffer {
  const kind = random.below(4);
  if (kind === 0) return Buffer.from(random.bytes(1 + random.below(4000)));
  if (kind === 1) return OVERSIZE[random.below(OVERSIZE.length)] ?? Buffer.alloc(0);
  const beginning = BEGINNINGS[random.below(BEGINNINGS.length)] ?? Buffer.alloc(0);
  const half = beginning.subarray(0, 1 + random.below(beginning.length));
  return kind === 2 ? half : Buffer.concat([beginning, Buffer.from(random.bytes(random.below(300)))]);
}

/** Sends `bytes`, waits a little, and leaves: politely, rudely, or when the server hangs up. */
function attack(port: number, bytes: Buffer, random: SeededIds): Promise<void> {
  const patienceMs = random.below(60);
  const rude = random.below(2) === 0;
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.write(bytes);
      setTimeout(() => {
        if (rude) socket.resetAndDestroy();
        else socket.destroy();
      }, patienceMs);
    });
    socket.on('data', () => undefined);
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}

/** A good client: what it sends comes back, in order. Gives how often. */
async function exchange(wire: Wire, goOn: () => boolean): Promise<number> {
  let sequence = 0;
  while (goOn()) {
    expect(await wire.send(sequence), wire.name).toBe('stored');
    expect(await wire.receive(), wire.name).toBe(sequence);
    sequence++;
  }
  return sequence;
}

/** Everything the server answers to `bytes` until it closes or half a second is over. */
function answerOf(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
    let timer = setTimeout(() => socket.destroy(), 3000);
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), 500);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

function http(body: string, target: string): Buffer {
  return Buffer.from(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: ${target}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

async function stillServes(broker: BrokerProcess): Promise<void> {
  const connection = await SqsConnection.open(broker.port('aws'));
  expect(await connection.createQueue('after')).toContain('after');
  connection.close();
}

function memoryMib(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1] ?? 0) / 1024;
}
