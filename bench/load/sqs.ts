import { BODY_BYTES } from '../client/body.js';
import { Http1Connection } from '../client/http1.js';
import { Ledger } from '../client/ledger.js';
import {
  md5,
  SqsConnection,
  sqsSendAction,
  sqsSendTemplate,
  type Signatures,
  type SendTemplate,
  type SqsBatchAnswer,
  type SqsSent,
} from '../client/sqs.js';
import { percentile } from '../harness/stats.js';
import { expect, paced, phase, waitUntil, type Load, type LoadJob, type RunContext } from './job.js';
import { Drain, receiveAndDelete, sqsQueue, type SqsQueue } from './sqs-drain.js';

/** What one request each keeps a core busy with, also while the disk is waited for. */
const CONNECTIONS_ONE_BY_ONE = 64;
const CONNECTIONS = 16;
const RECEIVERS_AT_LOW_LOAD = 2;
/** Enough that a pause of the server of 300 ms keeps no send back. */
const SENDERS_AT_LOW_LOAD = 64;
const LATENCY_PER_SECOND = 200;
const MD5_CHECK_EVERY = 16;
export const BATCH_MAX = 10;
/** More than any server here takes in a second; what comes above is signed as it is sent. */
const SIGNED_AHEAD_PER_SECOND = 50_000;

/** Sends one by one on 64 connections, then drains in tens. */
export const sqsSend1: Load = (context) => sendThenDrain(context, 1, CONNECTIONS_ONE_BY_ONE);

/** Sends in tens on 16 connections, then drains in tens. */
export const sqsSend10: Load = (context) => sendThenDrain(context, BATCH_MAX, CONNECTIONS);

async function sendThenDrain({ job, label }: RunContext, batch: number, connectionsCount: number) {
  const ledger = new Ledger();
  const connections = await openAll(job.port, connectionsCount);
  const queue = await sqsQueue(first(connections), `bench-${label}`);
  const senders = sqsSenders(connections, queue, batch, ledger);
  const signatures = signAhead(senders, job);
  const send = await phase(`send${String(batch)}`, job, async () => {
    const end = performance.now() + job.seconds * 1000;
    const goOn = () => performance.now() < end && ledger.sent < job.messagesMax;
    await Promise.all(senders.map((sender) => sendAll(sender, goOn, signatures)));
    return ledger.confirmed;
  });
  const receivers = connections.slice(0, CONNECTIONS);
  const drain = await phase('recv10+del10', job, async () => {
    const end = performance.now() + job.drainSecondsMax * 1000;
    const toDrain = new Drain(ledger.confirmed, () => performance.now() < end);
    await Promise.all(receivers.map((connection) => toDrain.run(connection, queue, ledger)));
    return ledger.received;
  });
  const drained = ledger.received >= ledger.confirmed;
  await first(connections).call('DeleteQueue', { QueueUrl: queue.url });
  for (const connection of connections) connection.close();
  return { phases: [send, drain], counts: ledger.counts(), drained };
}

/** 200 single sends a second, two long-polling receivers: the way from send to receive. */
export const sqsLatency: Load = async ({ job, label }) => {
  const ledger = new Ledger(true);
  const connections = await openAll(job.port, SENDERS_AT_LOW_LOAD);
  const receivers = await openAll(job.port, RECEIVERS_AT_LOW_LOAD);
  const queue = await sqsQueue(first(connections), `bench-${label}`);
  let receiving = true;
  let failure: unknown;
  const note = (error: unknown) => (failure ??= error);
  const receiverRuns = receivers.map(async (connection) => {
    while (receiving) await receiveAndDelete({ connection, queue, ledger, waitSeconds: 1 });
  });
  const running = Promise.all(receiverRuns).catch(note);
  const idle = sqsSenders(connections, queue, 1, ledger);
  const run = await phase('e2e at 200/s', job, async () => {
    await paced(LATENCY_PER_SECOND, job.seconds, () => {
      const sender = idle.pop();
      expect(sender !== undefined, 'no idle connection: the server does not keep up with 200 sends a second');
      sendOnce(sender, false).then(() => idle.push(sender), note);
    });
    await waitUntil(() => failure !== undefined || ledger.received >= ledger.sent, job.drainSecondsMax);
    return ledger.received;
  });
  receiving = false;
  await running;
  if (failure !== undefined) throw failure as Error;
  await first(connections).call('DeleteQueue', { QueueUrl: queue.url });
  for (const connection of [...connections, ...receivers]) connection.close();
  const counts = ledger.counts();
  return {
    phases: [{ ...run, latencyMs: latencies(ledger) }],
    counts,
    drained: counts.received === counts.sent,
  };
};

/** The same bytes as single sends, answered by a server that only sends the body back. */
export const httpEcho: Load = async ({ job }) => {
  const ledger = new Ledger();
  const named = await openAll(job.port, 1);
  const count = CONNECTIONS_ONE_BY_ONE;
  const connections = await Promise.all(Array.from({ length: count }, () => Http1Connection.open(job.port)));
  const signer = first(named).signer(sqsSendAction(1));
  const url = `http://127.0.0.1/000000000000/bench`;
  const signatures = sqsSendTemplate(signer, url, 1).signAhead(1);
  const run = await phase('echo', job, async () => {
    const end = performance.now() + job.seconds * 1000;
    await Promise.all(
      connections.map(async (connection) => {
        const template = sqsSendTemplate(signer, url, 1);
        // Nobody checks the signature.
        template.prepare([0], signatures);
        while (performance.now() < end) {
          const sequence = ledger.send();
          const answer = await connection.send(template.request);
          expect(answer.status === 200 && answer.body.length > BODY_BYTES, 'not an echo', answer.body);
          ledger.confirm(sequence);
          ledger.receive(sequence);
        }
      }),
    );
    return ledger.confirmed;
  });
  for (const connection of [...connections, ...named]) connection.close();
  return { phases: [run], counts: ledger.counts(), drained: true };
};

export function latencies(ledger: Ledger) {
  const all = ledger.latenciesMs;
  return { p50: percentile(all, 0.5), p99: percentile(all, 0.99), max: percentile(all, 1) };
}

export interface Sender {
  readonly connection: SqsConnection;
  readonly template: SendTemplate;
  readonly ledger: Ledger;
}

/** One a connection, all signed at one time. */
export function sqsSenders(
  connections: readonly SqsConnection[],
  queue: SqsQueue,
  batch: number,
  ledger: Ledger,
): Sender[] {
  const signer = first(connections).signer(sqsSendAction(batch));
  return connections.map((connection) => ({
    connection,
    template: sqsSendTemplate(signer, queue.url, batch),
    ledger,
  }));
}

/** Signing costs the generator as much as all else it does, so it is done before. */
export function signAhead(senders: readonly Sender[], job: LoadJob): Signatures {
  const { template } = first(senders);
  const messages = Math.min(job.messagesMax, Math.ceil(job.seconds * SIGNED_AHEAD_PER_SECOND));
  return template.signAhead(Math.ceil(messages / template.batch));
}

export async function sendAll(sender: Sender, goOn: () => boolean, signatures?: Signatures): Promise<void> {
  for (let calls = 0; goOn(); calls++) await sendOnce(sender, calls % MD5_CHECK_EVERY === 0, signatures);
}

async function sendOnce(
  { connection, template, ledger }: Sender,
  check: boolean,
  signatures?: Signatures,
): Promise<void> {
  const numbers = takeNumbers(ledger, template.batch);
  template.prepare(numbers, signatures);
  const answer = await connection.send<SqsSent & SqsBatchAnswer<SqsSent>>(template.request);
  const sent = numbers.length === 1 ? [answer] : (answer.Successful ?? []);
  const failed = answer.Failed?.length ?? 0;
  expect(sent.length === numbers.length && failed === 0, 'a send failed', answer);
  for (const one of sent)
    expect(one.MessageId !== '' && one.MD5OfMessageBody.length === 32, 'a send without an id');
  if (check) {
    const sum = md5(template.firstBody(BODY_BYTES));
    expect(sent[0]?.MD5OfMessageBody === sum, 'a send with a wrong MD5', answer);
  }
  for (const number of numbers) ledger.confirm(number);
}

/** The next numbers, in one row. */
export function takeNumbers(ledger: Ledger, count: number): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < count; i++) numbers.push(ledger.send());
  return numbers;
}

export async function openAll(port: number, count: number): Promise<readonly SqsConnection[]> {
  return Promise.all(Array.from({ length: count }, () => SqsConnection.open(port)));
}

export function first<T>(values: readonly T[]): T {
  const value = values[0];
  if (value === undefined) throw new Error('no connection');
  return value;
}
