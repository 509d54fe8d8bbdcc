import { createHash } from 'node:crypto';
import { bodyText } from './body.js';
import { Http1Connection } from './http1.js';

const AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host;x-amz-date, Signature=' +
  '0'.repeat(64);

export interface SqsReceived {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body: string;
  readonly MD5OfBody: string;
}

export interface SqsSent {
  readonly MessageId: string;
  readonly MD5OfMessageBody: string;
}

export interface SqsBatchAnswer<T> {
  readonly Successful?: readonly T[];
  readonly Failed?: readonly unknown[];
}

/** An answer that is an error of the service. */
export class SqsError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, text: string) {
    super(`HTTP ${String(status)}: ${text.slice(0, 400)}`);
    this.name = 'SqsError';
    this.status = status;
    this.code = /"__type" *: *"(?:[^"#]*#)?([^"]*)"/.exec(text)?.[1] ?? '';
  }
}

/** Calls SQS in its JSON 1.0 form over one raw connection. Signatures are made up: no server here checks them. */
export class SqsConnection {
  readonly #http: Http1Connection;
  readonly #host: string;

  private constructor(http: Http1Connection, port: number) {
    this.#http = http;
    this.#host = `127.0.0.1:${String(port)}`;
  }

  static async open(port: number, host?: string): Promise<SqsConnection> {
    return new SqsConnection(await Http1Connection.open(port, host), port);
  }

  /** Head and body of a request. */
  request(action: string, body: string): string {
    return (
      `POST / HTTP/1.1\r\nHost: ${this.#host}\r\nContent-Type: application/x-amz-json-1.0\r\n` +
      `X-Amz-Target: AmazonSQS.${action}\r\nX-Amz-Date: 20260101T000000Z\r\nAuthorization: ${AUTHORIZATION}\r\n` +
      `Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`
    );
  }

  /** One call with a request made before. */
  async send<T>(request: Uint8Array | string): Promise<T> {
    const answer = await this.#http.send(request);
    const text = answer.body.toString('utf8');
    if (answer.status !== 200) throw new SqsError(answer.status, text);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  call<T>(action: string, input: Readonly<Record<string, unknown>>): Promise<T> {
    return this.send<T>(this.request(action, JSON.stringify(input)));
  }

  async createQueue(name: string, attributes: Readonly<Record<string, string>> = {}): Promise<string> {
    const answer = await this.call<{ QueueUrl: string }>('CreateQueue', {
      QueueName: name,
      Attributes: attributes,
    });
    return answer.QueueUrl;
  }

  close(): void {
    this.#http.close();
  }
}

export interface SqsTemplate {
  readonly request: Buffer;
  /** Where each body's sequence number stands. */
  readonly sequenceOffsets: readonly number[];
}

/** A SendMessage (batch 1) or SendMessageBatch request whose bodies' numbers are written in place. */
export function sqsSendTemplate(connection: SqsConnection, queueUrl: string, batch: number): SqsTemplate {
  const body = bodyText();
  const input =
    batch === 1
      ? { QueueUrl: queueUrl, MessageBody: body }
      : {
          QueueUrl: queueUrl,
          Entries: Array.from({ length: batch }, (_, index) => ({ Id: String(index), MessageBody: body })),
        };
  const action = batch === 1 ? 'SendMessage' : 'SendMessageBatch';
  const request = Buffer.from(connection.request(action, JSON.stringify(input)), 'latin1');
  const sequenceOffsets: number[] = [];
  for (let at = request.indexOf(body); at >= 0; at = request.indexOf(body, at + 1)) sequenceOffsets.push(at);
  return { request, sequenceOffsets };
}

export function md5(text: string | Uint8Array): string {
  return createHash('md5').update(text).digest('hex');
}
