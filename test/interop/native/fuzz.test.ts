import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import * as messages from '../../../src/connectors/native/wire/messages.js';
import { MessageType, type Fields } from '../../../src/connectors/native/wire/protobuf.js';
import { WireError } from '../../../src/connectors/native/wire/varint.js';
import { GrpcLane } from '../../support/grpc-lane.js';
import { randomFrom } from '../../support/random.js';
import { CALLS, damaged, grpcInput, restInput, type RestInput } from './fuzz-inputs.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

/*
 * Whatever is sent, the answer is one of the contract's: never a failure of the server, never silence, and nothing stays behind.
 * `POLYMQ_NATIVE_FUZZ=500000 POLYMQ_NATIVE_FUZZ_SEED=random` tries that many of each kind.
 */
const INPUTS = Number(process.env['POLYMQ_NATIVE_FUZZ'] ?? 600);
const { POLYMQ_NATIVE_FUZZ_SEED: asked = '20261201' } = process.env;
const SEED = asked === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
/** Inputs that one server gets; then another one, for what they store stays in memory. */
const ROUND = 20_000;
const AT_ONCE = 64;
const TIMEOUT_MS = 60_000 + INPUTS * 20;

/** What the broker says of its own failures. */
const OURS = /internal error/;

let clock: ManualClock;
let server: NativeServer;
let time: NodeJS.Timeout;
beforeEach(async () => {
  clock = new ManualClock();
  // Waits that a request asks for are over soon.
  time = setInterval(() => clock.advance(500), 1);
  server = await startNativeServer({ clock });
});
afterEach(async () => {
  await server.stop();
  clearInterval(time);
});

/** Every lane takes inputs one by one; a new server and new lanes each round. */
async function tryAll<Lane extends { close(): void }>(
  open: () => Promise<Lane>,
  tryOne: (lane: Lane, at: number) => Promise<void>,
): Promise<void> {
  let at = 0;
  while (at < INPUTS) {
    const end = Math.min(INPUTS, at + ROUND);
    const lanes = await Promise.all(Array.from({ length: AT_ONCE }, open));
    await Promise.all(
      lanes.map(async (lane) => {
        while (at < end) await tryOne(lane, at++);
      }),
    );
    for (const lane of lanes) lane.close();
    await nothingStays();
    await server.stop();
    server = await startNativeServer({ clock });
  }
}

async function nothingStays(): Promise<void> {
  await until(() => server.connector.status().connections === 0);
  await until(() => server.broker.live.figures().pendingRequests === 0);
  expect(server.broker.live.figures().subscribers).toBe(0);
  for (const channel of server.broker.queues('')) {
    await until(() => server.broker.queueStats(channel)?.inFlight === 0);
    expect(server.broker.queueStats(channel)).toMatchObject({ waiters: 0, consumers: 0 });
  }
}

/** One connection, one request at a time. */
class RestLane {
  readonly #socket: Socket;
  #read = '';
  #answered: ((answer: { status: number; body: string }) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('data', (text: string) => this.#take(text));
  }

  static async open(): Promise<RestLane> {
    const socket = connect(Number(new URL(server.restUrl).port), '127.0.0.1');
    await once(socket, 'connect');
    return new RestLane(socket);
  }

  call({ method, path, body }: RestInput): Promise<{ status: number; body: string }> {
    const answer = new Promise<{ status: number; body: string }>((resolve, reject) => {
      this.#answered = resolve;
      this.#socket.once('close', () => reject(new Error('the connection was closed')));
    });
    const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`;
    this.#socket.write(Buffer.concat([Buffer.from(head), body]));
    return answer.finally(() => this.#socket.removeAllListeners('close'));
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#read += text;
    const end = this.#read.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(this.#read)?.[1];
    if (end < 0 || length === undefined) return;
    const body = this.#read.slice(end + 4);
    if (Buffer.byteLength(body) < Number(length)) return;
    const status = Number(this.#read.slice(9, 12));
    this.#read = '';
    this.#answered?.({ status, body });
  }
}

it(
  `${INPUTS} bodies over REST are answered in the envelope (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const statuses = new Map<number, number>();
    await tryAll(
      () => RestLane.open(),
      async (lane, at) => {
        const input = restInput(random);
        const { status, body } = await lane.call(input);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const where = `${at} of seed ${SEED}: ${input.method} ${input.path} ${input.body.toString('base64')}`;
        expect([200, 400], `${where} -> ${status} ${body}`).toContain(status);
        expect(body, where).not.toMatch(OURS);
        const { is_error: isError, message } = JSON.parse(body) as { is_error: boolean; message: string };
        expect(isError, where).toBe(status === 400);
        expect(message, where).toMatch(isError ? /./ : /^OK$/);
      },
    );
    console.log(`REST, seed ${SEED}:`, Object.fromEntries(statuses));
    expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 400]);
  },
  TIMEOUT_MS,
);

/** UNKNOWN is the contract's for an empty batch; a second stream of a position that is taken already exists. */
const CODES: ReadonlySet<number> = new Set([0, 2, 8, 13]);

it(
  `${INPUTS} calls over gRPC end with a status of the contract (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const codes = new Map<number, number>();
    await tryAll(
      async () => new GrpcLane(`http://${server.address}`),
      async (lane, at) => {
        const input = grpcInput(random);
        const { code, details } = await lane.call(`/kubemq.kubemq/${input.method}`, input.payloads);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        const sent = input.payloads.map((payload) => payload.toString('hex')).join(' ');
        const where = `${at} of seed ${SEED}: ${input.method} ${sent} -> ${code} ${details}`;
        expect(CODES.has(code), where).toBe(true);
        expect(details, where).not.toMatch(OURS);
      },
    );
    console.log(`gRPC, seed ${SEED}:`, Object.fromEntries(codes));
    expect(codes.get(0)).toBeGreaterThan(INPUTS / 10);
    expect(codes.get(13)).toBeGreaterThan(INPUTS / 10);
  },
  TIMEOUT_MS,
);

it(
  `${INPUTS} bent messages are read or refused, by every type (seed ${SEED})`,
  () => {
    const random = randomFrom(SEED);
    const types = Object.values(messages).filter(
      (type) => type instanceof MessageType,
    ) as MessageType<Fields>[];
    const seeds = Object.values(CALLS).flat();
    let refused = 0;
    for (let at = 0; at < INPUTS; at++) {
      const bytes = damaged(random, seeds[random.below(seeds.length)] as Buffer);
      const type = types[random.below(types.length)] as MessageType<Fields>;
      try {
        // What was read can be written, and says the same then.
        const value = type.decode(bytes);
        const again = type.decode(type.encode(value));
        if (at % 16 === 0) expect(again).toEqual(value);
      } catch (caught) {
        if (!(caught instanceof WireError))
          throw new Error(`${at} of seed ${SEED}: ${bytes.toString('hex')}`, { cause: caught });
        refused++;
      }
    }
    console.log(`messages, seed ${SEED}: ${INPUTS - refused} read, ${refused} refused`);
    expect(refused).toBeGreaterThan(INPUTS / 20);
    expect(refused).toBeLessThan(INPUTS);
  },
  TIMEOUT_MS,
);
