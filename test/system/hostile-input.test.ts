import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededIds } from '../../src/base/ids.js';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';

const SEED = 20_240_611;
const PORTS = ['aws', 'gcp', 'amqp', 'native-grpc', 'native-rest', 'api'] as const;

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const HTTP2_PREFACE = utf8('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const AMQP_HEADER = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);

/** Openings that each protocol takes for its own, then something it cannot take. */
function attacks(): readonly (readonly [name: string, bytes: Buffer])[] {
  const ids = new SeededIds(SEED);
  const noise = (count: number): Buffer => Buffer.from(ids.bytes(count));
  return [
    ['nothing', Buffer.alloc(0)],
    ['one byte', noise(1)],
    ['64 KiB of noise', noise(65_536)],
    ['zeros', Buffer.alloc(4096)],
    ['an AMQP header and noise', Buffer.concat([AMQP_HEADER, noise(4096)])],
    [
      'an AMQP frame that says it has 4 GiB',
      Buffer.concat([AMQP_HEADER, Buffer.from([1, 0, 0, 255, 255, 255, 255])]),
    ],
    ['half an AMQP frame', Buffer.concat([AMQP_HEADER, Buffer.from([1, 0, 0, 0, 0, 0, 80, 0, 10])])],
    ['an HTTP/2 preface and noise', Buffer.concat([HTTP2_PREFACE, noise(4096)])],
    [
      'an HTTP/2 frame of 16 MiB',
      Buffer.concat([HTTP2_PREFACE, Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])]),
    ],
    ['half an HTTP request', utf8('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"half":')],
    ['an HTTP body of 1 TB', utf8('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000000\r\n\r\n{}')],
    [
      'HTTP headers without end',
      Buffer.concat([utf8('GET / HTTP/1.1\r\n'), Buffer.alloc(100_000, 'a: b\r\n')]),
    ],
    ['broken chunks', utf8('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello')],
    ['a TLS hello', Buffer.from('16030100f8010000f40303', 'hex')],
  ];
}

describe(`hostile input (seed ${SEED})`, () => {
  const store = temporaryFolder();
  let broker: BrokerProcess;
  beforeAll(async () => {
    broker = await spawnBroker({ folder: store.path });
  });
  afterAll(async () => {
    await broker.kill('SIGTERM');
    store.remove();
  });

  /** Sends the bytes and reads what comes until the other side closes or nothing more happens. */
  function send(port: number, bytes: Buffer): Promise<Buffer> {
    return new Promise((resolve) => {
      const got: Buffer[] = [];
      const socket = connect({ host: '127.0.0.1', port });
      const end = (): void => {
        socket.destroy();
        resolve(Buffer.concat(got));
      };
      socket.setTimeout(300, end);
      socket.on('data', (chunk: Buffer) => got.push(chunk));
      socket.on('error', end);
      socket.on('close', end);
      socket.on('connect', () => socket.write(bytes));
    });
  }

  async function expectServing(): Promise<void> {
    const api = `http://127.0.0.1:${broker.port('api')}`;
    expect((await fetch(`${api}/ready`)).status).toBe(200);
    const errors = broker.lines.filter((line) => line['level'] === 'error');
    expect(errors).toEqual([]);
  }

  describe.each(PORTS)('on %s', (name) => {
    it.each(attacks())('%s does no harm', async (_, bytes) => {
      await send(broker.port(name), bytes);
      await expectServing();
    });

    it('a thousand cut connections do no harm', async () => {
      const ids = new SeededIds(SEED);
      for (let round = 0; round < 20; round++) {
        await Promise.all(
          Array.from({ length: 50 }, () => {
            return new Promise<void>((resolve) => {
              const socket = connect({ host: '127.0.0.1', port: broker.port(name) });
              socket.on('error', () => undefined);
              socket.on('close', () => resolve());
              socket.on('connect', () =>
                socket.write(ids.bytes(ids.below(64)), () => socket.resetAndDestroy()),
              );
            });
          }),
        );
      }
      await expectServing();
    });
  });

  it('did not grow without bound', async () => {
    const text = await (await fetch(`http://127.0.0.1:${broker.port('api')}/metrics`)).text();
    const rss = Number(/polymq_process_memory_bytes\{kind="rss"\} (\d+)/.exec(text)?.[1]);
    expect(rss).toBeLessThan(700 * 1024 * 1024);
    const open = [...text.matchAll(/polymq_connector_connections\{connector="(\w+)"\} (\d+)/g)].map((m) =>
      Number(m[2]),
    );
    expect(Math.max(...open)).toBeLessThan(50);
  });
});
