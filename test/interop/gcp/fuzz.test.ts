import { fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { Agent, request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { RunningBroker } from '../../../src/app/index.js';
import { PullResponseSchema } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { randomFrom } from '../../support/random.js';
import { startServer, urlOf } from '../../support/server.js';
import {
  AckIds,
  grpcInput,
  IDS,
  METHODS,
  restInput,
  type GrpcInput,
  type RestInput,
} from './fuzz-requests.js';

/*
 * Whatever is asked, the answer is one of the API's: never a failure of the server, never silence, and it serves on.
 * `POLYMQ_PUBSUB_FUZZ=500000 POLYMQ_PUBSUB_FUZZ_SEED=random` tries that many of each kind.
 */
const INPUTS = Number(process.env['POLYMQ_PUBSUB_FUZZ'] ?? 1000);
const { POLYMQ_PUBSUB_FUZZ_SEED: asked = '20261201' } = process.env;
const SEED = asked === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
/** Inputs that one server gets; then another one, for what they store stays in memory. */
const ROUND = 20_000;
const AT_ONCE = 32;
const RESOURCES_EVERY = 50;
const TIMEOUT_MS = 60_000 + INPUTS * 20;

/** What nobody who asks can be to blame for; but for bytes that are no message, which gRPC calls INTERNAL. */
const FAILURES: ReadonlySet<number> = new Set([status.UNKNOWN, status.INTERNAL, status.DATA_LOSS]);
const NO_MESSAGE = /^Error deserializing request: /;

let clock: ManualClock;
let server: RunningBroker;
let time: NodeJS.Timeout;
let ackIds: AckIds;

async function start(): Promise<void> {
  ackIds = new AckIds();
  server = await startServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } }, clock });
  await makeResources();
}

/** Those that are there stay as they are. */
async function makeResources(): Promise<void> {
  for (const id of IDS) {
    const made = (
      collection: string,
      body: unknown,
      how: RequestInit = { method: 'PUT' },
    ): Promise<Response> =>
      fetch(`${urlOf(server, 'gcp')}/v1/projects/p/${collection}`, { ...how, body: JSON.stringify(body) });
    await made(`topics/${id}`, {});
    await made(`subscriptions/${id}`, { topic: `projects/p/topics/${id}` });
    await made(`snapshots/${id}`, { subscription: `projects/p/subscriptions/${id}` });
    const definition = 'syntax = "proto3"; message M { string a = 1; }';
    await made(`schemas?schemaId=${id}`, { type: 'PROTOCOL_BUFFER', definition }, { method: 'POST' });
  }
}

beforeEach(async () => {
  clock = new ManualClock();
  // Waits that a request asks for are over soon.
  time = setInterval(() => clock.advance(1000), 5);
  await start();
});
afterEach(async () => {
  await server.stop(0);
  clearInterval(time);
});

async function tryAll<Lane extends { close(): void }>(
  open: () => Lane,
  tryOne: (lane: Lane, at: number) => Promise<void>,
): Promise<void> {
  let at = 0;
  while (at < INPUTS) {
    const end = Math.min(INPUTS, at + ROUND);
    const lanes = Array.from({ length: AT_ONCE }, open);
    await Promise.all(
      lanes.map(async (lane) => {
        while (at < end) {
          // What was deleted or changed beyond use is there again.
          if (at % RESOURCES_EVERY === 0) await makeResources();
          await tryOne(lane, at++);
        }
      }),
    );
    for (const lane of lanes) lane.close();
    await server.stop(0);
    await start();
  }
}

class GrpcLane {
  readonly #session: ClientHttp2Session;

  constructor() {
    this.#session = connectHttp2(urlOf(server, 'gcp'));
    this.#session.on('error', () => undefined);
  }

  call({ path, payloads, method }: GrpcInput): Promise<{ code: number; details: string }> {
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let code = -1;
    let details = '';
    const take = (headers: Readonly<Record<string, unknown>>): void => {
      if (headers['grpc-status'] === undefined) return;
      code = Number(headers['grpc-status']);
      details = decodeURIComponent((headers['grpc-message'] as string | undefined) ?? '');
    };
    const read: Buffer[] = [];
    stream
      .on('response', take)
      .on('trailers', take)
      .on('data', (bytes: Buffer) => read.push(bytes))
      .on('error', () => undefined);
    for (const payload of payloads) stream.write(framed(payload));
    stream.end();
    return new Promise((resolve) => {
      stream.on('close', () => {
        if (method.name === 'Pull' && code === 0) {
          const { receivedMessages } = fromBinary(PullResponseSchema, Buffer.concat(read).subarray(5));
          ackIds.add(receivedMessages.map(({ ackId }) => ackId));
        }
        resolve({ code, details });
      });
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

class RestLane {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  call({ verb, path, body }: RestInput): Promise<{ code: number; text: string }> {
    return new Promise((resolve, reject) => {
      const call = request(`${urlOf(server, 'gcp')}${path}`, { method: verb, agent: this.#agent });
      call.on('error', reject);
      call.on('response', (response) => {
        const read: Buffer[] = [];
        response.on('data', (bytes: Buffer) => read.push(bytes));
        response.on('end', () =>
          resolve({ code: response.statusCode ?? 0, text: Buffer.concat(read).toString() }),
        );
      });
      call.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

it(
  `${INPUTS} calls over gRPC end with a status of the API (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const codes = new Map<number, number>();
    const succeeded = new Set<string>();
    await tryAll(
      () => new GrpcLane(),
      async (lane, at) => {
        const input = grpcInput(random, ackIds);
        const { code, details } = await lane.call(input);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        if (code === 0) succeeded.add(input.path);
        const sent = input.payloads.map((payload) => payload.toString('hex')).join(' ');
        const where = `${at} of seed ${SEED}: ${input.path} ${sent} -> ${code} ${details}`;
        expect(FAILURES.has(code) && !NO_MESSAGE.test(details), where).toBe(false);
        expect(code, where).toBeGreaterThanOrEqual(0);
        expect(details === '', where).toBe(code === 0);
      },
    );
    console.log(`gRPC, seed ${SEED}:`, Object.fromEntries(codes), `${succeeded.size} methods`);
    // What nothing ever passes is not tried in earnest.
    expect(succeeded.size).toBeGreaterThan(METHODS.length * 0.7);
  },
  TIMEOUT_MS,
);

it(
  `${INPUTS} requests over REST are answered as Google's API does (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const codes = new Map<number, number>();
    await tryAll(
      () => new RestLane(),
      async (lane, at) => {
        const input = restInput(random, ackIds);
        const { code, text } = await lane.call(input);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        const where = `${at} of seed ${SEED}: ${input.verb} ${input.path} ${String(input.body?.toString('base64'))} -> ${code} ${text}`;
        expect(code, where).not.toBe(500);
        expect(code, where).not.toBe(501);
        const answer = JSON.parse(text) as { error?: { code: number } };
        expect(code === 200 ? undefined : code, where).toBe(answer.error?.code);
        if (input.path.endsWith(':pull') && code === 200) {
          const { receivedMessages } = fromJson(PullResponseSchema, answer as JsonValue);
          ackIds.add(receivedMessages.map(({ ackId }) => ackId));
        }
      },
    );
    console.log(`REST, seed ${SEED}:`, Object.fromEntries(codes));
    expect(codes.get(200)).toBeGreaterThan(INPUTS / 10);
  },
  TIMEOUT_MS,
);
