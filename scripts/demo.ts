/**
 * `npm run demo`: shows, against a running broker, that what any SDK sends any other receives. Every producer sends one
 * message to every consumer through one queue that each protocol knows by a name of its own.
 */
import { randomBytes } from 'node:crypto';
import { cleanUp } from '../test/cross/wires/clean-up.js';
import { exchange } from '../test/cross/wires/exchange.js';
import {
  channelsOf,
  CONSUMERS,
  openConsumer,
  openProducer,
  PRODUCERS,
  type ConsumerName,
  type Endpoints,
  type Message,
  type ProducerName,
} from '../test/cross/wires/index.js';

const STEP_TIMEOUT_MS = 10_000;

const USAGE = `Usage: npm run demo

Needs a running broker: \`npm start\` in another terminal. Where it listens is taken from the same variables as its own
settings, with the same defaults:

  POLYMQ_HOST 127.0.0.1        API_PORT 8080
  GRPC_PORT 50000              CONNECTORS_AWS_PORT 4566
  CONNECTORS_AMQP_PORT 5672    CONNECTORS_PUB_SUB_PORT 8085
`;

interface Place {
  readonly api: string;
  readonly endpoints: Endpoints;
}

function placeFrom(environment: NodeJS.ProcessEnv): Place {
  const given = environment['POLYMQ_HOST'] ?? '';
  const host = given === '' || given === '0.0.0.0' || given === '::' ? '127.0.0.1' : given;
  const at = (variable: string, port: number): string => `${host}:${environment[variable] ?? String(port)}`;
  return {
    api: `http://${at('API_PORT', 8080)}`,
    endpoints: {
      aws: `http://${at('CONNECTORS_AWS_PORT', 4566)}`,
      pubsub: at('CONNECTORS_PUB_SUB_PORT', 8085),
      amqp: `amqp://guest:guest@${at('CONNECTORS_AMQP_PORT', 5672)}`,
      native: at('GRPC_PORT', 50_000),
    },
  };
}

async function isReady(api: string): Promise<boolean> {
  try {
    return (await fetch(`${api}/ready`)).ok;
  } catch {
    return false;
  }
}

async function setAlias(api: string, alias: string, channel: string): Promise<void> {
  const reply = await fetch(`${api}/api/v1/aliases`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ alias, channel }),
  });
  if (!reply.ok) throw new Error(`the alias ${alias} was refused: ${await reply.text()}`);
}

async function removeAlias(api: string, alias: string): Promise<void> {
  await fetch(`${api}/api/v1/aliases/${encodeURIComponent(alias)}`, { method: 'DELETE' });
}

/** Faults of one pair; empty when all was well. */
async function runPair(
  endpoints: Endpoints,
  queue: string,
  from: ProducerName,
  to: ConsumerName,
): Promise<readonly string[]> {
  const opened: { close(): Promise<void> }[] = [];
  const message: Message = {
    body: Buffer.from(`hello from ${from} ${randomBytes(4).toString('hex')}`),
    attribute: { name: 'trace', value: `t-${randomBytes(4).toString('hex')}` },
  };
  try {
    const producer = await openProducer[from](endpoints, queue);
    opened.push(producer);
    const consumer = await openConsumer[to](endpoints, queue);
    opened.push(consumer);
    return await exchange(producer, consumer, message, STEP_TIMEOUT_MS);
  } catch (error) {
    return [(error instanceof Error ? error.message : String(error)) || 'no connection'];
  } finally {
    await Promise.allSettled(opened.map((each) => each.close()));
  }
}

const COLUMN = 12;
const row = (first: string, cells: readonly string[]): string =>
  `  ${first.padEnd(COLUMN)}${cells.map((cell) => cell.padEnd(COLUMN)).join('')}`.trimEnd();

function say(text = ''): void {
  process.stdout.write(`${text}\n`);
}

function explain(queue: string): void {
  const { channel, aliases } = channelsOf(queue);
  say('One queue, four names:');
  say();
  say(`  SQS and SNS    queue "${queue}"          = ${channel}`);
  say(`  Pub/Sub        subscription "${queue}"   = ${aliases[0]}`);
  say(`  AMQP           queue "${queue}"          = ${aliases[1]}`);
  say(`  native gRPC    channel "${queue}"        = ${aliases[2]}`);
  say();
  say(
    'Each SDK of a row sends a message; the SDK of the column receives it, checks body and attributes, gives it back,',
  );
  say('receives it again (marked as a redelivery) and accepts it.');
  say();
  say(row('', ['received by']));
  say(row('sent by', CONSUMERS));
}

async function main(): Promise<number> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    say(USAGE);
    return 0;
  }
  const { api, endpoints } = placeFrom(process.env);
  if (!(await isReady(api))) {
    process.stderr.write(`No broker is ready at ${api}.\n\n${USAGE}`);
    return 1;
  }
  const queue = `demo-${randomBytes(3).toString('hex')}`;
  const { channel, aliases } = channelsOf(queue);
  for (const alias of aliases) await setAlias(api, alias, channel);
  explain(queue);
  const failures: string[] = [];
  for (const from of PRODUCERS) {
    const cells: string[] = [];
    for (const to of CONSUMERS) {
      const faults = await runPair(endpoints, queue, from, to);
      cells.push(faults.length === 0 ? 'ok' : 'failed');
      for (const fault of faults) failures.push(`${from} to ${to}: ${fault}`);
    }
    say(row(from, cells));
  }
  say();
  for (const failure of failures) say(`  ${failure}`);
  const pairs = PRODUCERS.length * CONSUMERS.length;
  say(failures.length === 0 ? `All ${String(pairs)} pairs work.` : 'Not all pairs work: see above.');
  await cleanUp(endpoints, queue);
  for (const alias of aliases) await removeAlias(api, alias);
  return failures.length === 0 ? 0 : 1;
}

process.exitCode = await main();
