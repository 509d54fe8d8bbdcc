import { status } from '@grpc/grpc-js';
import { Agent, request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import type { RunningBroker } from '../../../src/app/index.js';
import { GrpcLane } from '../../support/grpc-lane.js';
import { randomFrom } from '../../support/random.js';
import { startServer, urlOf } from '../../support/server.js';
import { AckIds, grpcInput, IDS, METHODS, restInput, type RestInput } from './fuzz-requests.js';

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

/** Those that are there stay as they are; the first subscription has messages out. */
async function makeResources(): Promise<void> {
  const call = (method: string, resource: string, body: unknown): Promise<Response> =>
    fetch(`${urlOf(server, 'gcp')}/v1/projects/p/${resource}`, { method, body: JSON.stringify(body) });
  for (const id of IDS) {
    await call('PUT', `topics/${id}`, {});
    await call('PUT', `subscriptions/${id}`, { topic: `projects/p/topics/${id}` });
    await call('PUT', `snapshots/${id}`, { subscription: `projects/p/subscriptions/${id}` });
    const definition = 'syntax = "proto3"; message M { string a = 1; }';
    await call('POST', `schemas?schemaId=${id}`, { type: 'PROTOCOL_BUFFER', definition });
  }
  const [first = ''] = IDS;
  await call('POST', `topics/${first}:publish`, { messages: [{ data: 'YQ==' }, { data: 'Yg==' }] });
  const pulled = await call('POST', `subscriptions/${first}:pull`, {
    maxMessages: 10,
    returnImmediately: true,
  });
  const { receivedMessages = [] } = (await pulled.json()) as {
    receivedMessages?: readonly { ackId: string }[];
  };
  if (receivedMessages.length > 0) ackIds.ids = receivedMessages.map(({ ackId }) => ackId);
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
      () => new GrpcLane(urlOf(server, 'gcp')),
      async (lane, at) => {
        // Each in its turn: with few inputs, too, none is left out.
        const input = grpcInput(METHODS[at % METHODS.length] as (typeof METHODS)[number], random, ackIds);
        const { code, details } = await lane.call(input.path, input.payloads);
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
    expect(succeeded.size).toBeGreaterThan(METHODS.length * 0.75);
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
      },
    );
    console.log(`REST, seed ${SEED}:`, Object.fromEntries(codes));
    expect(codes.get(200)).toBeGreaterThan(INPUTS / 10);
  },
  TIMEOUT_MS,
);
