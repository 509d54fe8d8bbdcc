import { bodyText, SEQUENCE_DIGITS } from '../../../bench/client/body.js';
import { SqsConnection, SqsError, type SqsBatchAnswer, type SqsReceived } from '../../../bench/client/sqs.js';
import type { Taken } from './history.js';
import { PORTS } from './machines.js';
import { WrongAnswer, type Consumer, type Sender, type Wire } from './wire.js';

const BATCH_MAX = 10;
const FILLER = bodyText(300).slice(SEQUENCE_DIGITS);
const SEAL = 'http://cluster/000000000000/seals';

type TakenHere = Taken & { readonly handle: string };

/** SQS: a standard queue, or a FIFO queue with a message group for each sender. */
export function sqsWire(isFifo: boolean, visibilitySeconds: number): Wire {
  const queue = isFifo ? 'cluster.fifo' : 'cluster';
  const queueUrl = `http://cluster/000000000000/${queue}`;
  return {
    name: isFifo ? 'sqs-fifo' : 'sqs',
    order: isFifo ? 'strict' : 'none',
    deduplicatesMs: isFifo ? 300_000 : 0,
    leaseMs: visibilitySeconds * 1000,
    channel: `sqs.${queue}`,
    setUp: async (host) => {
      const connection = await SqsConnection.open(PORTS.aws, host);
      const fifo = isFifo ? { FifoQueue: 'true' } : {};
      await connection.createQueue(queue, { ...fifo, VisibilityTimeout: String(visibilitySeconds) });
      await connection.createQueue('seals', { MessageRetentionPeriod: '60' });
      connection.close();
    },
    sender: async (host) => new SqsSender(await SqsConnection.open(PORTS.aws, host), queueUrl, isFifo),
    consumer: async (host) => new SqsConsumer(await SqsConnection.open(PORTS.aws, host), queueUrl),
  };
}

class SqsSender implements Sender {
  readonly #connection: SqsConnection;
  readonly #queueUrl: string;
  readonly #isFifo: boolean;

  constructor(connection: SqsConnection, queueUrl: string, isFifo: boolean) {
    this.#connection = connection;
    this.#queueUrl = queueUrl;
    this.#isFifo = isFifo;
  }

  async send(sequence: number, group: number): Promise<void> {
    const MessageBody = String(sequence).padStart(SEQUENCE_DIGITS, '0') + FILLER;
    const fifo = { MessageGroupId: `g${group}`, MessageDeduplicationId: String(sequence) };
    const input = { QueueUrl: this.#queueUrl, MessageBody, ...(this.#isFifo ? fifo : {}) };
    await retryable(this.#connection.call('SendMessage', input));
  }

  close(): void {
    this.#connection.close();
  }
}

class SqsConsumer implements Consumer {
  readonly #connection: SqsConnection;
  readonly #queueUrl: string;

  constructor(connection: SqsConnection, queueUrl: string) {
    this.#connection = connection;
    this.#queueUrl = queueUrl;
  }

  async take(): Promise<readonly TakenHere[]> {
    const input = { QueueUrl: this.#queueUrl, MaxNumberOfMessages: BATCH_MAX, WaitTimeSeconds: 1 };
    const answer = this.#connection.call<{ Messages?: SqsReceived[] }>('ReceiveMessage', input);
    const { Messages = [] } = await retryable(answer);
    return Messages.map(({ Body, MessageId, ReceiptHandle }) => ({
      sequence: Number(Body.slice(0, SEQUENCE_DIGITS)),
      id: MessageId,
      handle: ReceiptHandle,
    }));
  }

  async ack(taken: readonly TakenHere[]): Promise<readonly number[]> {
    const Entries = taken.map(({ handle }, index) => ({ Id: String(index), ReceiptHandle: handle }));
    const call = this.#connection.call<SqsBatchAnswer<{ Id: string }>>('DeleteMessageBatch', {
      QueueUrl: this.#queueUrl,
      Entries,
    });
    const { Successful = [], Failed = [] } = await retryable(call);
    // The ones that the caller is to blame for would be refused again.
    const wrong = (Failed as readonly { SenderFault: boolean }[]).filter(({ SenderFault }) => SenderFault);
    if (wrong.length > 0) throw new WrongAnswer(`a delete was refused: ${JSON.stringify(wrong)}`);
    return Successful.map(({ Id }) => taken[Number(Id)]?.sequence ?? -1);
  }

  async seal(): Promise<void> {
    await retryable(this.#connection.call('SendMessage', { QueueUrl: SEAL, MessageBody: 'seal' }));
  }

  close(): void {
    this.#connection.close();
  }
}

async function retryable<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof SqsError && error.status !== 503) throw new WrongAnswer(error.message);
    throw error;
  }
}
