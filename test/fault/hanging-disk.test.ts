import { CreateQueueCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../src/app/index.js';
import {
  createMemoryJournal,
  type MemoryFaults,
  type MemoryJournal,
} from '../../src/journal/memory/index.js';
import { NativeClient } from '../support/native-client.js';
import { RawAmqp } from '../support/raw-amqp.js';
import { startServer, urlOf } from '../support/server.js';

const BODY = '0123456789';
/** Of memory for what waits: some hundred calls. */
const BACKLOG_BYTES_MAX = 1024 * 1024;
/** So many sends and no refusal would be no bound. */
const SENDS_MAX = 4000;

/** Sends until one is refused, `perTurn` of them before any answer is looked at; the refusal, and all answers. */
async function untilRefused(
  send: () => Promise<unknown>,
  perTurn = 50,
): Promise<{ refusal: unknown; answers: Promise<unknown>[] }> {
  const answers: Promise<unknown>[] = [];
  let refusal: unknown;
  while (refusal === undefined && answers.length < SENDS_MAX) {
    for (let n = 0; n < perTurn; n++) {
      const answer = send();
      answer.catch((caught: unknown) => (refusal ??= caught));
      answers.push(answer);
    }
    await new Promise((resolve) => void setTimeout(resolve, 1));
  }
  return { refusal, answers };
}

describe('a disk that hangs under tiny messages', () => {
  const faults: MemoryFaults = {};
  let journal: MemoryJournal;
  let running: RunningBroker;
  let native: NativeClient;
  let sqs: SQSClient;

  beforeAll(async () => {
    journal = createMemoryJournal({ faults });
    running = await startServer({ journal, limits: { backlogBytesMax: BACKLOG_BYTES_MAX } });
    const { host, port } = running.address('native-grpc');
    native = new NativeClient(`${host}:${port}`);
    sqs = new SQSClient({
      endpoint: urlOf(running, 'aws'),
      region: 'us-east-1',
      credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
      maxAttempts: 1,
    });
  });

  afterAll(async () => {
    wake();
    native.close();
    sqs.destroy();
    await running.stop();
  });

  function wake(): void {
    faults.holdCommits = false;
    journal.commit();
  }

  /** What became of all of them once the disk answers again: those that were taken are stored. */
  async function taken(answers: readonly Promise<unknown>[]): Promise<number> {
    wake();
    const settled = await Promise.allSettled(answers);
    expect(running.broker.queues('').length).toBeGreaterThan(0);
    return settled.filter((answer) => answer.status === 'fulfilled').length;
  }

  it('native: UNAVAILABLE, and all that was taken is there', async () => {
    await native.send({ Channel: 'q', Body: Buffer.from(BODY) });
    faults.holdCommits = true;
    const { refusal, answers } = await untilRefused(() =>
      native.send({ Channel: 'q', Body: Buffer.from(BODY) }),
    );
    expect(refusal).toMatchObject({ code: 14, details: 'the store does not keep up' });
    const stored = await taken(answers);
    expect(running.broker.queueStats('q' as never)?.ready).toBe(stored + 1);
  });

  it('SQS: ServiceUnavailable', async () => {
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'tiny' }));
    faults.holdCommits = true;
    // Its connections are few; other senders fill what there is.
    const others = await untilRefused(() => native.send({ Channel: 'q', Body: Buffer.from(BODY) }));
    const send = (): Promise<unknown> => sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: BODY }));
    await expect(send()).rejects.toMatchObject({ $metadata: { httpStatusCode: 503 } });
    await taken(others.answers);
    await send();
  });

  it('Pub/Sub: UNAVAILABLE, for messages and for new topics', async () => {
    const url = `${urlOf(running, 'gcp')}/v1/projects/p/topics/tiny`;
    const json = { 'content-type': 'application/json' };
    const put = (more = ''): Promise<Response> =>
      fetch(url + more, { method: 'PUT', headers: json, body: '{}' });
    expect((await put()).status).toBe(200);
    const publish = async (): Promise<void> => {
      const messages = [{ data: Buffer.from(BODY).toString('base64') }];
      const answer = await fetch(`${url}:publish`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ messages }),
      });
      const { error } = (await answer.json()) as { error?: unknown };
      if (error !== undefined) throw error as Error;
    };
    faults.holdCommits = true;
    const others = await untilRefused(() => native.send({ Channel: 'q', Body: Buffer.from(BODY) }));
    await expect(publish()).rejects.toMatchObject({ code: 503, status: 'UNAVAILABLE' });
    expect((await put('-2')).status).toBe(503);
    await taken(others.answers);
    await publish();
  });

  it('AMQP: connection.blocked, and the connection is read no further until the disk answers', async () => {
    const raw = await RawAmqp.open(running.address('amqp').port);
    await raw.declare('tiny', { durable: true });
    await raw.call(1, 'confirm.select', { nowait: false });
    faults.holdCommits = true;
    let answer: string | undefined;
    const first = raw.answer().then((text) => (answer = text));
    let published = 0;
    while (answer === undefined && published < SENDS_MAX) {
      for (let n = 0; n < 50; n++, published++) raw.publish('tiny', BODY);
      await new Promise((resolve) => void setTimeout(resolve, 1));
    }
    await first;
    expect(answer).toBe('connection.blocked the store does not keep up');
    wake();
    const answers: string[] = [];
    while (!answers.includes('connection.unblocked')) answers.push(await raw.answer());
    while (running.broker.queueStats('amqp.default.tiny' as never)?.ready !== published)
      await new Promise((resolve) => void setTimeout(resolve, 5));
    raw.socket.destroy();
  });
});
