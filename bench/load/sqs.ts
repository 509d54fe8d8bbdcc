import { BODY_BYTES, SEQUENCE_DIGITS, writeSequence } from '../client/body.js';
import { Http1Connection } from '../client/http1.js';
import { Ledger } from '../client/ledger.js';
import {
  md5,
  SqsConnection,
  sqsSendTemplate,
  type SqsBatchAnswer,
  type SqsReceived,
  type SqsSent,
  type SqsTemplate,
} from '../client/sqs.js';
import { percentile } from '../harness/stats.js';
import { expect, paced, phase, waitUntil, type Load, type RunContext } from './job.js';

const CONNECTIONS = 16;
const RECEIVERS_AT_LOW_LOAD = 2;
/** Enough that a pause of the server of 300 ms keeps no send back. */
const SENDERS_AT_LOW_LOAD = 64;
const LATENCY_PER_SECOND = 200;
const MD5_CHECK_EVERY = 16;
const BATCH_MAX = 10;

/** Sends one by one on 16 connections, then drains in tens. */
export const sqsSend1: Load = (context) => sendThenDrain(context, 1);

/** Sends in tens on 16 connections, then drains in tens. */
export const sqsSend10: Load = (context) => sendThenDrain(context, BATCH_MAX);

async function sendThenDrain({ job, label }: RunContext, batch: number) {
  const ledger = new Ledger();
  const connections = await openAll(job.port, CONNECTIONS);
  const queueUrl = await first(connections).createQueue(`bench-${label}`);
  const send = await phase(`send${String(batch)}`, job, async () => {
    const end = performance.now() + job.seconds * 1000;
    const goOn = () => performance.now() < end && ledger.sent < job.messagesMax;
    await Promise.all(connections.map((connection) => sender({ connection, queueUrl, batch, ledger, goOn })));
    return ledger.confirmed;
  });
  const drain = await phase('recv10+del10', job, async () => {
    const end = performance.now() + job.drainSecondsMax * 1000;
    const goOn = () => performance.now() < end && ledger.received < ledger.confirmed;
    await Promise.all(
      connections.map((connection) => drainer({ connection, queueUrl, ledger, goOn, waitSeconds: 0 })),
    );
    return ledger.received;
  });
  const drained = ledger.received >= ledger.confirmed;
  await first(connections).call('DeleteQueue', { QueueUrl: queueUrl });
  for (const connection of connections) connection.close();
  return { phases: [send, drain], counts: ledger.counts(), drained };
}

/** 200 single sends a second, two long-polling receivers: the way from send to receive. */
export const sqsLatency: Load = async ({ job, label }) => {
  const ledger = new Ledger(true);
  const senders = await openAll(job.port, SENDERS_AT_LOW_LOAD);
  const receivers = await openAll(job.port, RECEIVERS_AT_LOW_LOAD);
  const queueUrl = await first(senders).createQueue(`bench-${label}`);
  const templates = new Map(senders.map((one) => [one, sqsSendTemplate(one, queueUrl, 1)]));
  let receiving = true;
  let failure: unknown;
  const note = (error: unknown) => (failure ??= error);
  const receiverRuns = receivers.map((connection) =>
    drainer({ connection, queueUrl, ledger, goOn: () => receiving, waitSeconds: 1 }).catch(note),
  );
  const idle = [...senders];
  const run = await phase('e2e at 200/s', job, async () => {
    await paced(LATENCY_PER_SECOND, job.seconds, () => {
      const connection = idle.pop();
      expect(
        connection !== undefined,
        'no idle connection: the server does not keep up with 200 sends a second',
      );
      const template = templates.get(connection);
      if (template === undefined) return;
      sendOnce({ connection, template, ledger, check: false }).then(() => idle.push(connection), note);
    });
    await waitUntil(() => failure !== undefined || ledger.received >= ledger.sent, job.drainSecondsMax);
    return ledger.received;
  });
  receiving = false;
  await Promise.all(receiverRuns);
  if (failure !== undefined) throw failure as Error;
  await first(senders).call('DeleteQueue', { QueueUrl: queueUrl });
  for (const connection of [...senders, ...receivers]) connection.close();
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
  const named = await openAll(job.port, CONNECTIONS);
  const connections = await Promise.all(named.map(() => Http1Connection.open(job.port)));
  const run = await phase('echo', job, async () => {
    const end = performance.now() + job.seconds * 1000;
    await Promise.all(
      connections.map(async (connection, index) => {
        const template = sqsSendTemplate(
          named[index] ?? first(named),
          `http://127.0.0.1/000000000000/bench`,
          1,
        );
        while (performance.now() < end) {
          const sequence = ledger.send();
          writeSequence(template.request, template.sequenceOffsets[0] ?? 0, sequence);
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

interface SenderOptions {
  readonly connection: SqsConnection;
  readonly queueUrl: string;
  readonly batch: number;
  readonly ledger: Ledger;
  readonly goOn: () => boolean;
}

async function sender({ connection, queueUrl, batch, ledger, goOn }: SenderOptions): Promise<void> {
  const template = sqsSendTemplate(connection, queueUrl, batch);
  for (let calls = 0; goOn(); calls++) {
    await sendOnce({ connection, template, ledger, check: calls % MD5_CHECK_EVERY === 0 });
  }
}

interface SendOnce {
  readonly connection: SqsConnection;
  readonly template: SqsTemplate;
  readonly ledger: Ledger;
  readonly check: boolean;
}

async function sendOnce({ connection, template, ledger, check }: SendOnce): Promise<void> {
  const { request, sequenceOffsets } = template;
  const sequences = sequenceOffsets.map((offset) => {
    const sequence = ledger.send();
    writeSequence(request, offset, sequence);
    return sequence;
  });
  const answer = await connection.send<SqsSent & SqsBatchAnswer<SqsSent>>(request);
  const sent = sequences.length === 1 ? [answer] : (answer.Successful ?? []);
  const failed = answer.Failed?.length ?? 0;
  expect(sent.length === sequences.length && failed === 0, 'a send failed', answer);
  for (const one of sent)
    expect(one.MessageId !== '' && one.MD5OfMessageBody.length === 32, 'a send without an id');
  if (check) {
    const offset = sequenceOffsets[0] ?? 0;
    const sum = md5(request.subarray(offset, offset + BODY_BYTES));
    expect(sent[0]?.MD5OfMessageBody === sum, 'a send with a wrong MD5', answer);
  }
  for (const sequence of sequences) ledger.confirm(sequence);
}

interface DrainerOptions {
  readonly connection: SqsConnection;
  readonly queueUrl: string;
  readonly ledger: Ledger;
  readonly goOn: () => boolean;
  readonly waitSeconds: number;
}

async function drainer({ connection, queueUrl, ledger, goOn, waitSeconds }: DrainerOptions): Promise<void> {
  const receive = connection.request(
    'ReceiveMessage',
    JSON.stringify({ QueueUrl: queueUrl, MaxNumberOfMessages: BATCH_MAX, WaitTimeSeconds: waitSeconds }),
  );
  while (goOn()) {
    const { Messages: messages = [] } = await connection.send<{ Messages?: SqsReceived[] }>(receive);
    if (messages.length === 0) continue;
    const firstMessage = messages[0];
    expect(firstMessage?.MD5OfBody === md5(firstMessage?.Body ?? ''), 'a message with a wrong MD5');
    for (const message of messages) {
      expect(message.Body.length === BODY_BYTES, 'a body of another length', message.Body);
      ledger.receive(Number(message.Body.slice(0, SEQUENCE_DIGITS)));
    }
    const entries = messages.map((message, index) => ({
      Id: String(index),
      ReceiptHandle: message.ReceiptHandle,
    }));
    const answer = await connection.call<SqsBatchAnswer<unknown>>('DeleteMessageBatch', {
      QueueUrl: queueUrl,
      Entries: entries,
    });
    const deleted = answer.Successful?.length ?? 0;
    expect(deleted === entries.length && (answer.Failed?.length ?? 0) === 0, 'a delete failed', answer);
  }
}

async function openAll(port: number, count: number): Promise<readonly SqsConnection[]> {
  return Promise.all(Array.from({ length: count }, () => SqsConnection.open(port)));
}

function first<T>(values: readonly T[]): T {
  const value = values[0];
  if (value === undefined) throw new Error('no connection');
  return value;
}
