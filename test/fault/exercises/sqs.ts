import { SEQUENCE_DIGITS } from '../../../bench/client/body.js';
import {
  SqsConnection,
  sqsSendAction,
  sqsSendTemplate,
  type SqsBatchAnswer,
  type SqsReceived,
} from '../../../bench/client/sqs.js';
import { drain, Patience, untilDead, type Exercise, type Life } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { Track, Violation } from '../track.js';

const SENDERS = 4;
const RECEIVERS = 2;
const BATCH_MAX = 10;
/** Short: what a killed receiver held is waited for after every kill. */
const VISIBILITY_SECONDS = 1;
const DRAIN_VISIBILITY_SECONDS = 60;
/** What a check that a stall cut short received comes back in this time. */
const PATIENCE_MS = 90_000;
const CHANNEL = 'sqs.fault';

/** A standard queue: single and batched sends, receives with deletes. */
export class SqsExercise implements Exercise {
  readonly name = 'sqs';
  readonly #track: Track;
  #queueUrl = '';
  #visibilitySeconds = VISIBILITY_SECONDS;

  constructor(timeline: Timeline) {
    this.#track = new Track({ name: this.name, timeline });
  }

  async setUp(life: Life): Promise<void> {
    const connection = await SqsConnection.open(life.port('aws'));
    this.#queueUrl = await connection.createQueue('fault', { VisibilityTimeout: String(VISIBILITY_SECONDS) });
    connection.close();
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    this.#visibilitySeconds = VISIBILITY_SECONDS;
    const port = life.port('aws');
    const senders = Array.from({ length: SENDERS }, async (_, index) => {
      const connection = await SqsConnection.open(port);
      await this.#send(connection, index % 2 === 0 ? 1 : BATCH_MAX, isDead);
    });
    const receivers = Array.from({ length: RECEIVERS }, async () => {
      const connection = await SqsConnection.open(port);
      await untilDead(isDead, () => this.#receiveAndDelete(connection));
    });
    await Promise.all([...senders, ...receivers]);
  }

  killed(): void {
    this.#track.killed();
  }

  async verify(life: Life): Promise<void> {
    this.#track.beginDrain();
    // Long enough that a slow machine does not bring a message back while it is being deleted.
    this.#visibilitySeconds = DRAIN_VISIBILITY_SECONDS;
    const queue = {
      channels: [CHANNEL],
      patience: new Patience(PATIENCE_MS),
      complete: () => this.#track.complete,
    };
    await Promise.all(
      Array.from({ length: RECEIVERS }, async () => {
        // Not before it is needed: one that nothing comes over is closed after a while.
        let connection: SqsConnection | undefined;
        await drain(life, queue, async () => {
          connection ??= await SqsConnection.open(life.port('aws'));
          await this.#receiveAndDelete(connection);
        });
        connection?.close();
      }),
    );
    this.#track.finishDrain();
  }

  summary(): string {
    const { confirmedTotal, reappeared, lapsed } = this.#track;
    return `${confirmedTotal} confirmed, ${reappeared} came back after an unforced delete, ${lapsed} after their lease`;
  }

  async #send(connection: SqsConnection, batch: number, isDead: () => boolean): Promise<void> {
    const signer = connection.signer(sqsSendAction(batch));
    const template = sqsSendTemplate(signer, this.#queueUrl, batch);
    await untilDead(isDead, async () => {
      const sequences = Array.from({ length: batch }, () => this.#track.send());
      template.prepare(sequences);
      const answer = await connection.send<SqsBatchAnswer<unknown>>(template.request);
      if ((answer.Failed?.length ?? 0) > 0) throw new Violation(`a send failed: ${JSON.stringify(answer)}`);
      for (const sequence of sequences) this.#track.confirm(sequence);
    });
  }

  async #receiveAndDelete(connection: SqsConnection): Promise<void> {
    const hold = { since: Date.now(), leaseMs: this.#visibilitySeconds * 1000 };
    const { Messages: messages = [] } = await connection.call<{ Messages?: SqsReceived[] }>(
      'ReceiveMessage',
      {
        QueueUrl: this.#queueUrl,
        MaxNumberOfMessages: BATCH_MAX,
        VisibilityTimeout: this.#visibilitySeconds,
        WaitTimeSeconds: 1,
      },
    );
    if (messages.length === 0) return;
    const sequences = messages.map((message) => Number(message.Body.slice(0, SEQUENCE_DIGITS)));
    for (const sequence of sequences) this.#track.receive(sequence, hold);
    for (const sequence of sequences) this.#track.acking(sequence);
    const entries = messages.map((message, index) => ({
      Id: String(index),
      ReceiptHandle: message.ReceiptHandle,
    }));
    const answer = await connection.call<SqsBatchAnswer<{ Id: string }>>('DeleteMessageBatch', {
      QueueUrl: this.#queueUrl,
      Entries: entries,
    });
    for (const { Id: id } of answer.Successful ?? []) this.#track.acked(sequences[Number(id)] ?? -1);
  }
}
