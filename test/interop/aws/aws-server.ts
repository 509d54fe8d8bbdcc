import { SNSClient } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  type Message,
  type ReceiveMessageCommandInput,
  type SendMessageCommandInput,
  type SendMessageCommandOutput,
} from '@aws-sdk/client-sqs';
import type { ManualClock } from '../../../src/base/clock.js';
import { SystemClock, type Clock } from '../../../src/base/clock.js';
import { SystemIds } from '../../../src/base/ids.js';
import { silentLog, type Log } from '../../../src/base/log.js';
import { awsConfigSchema, createAwsConnector } from '../../../src/connectors/aws/index.js';
import type { AwsConfig } from '../../../src/connectors/aws/index.js';
import type { Connector } from '../../../src/connectors/kit/connector.js';
import { openBroker, type OpenBroker } from '../../../src/core/broker.js';
import { openAccess } from '../../support/access.js';
import { MemoryJournal } from '../../../src/journal/memory/memory-journal.js';

/** The AWS connector alone over a broker in memory, and Amazon's own clients of it. */
export interface AwsServer {
  readonly broker: OpenBroker;
  readonly connector: Connector;
  readonly port: number;
  readonly url: string;
  /** Clients of AWS's JavaScript SDK; only the endpoint differs from what talks to AWS. */
  readonly sqs: SQSClient;
  readonly sns: SNSClient;
  stop(): Promise<void>;
}

export const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

export async function startAwsServer(
  options: { readonly clock?: Clock; readonly config?: Partial<AwsConfig>; readonly log?: Log } = {},
): Promise<AwsServer> {
  const clock = options.clock ?? new SystemClock();
  const broker = await openBroker({ journal: new MemoryJournal(), clock, log: silentLog });
  const context = {
    broker,
    ...openAccess(broker),
    clock,
    ids: new SystemIds(),
    log: options.log ?? silentLog,
    host: '127.0.0.1',
    version: '0.0.0',
  };
  const connector = createAwsConnector(
    context,
    awsConfigSchema.parse({ enable: true, port: 0, ...options.config }),
  );
  const [bound] = await connector.start();
  const port = bound?.port ?? 0;
  const url = `http://127.0.0.1:${port}`;
  const client = { endpoint: url, region: 'us-east-1', credentials: { ...CREDENTIALS }, maxAttempts: 1 };
  const sqs = new SQSClient(client);
  const sns = new SNSClient(client);
  return {
    broker,
    connector,
    port,
    url,
    sqs,
    sns,
    stop: async () => {
      sqs.destroy();
      sns.destroy();
      await connector.drain(0);
      await connector.stop();
      await broker.close();
    },
  };
}

/** Moves time in steps that are short against every deadline of the broker, letting its calls run in between. */
export async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(Math.min(100, left));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits for a call that waits for time, letting that go by. */
export async function whileTimePasses<T>(clock: ManualClock, call: Promise<T>): Promise<T> {
  const state = { answered: false };
  const seen = call.finally(() => (state.answered = true));
  while (!state.answered) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    clock.advance(50);
  }
  return seen;
}

/** What a call was refused with: code of both protocols and status. */
export async function refusal(
  call: Promise<unknown>,
): Promise<{ code: string; status: number; message: string }> {
  try {
    await call;
  } catch (error) {
    const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
    return { code: name, status: $metadata?.httpStatusCode ?? 0, message };
  }
  throw new Error('the call passed');
}

/** Short forms of the calls most tests make. */
export class Queues {
  readonly #server: AwsServer;
  #names = 0;

  constructor(server: AwsServer) {
    this.#server = server;
  }

  /** Makes a queue and gives its URL; FIFO names get their ending. */
  async create(attributes: Record<string, string> = {}, name = `q${++this.#names}`): Promise<string> {
    const QueueName = attributes['FifoQueue'] === 'true' ? `${name}.fifo` : name;
    const command = new CreateQueueCommand({ QueueName, Attributes: attributes });
    return (await this.#server.sqs.send(command)).QueueUrl ?? '';
  }

  send(
    url: string,
    body: string,
    more: Partial<SendMessageCommandInput> = {},
  ): Promise<SendMessageCommandOutput> {
    return this.#server.sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, ...more }));
  }

  /** Up to ten messages with all their system attributes. */
  async receive(url: string, more: Partial<ReceiveMessageCommandInput> = {}): Promise<readonly Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ['All'],
      ...more,
    });
    return (await this.#server.sqs.send(command)).Messages ?? [];
  }

  async delete(url: string, { ReceiptHandle }: Message): Promise<void> {
    await this.#server.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
  }
}

export function bodies(messages: readonly Message[]): readonly (string | undefined)[] {
  return messages.map(({ Body }) => Body);
}
