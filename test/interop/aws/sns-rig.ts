import {
  CreateTopicCommand,
  GetSubscriptionAttributesCommand,
  PublishCommand,
  SetSubscriptionAttributesCommand,
  SetTopicAttributesCommand,
  SubscribeCommand,
  type PublishCommandInput,
  type PublishCommandOutput,
} from '@aws-sdk/client-sns';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AwsServer } from './aws-server.js';

export const ACCOUNT = 'kubemq:000000000000';
export const queueArn = (name: string): string => `arn:aws:sqs:${ACCOUNT}:${name}`;

/** Short forms of the SNS calls most tests make. */
export class Topics {
  readonly #server: Pick<AwsServer, 'sns'>;
  #names = 0;

  constructor(server: Pick<AwsServer, 'sns'>) {
    this.#server = server;
  }

  /** Makes a topic and gives its ARN; FIFO names get their ending. */
  async create(attributes: Record<string, string> = {}, name = `topic${++this.#names}`): Promise<string> {
    const Name = attributes['FifoTopic'] === 'true' ? `${name}.fifo` : name;
    const answer = await this.#server.sns.send(new CreateTopicCommand({ Name, Attributes: attributes }));
    return answer.TopicArn ?? '';
  }

  /** Subscribes and gives the subscription's ARN, also while it is pending. */
  async subscribe(
    TopicArn: string,
    Endpoint: string,
    Attributes: Record<string, string> = {},
  ): Promise<string> {
    const Protocol = /^(https?):/.exec(Endpoint)?.[1] ?? 'sqs';
    const input = { TopicArn, Protocol, Endpoint, Attributes, ReturnSubscriptionArn: true };
    return (await this.#server.sns.send(new SubscribeCommand(input))).SubscriptionArn ?? '';
  }

  publish(
    TopicArn: string,
    Message: string,
    more: Partial<PublishCommandInput> = {},
  ): Promise<PublishCommandOutput> {
    return this.#server.sns.send(new PublishCommand({ TopicArn, Message, ...more }));
  }

  async set(arn: string, AttributeName: string, AttributeValue: string): Promise<void> {
    const isTopic = arn.split(':').length === 6;
    await (isTopic
      ? this.#server.sns.send(new SetTopicAttributesCommand({ TopicArn: arn, AttributeName, AttributeValue }))
      : this.#server.sns.send(
          new SetSubscriptionAttributesCommand({ SubscriptionArn: arn, AttributeName, AttributeValue }),
        ));
  }

  async attributesOf(SubscriptionArn: string): Promise<Record<string, string>> {
    const answer = await this.#server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
    return answer.Attributes ?? {};
  }
}

/** One POST that came to a hook. */
export interface Post {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Unix ms of the machine's clock. */
  readonly at: number;
}

/** An HTTP server that subscriptions deliver to: it keeps what comes and answers as told. */
export class Hook {
  readonly posts: Post[] = [];
  /** Status, and headers, of the answer to a post; a promise is waited for. */
  answer: (post: Post, nth: number) => number | [number, Record<string, string>] | Promise<number> = () =>
    200;
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(port = 0): Promise<Hook> {
    const server = createServer();
    const hook = new Hook(server);
    server.on('request', (request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (text: string) => (body += text));
      request.on('end', () => {
        const post = { path: request.url ?? '', headers: request.headers, body, at: Date.now() };
        hook.posts.push(post);
        for (const wake of hook.#waiting) wake();
        void Promise.resolve(hook.answer(post, hook.posts.length)).then((answer) => {
          const [status, headers] = typeof answer === 'number' ? [answer, {}] : answer;
          response.writeHead(status, headers).end('done');
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return hook;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The post number `nth` (from 1), as soon as it is there; rejects when it takes 10 s. */
  async post(nth: number): Promise<Post> {
    const late = Date.now() + 10_000;
    for (;;) {
      const post = this.posts[nth - 1];
      if (post !== undefined) return post;
      if (Date.now() > late) throw new Error(`${this.posts.length} posts came, not ${nth}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, 10_000);
        this.#waiting.add(wake);
      });
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Confirms the subscription whose SubscriptionConfirmation is post number `nth` of a hook. */
export async function confirm(hook: Hook, nth = 1): Promise<void> {
  const { SubscribeURL } = JSON.parse((await hook.post(nth)).body) as { SubscribeURL: string };
  const answer = await fetch(SubscribeURL);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
}
