import { XMLParser } from 'fast-xml-parser';

/** An answer in either protocol; `body` is the JSON object, or the XML below its root. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Fields = Readonly<Record<string, unknown>>;

const parser = new XMLParser({ parseTagValue: false, trimValues: false, ignoreDeclaration: true });

/** SQS without any SDK: what is written is what is sent. */
export class RawSqs {
  readonly #url: string;
  #names = 0;

  constructor(url: string) {
    this.#url = url;
  }

  newName(): string {
    return `bug${++this.#names}`;
  }

  /** Makes a queue of a new name and gives it. */
  async make(Attributes: Fields = {}): Promise<string> {
    const QueueName = `${this.newName()}${Attributes['FifoQueue'] === 'true' ? '.fifo' : ''}`;
    const { status, text } = await this.json('CreateQueue', { QueueName, Attributes });
    if (status !== 200) throw new Error(text);
    return QueueName;
  }

  send(QueueUrl: string, MessageBody: string, more: Fields = {}): Promise<RawAnswer> {
    return this.json('SendMessage', { QueueUrl, MessageBody, ...more });
  }

  async receive(QueueUrl: string, more: Fields = {}): Promise<readonly Fields[]> {
    const input = { QueueUrl, MaxNumberOfMessages: 10, ...more };
    return listIn(await this.json('ReceiveMessage', input), 'Messages');
  }

  /** One operation of the JSON protocol. */
  async json(
    operation: string,
    input: Fields,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RawAnswer> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `AmazonSQS.${operation}`,
        ...headers,
      },
      body: JSON.stringify(input),
    });
    const text = await response.text();
    const body = text === '' ? {} : (JSON.parse(text) as Fields);
    return { status: response.status, headers: response.headers, text, body };
  }

  /** One operation of the Query protocol, as a form. */
  async query(parameters: Readonly<Record<string, string>>, path = '/'): Promise<RawAnswer> {
    const body = new URLSearchParams(parameters);
    return this.#xml(await fetch(this.#url + path, { method: 'POST', body }));
  }

  async get(path: string): Promise<RawAnswer> {
    return this.#xml(await fetch(this.#url + path));
  }

  async #xml(response: Response): Promise<RawAnswer> {
    const text = await response.text();
    const [root] = Object.values(parser.parse(text) as Readonly<Record<string, unknown>>);
    const body = typeof root === 'object' && root !== null ? (root as Fields) : {};
    return { status: response.status, headers: response.headers, text, body };
  }
}

/** What a part of an answer is, when it is a list of structures; an absent one is empty. */
export function listIn(answer: RawAnswer, name: string): readonly Fields[] {
  return (answer.body[name] ?? []) as readonly Fields[];
}

export const ACCOUNT = '000000000000';
export const ARN = `arn:aws:sqs:kubemq:${ACCOUNT}:`;
/** Attributes of a FIFO queue that needs no deduplication ids. */
export const FIFO = { FifoQueue: 'true', ContentBasedDeduplication: 'true' };

export const bodiesOf = (messages: readonly Fields[]): readonly unknown[] => messages.map(({ Body }) => Body);

export const handleOf = (messages: readonly Fields[]): unknown => messages[0]?.['ReceiptHandle'];

/** `{code};{side}` of a JSON answer, the code of an XML one. */
export function codeOf(answer: RawAnswer): string {
  const header = answer.headers.get('x-amzn-query-error');
  return header ?? String((answer.body['Error'] as Fields | undefined)?.['Code']);
}

/** A report about some server of this API, and what is right. */
export interface Bug {
  readonly reports: string;
  readonly behaviour: string;
  readonly run: () => Promise<void>;
}
