import { bodyText, SEQUENCE_DIGITS } from '../../../bench/client/body.js';
import { SqsConnection, type SqsBatchAnswer, type SqsReceived } from '../../../bench/client/sqs.js';
import { drain, Patience, untilDead, type Exercise, type Life } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { OrderCheck, Track, Violation } from '../track.js';

const GROUPS = 6;
const BATCH = 5;
const VISIBILITY_SECONDS = 1;
const DRAIN_VISIBILITY_SECONDS = 60;
/** What a check that a stall cut short received comes back in this time. */
const PATIENCE_MS = 90_000;
const CHANNEL = 'sqs.fault.fifo';

type Grouped = SqsReceived & { readonly Attributes?: Readonly<Record<string, string>> };

/** A FIFO queue: each group is sent by one sender, and must come back in that order. */
export class SqsFifoExercise implements Exercise {
  readonly name = 'sqs-fifo';
  readonly #track: Track;
  #queueUrl = '';

  constructor(timeline: Timeline) {
    this.#track = new Track({ name: this.name, timeline });
  }

  async setUp(life: Life): Promise<void> {
    const connection = await SqsConnection.open(life.port('aws'));
    const attributes = { FifoQueue: 'true', VisibilityTimeout: String(VISIBILITY_SECONDS) };
    this.#queueUrl = await connection.createQueue('fault.fifo', attributes);
    connection.close();
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const port = life.port('aws');
    const filler = bodyText(200).slice(SEQUENCE_DIGITS);
    const senders = Array.from({ length: GROUPS }, async (_, group) => {
      const connection = await SqsConnection.open(port);
      await untilDead(isDead, async () => {
        const sequences = Array.from({ length: BATCH }, () => this.#track.send());
        const answer = await connection.call<SqsBatchAnswer<unknown>>('SendMessageBatch', {
          QueueUrl: this.#queueUrl,
          Entries: sequences.map((sequence) => ({
            Id: String(sequence),
            MessageBody: String(sequence).padStart(SEQUENCE_DIGITS, '0') + filler,
            MessageGroupId: `g${group}`,
            MessageDeduplicationId: String(sequence),
          })),
        });
        if ((answer.Failed?.length ?? 0) > 0) throw new Violation(`a send failed: ${JSON.stringify(answer)}`);
        for (const sequence of sequences) this.#track.confirm(sequence);
      });
    });
    const order = new OrderCheck(this.name);
    const receiver = SqsConnection.open(port).then((connection) =>
      untilDead(isDead, () => this.#receiveAndDelete(connection, order, false)),
    );
    await Promise.all([...senders, receiver]);
  }

  killed(): void {
    this.#track.killed();
  }

  async verify(life: Life): Promise<void> {
    this.#track.beginDrain();
    const order = new OrderCheck(this.name);
    // Not before it is needed: one that nothing comes over is closed after a while.
    let connection: SqsConnection | undefined;
    const queue = {
      channels: [CHANNEL],
      patience: new Patience(PATIENCE_MS),
      complete: () => this.#track.complete,
    };
    await drain(life, queue, async () => {
      connection ??= await SqsConnection.open(life.port('aws'));
      await this.#receiveAndDelete(connection, order, true);
    });
    connection?.close();
    this.#track.finishDrain();
  }

  summary(): string {
    const { confirmedTotal, reappeared, lapsed } = this.#track;
    return `${confirmedTotal} confirmed in ${GROUPS} groups, ${reappeared} came back, ${lapsed} after their lease`;
  }

  async #receiveAndDelete(connection: SqsConnection, order: OrderCheck, isDrain: boolean): Promise<void> {
    const visibilitySeconds = isDrain ? DRAIN_VISIBILITY_SECONDS : VISIBILITY_SECONDS;
    const hold = { since: Date.now(), leaseMs: visibilitySeconds * 1000 };
    const { Messages: messages = [] } = await connection.call<{ Messages?: Grouped[] }>('ReceiveMessage', {
      QueueUrl: this.#queueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: visibilitySeconds,
      WaitTimeSeconds: 1,
      AttributeNames: ['MessageGroupId'],
      MessageSystemAttributeNames: ['MessageGroupId'],
    });
    if (messages.length === 0) return;
    const sequences = messages.map((message) => {
      const sequence = Number(message.Body.slice(0, SEQUENCE_DIGITS));
      const again = this.#track.receive(sequence, hold);
      order.receive(message.Attributes?.['MessageGroupId'] ?? '', sequence, again);
      return sequence;
    });
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
