import { BODY_BYTES, readSequence, writeSequence } from '../client/body.js';
import type { GrpcCall } from '../client/http2.js';
import { Ledger } from '../client/ledger.js';
import {
  NativeConnection,
  queueMessageTemplate,
  upstreamRequest,
  type Downstream,
} from '../client/native.js';
import {
  expect,
  paced,
  phase,
  sleep,
  waitUntil,
  type Load,
  type LoadJob,
  type Run,
  type RunContext,
} from './job.js';
import { latencies } from './sqs.js';

const REQUESTS_OPEN = 64;
/** The same messages under way in hundreds. */
const HUNDREDS_OPEN = 16;
const POLL_MESSAGES = 256;
const POLL_WAIT_MS = 1000;
const LATENCY_PER_SECOND = 200;

/** How upstream requests are made: messages of each, and requests without an answer. */
interface Upstream {
  readonly batch: number;
  readonly open: number;
}

/** Upstream requests of ten messages with 64 open, then one downstream drains with AckAll. */
export const nativeUpstream: Load = (context) =>
  sendThenDrain(context, 'upstream in tens', { batch: 10, open: REQUESTS_OPEN });

/** The same in hundreds. */
export const nativeUpstream100: Load = (context) =>
  sendThenDrain(context, 'upstream in hundreds', { batch: 100, open: HUNDREDS_OPEN });

async function sendThenDrain({ job, label }: RunContext, name: string, how: Upstream): Promise<Run> {
  const ledger = new Ledger();
  const channel = `bench.${label}`;
  const connection = await NativeConnection.open(job.port);
  const send = await phase(name, job, () => upstream({ connection, channel, job, ledger }, how));
  const drain = await phase('downstream + ack all', job, async () => {
    const poller = new Poller(connection, channel, ledger);
    await waitUntil(
      () => poller.failure !== undefined || ledger.received >= ledger.confirmed,
      job.drainSecondsMax,
    );
    await poller.stop();
    return ledger.received;
  });
  connection.close();
  return { phases: [send, drain], counts: ledger.counts(), drained: ledger.received >= ledger.confirmed };
}

/** Upstream in hundreds and downstream with AckAll at once, a connection each. */
export const nativeBoth: Load = async ({ job, label }) => {
  const ledger = new Ledger();
  const channel = `bench.${label}`;
  const sender = await NativeConnection.open(job.port);
  const receiver = await NativeConnection.open(job.port);
  const poller = new Poller(receiver, channel, ledger);
  const run = await phase('upstream and downstream at once', job, async () => {
    await upstream({ connection: sender, channel, job, ledger }, { batch: 100, open: HUNDREDS_OPEN });
    await waitUntil(
      () => poller.failure !== undefined || ledger.received >= ledger.confirmed,
      job.drainSecondsMax,
    );
    return ledger.received;
  });
  await poller.stop();
  sender.close();
  receiver.close();
  return { phases: [run], counts: ledger.counts(), drained: ledger.received >= ledger.confirmed };
};

/** 200 SendQueueMessage a second, one downstream that always waits: the way from send to delivery. */
export const nativeLatency: Load = async ({ job, label }) => {
  const ledger = new Ledger(true);
  const channel = `bench.${label}`;
  const sender = await NativeConnection.open(job.port);
  const receiver = await NativeConnection.open(job.port);
  const poller = new Poller(receiver, channel, ledger);
  const run = await phase('e2e at 200/s', job, async () => {
    await paced(LATENCY_PER_SECOND, job.seconds, () => {
      const { message, sequenceOffset } = queueMessageTemplate(channel);
      const sequence = ledger.send();
      writeSequence(message, sequenceOffset, sequence);
      sender.sendQueueMessage(message).then(
        () => ledger.confirm(sequence),
        (error: unknown) => (poller.failure ??= error),
      );
    });
    await waitUntil(
      () => poller.failure !== undefined || ledger.received >= ledger.sent,
      job.drainSecondsMax,
    );
    return ledger.received;
  });
  await poller.stop();
  sender.close();
  receiver.close();
  const counts = ledger.counts();
  return {
    phases: [{ ...run, latencyMs: latencies(ledger) }],
    counts,
    drained: counts.received === counts.sent,
  };
};

interface UpstreamTo {
  readonly connection: NativeConnection;
  readonly channel: string;
  readonly job: LoadJob;
  readonly ledger: Ledger;
}

async function upstream(
  { connection, channel, job, ledger }: UpstreamTo,
  { batch, open: openMax }: Upstream,
): Promise<number> {
  const template = queueMessageTemplate(channel);
  const end = performance.now() + job.seconds * 1000;
  const starts = new Map<string, number>();
  let failure: Error | undefined;
  let requests = 0;
  const sendNext = (call: GrpcCall) => {
    if (failure !== undefined || performance.now() >= end || ledger.sent >= job.messagesMax) return;
    const id = String(++requests);
    starts.set(id, ledger.sent);
    const messages = Array.from({ length: batch }, () => {
      const message = Buffer.from(template.message);
      writeSequence(message, template.sequenceOffset, ledger.send());
      return message;
    });
    call.write(upstreamRequest(id, messages));
  };
  const call: GrpcCall = connection.openUpstream(
    ({ requestId, errors }) => {
      const start = starts.get(requestId);
      const refused = errors.find((error) => error !== '');
      if (start === undefined || refused !== undefined || errors.length !== batch) {
        failure ??= new Error(`an upstream request failed: ${refused ?? 'wrong answer'}`);
        return;
      }
      starts.delete(requestId);
      for (let sequence = start; sequence < start + batch; sequence++) ledger.confirm(sequence);
      sendNext(call);
    },
    (status) => (failure ??= new Error(`upstream ended: ${String(status.status)} ${status.message}`)),
  );
  for (let open = 0; open < openMax; open++) sendNext(call);
  await waitUntil(
    () =>
      failure !== undefined ||
      (performance.now() >= end && starts.size === 0) ||
      ledger.confirmed >= job.messagesMax,
    job.seconds + 10,
  );
  const confirmed = ledger.confirmed;
  if (failure !== undefined) throw failure;
  expect(starts.size === 0, `${String(starts.size)} upstream requests were never answered`);
  call.cancel();
  return confirmed;
}

/** One downstream that gets, checks, counts and acknowledges, over and over. */
class Poller {
  readonly #downstream: Downstream;
  failure: unknown;
  #stopped = false;

  constructor(connection: NativeConnection, channel: string, ledger: Ledger) {
    const downstream: Downstream = connection.openDownstream(
      ({ transactionId, messages, error }) => {
        if (error !== '') this.failure ??= new Error(`downstream: ${error}`);
        for (const { body } of messages) {
          if (body.length !== BODY_BYTES) this.failure ??= new Error('a body of another length');
          ledger.receive(readSequence(body, 0));
        }
        if (messages.length > 0) downstream.ackAll(transactionId);
        if (!this.#stopped && this.failure === undefined)
          downstream.get(channel, POLL_MESSAGES, POLL_WAIT_MS);
      },
      (end) => {
        if (!this.#stopped)
          this.failure ??= new Error(`downstream ended: ${String(end.status)} ${end.message}`);
      },
    );
    this.#downstream = downstream;
    downstream.get(channel, POLL_MESSAGES, POLL_WAIT_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await sleep(20);
    this.#downstream.cancel();
    if (this.failure !== undefined) throw this.failure as Error;
  }
}
