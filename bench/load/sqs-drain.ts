import { BODY_BYTES, SEQUENCE_DIGITS } from '../client/body.js';
import type { Ledger } from '../client/ledger.js';
import { md5, type SqsBatchAnswer, type SqsConnection, type SqsReceived } from '../client/sqs.js';
import { expect } from './job.js';

const RECEIVE_MAX = 10;

export interface SqsQueue {
  readonly url: string;
  /** Which of a message's copies comes by it. */
  readonly copy: number;
  /** Where in a body the number of the message stands. */
  readonly numberIn: (body: string) => number;
}

/** A queue that gets what was sent, as it was sent. */
export async function sqsQueue(connection: SqsConnection, name: string): Promise<SqsQueue> {
  return {
    url: await connection.createQueue(name),
    copy: 0,
    numberIn: (body) => {
      expect(body.length === BODY_BYTES, 'a body of another length', body);
      return Number(body.slice(0, SEQUENCE_DIGITS));
    },
  };
}

interface Round {
  readonly connection: SqsConnection;
  readonly queue: SqsQueue;
  readonly ledger: Ledger;
  readonly waitSeconds: number;
}

/** Receives up to ten messages and deletes them in one call each; gives how many there were. */
export async function receiveAndDelete({ connection, queue, ledger, waitSeconds }: Round): Promise<number> {
  const wanted = { QueueUrl: queue.url, MaxNumberOfMessages: RECEIVE_MAX, WaitTimeSeconds: waitSeconds };
  const receive = connection.request('ReceiveMessage', JSON.stringify(wanted));
  const { Messages: messages = [] } = await connection.send<{ Messages?: SqsReceived[] }>(receive);
  if (messages.length === 0) return 0;
  const firstMessage = messages[0];
  expect(firstMessage?.MD5OfBody === md5(firstMessage?.Body ?? ''), 'a message with a wrong MD5');
  for (const { Body: body } of messages) ledger.receive(queue.numberIn(body), queue.copy);
  const entries = messages.map((message, index) => ({
    Id: String(index),
    ReceiptHandle: message.ReceiptHandle,
  }));
  const answer = await connection.call<SqsBatchAnswer<unknown>>('DeleteMessageBatch', {
    QueueUrl: queue.url,
    Entries: entries,
  });
  const deleted = answer.Successful?.length ?? 0;
  expect(deleted === entries.length && (answer.Failed?.length ?? 0) === 0, 'a delete failed', answer);
  return messages.length;
}

/** Empties a queue of so many messages by several connections: none of them asks for what another is about to get. */
export class Drain {
  #left: number;
  readonly #goOn: () => boolean;

  constructor(messages: number, goOn: () => boolean) {
    this.#left = messages;
    this.#goOn = goOn;
  }

  async run(connection: SqsConnection, queue: SqsQueue, ledger: Ledger): Promise<void> {
    while (this.#left > 0 && this.#goOn()) {
      const asked = Math.min(this.#left, RECEIVE_MAX);
      this.#left -= asked;
      // Not in one statement: it would add to what was left before the wait.
      const got = await receiveAndDelete({ connection, queue, ledger, waitSeconds: 0 });
      this.#left += asked - got;
    }
  }
}
