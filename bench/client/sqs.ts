import { hash } from 'node:crypto';
import { bodyText, writeSequence } from './body.js';
import { Http1Connection } from './http1.js';
import { RequestSigner, SIGNATURE_CHARS } from './sigv4.js';

const JSON_TYPE = 'application/x-amz-json-1.0';
const FORM_TYPE = 'application/x-www-form-urlencoded; charset=utf-8';
const SNS_VERSION = '2010-03-31';

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

/** Calls SQS in its JSON 1.0 form and SNS in its Query form over one raw connection. Every request is signed. */
export class SqsConnection {
  readonly #http: Http1Connection;
  readonly #host: string;
  readonly #signers = new Map<string, RequestSigner>();

  private constructor(http: Http1Connection, port: number) {
    this.#http = http;
    this.#host = `127.0.0.1:${String(port)}`;
  }

  static async open(port: number, host?: string): Promise<SqsConnection> {
    return new SqsConnection(await Http1Connection.open(port, host), port);
  }

  /** Signs requests of an operation of SQS, and all of SNS. */
  signer(action?: string): RequestSigner {
    const known = this.#signers.get(action ?? '');
    if (known !== undefined) return known;
    const signer = new RequestSigner(
      action === undefined
        ? { service: 'sns', host: this.#host, contentType: FORM_TYPE }
        : { service: 'sqs', host: this.#host, contentType: JSON_TYPE, target: `AmazonSQS.${action}` },
    );
    this.#signers.set(action ?? '', signer);
    return signer;
  }

  /** Head and body of a request. */
  request(action: string, body: string): string {
    return whole(this.signer(action), body);
  }

  /** One call with a request made before. */
  async send<T>(request: Uint8Array | string): Promise<T> {
    const text = await this.sendText(request);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  async sendText(request: Uint8Array | string): Promise<string> {
    const answer = await this.#http.send(request);
    const text = answer.body.toString('utf8');
    if (answer.status !== 200) throw new SqsError(answer.status, text);
    return text;
  }

  call<T>(action: string, input: Readonly<Record<string, unknown>>): Promise<T> {
    return this.send<T>(this.request(action, JSON.stringify(input)));
  }

  /** A call of SNS; gives the text of the answer's element `wanted`. */
  async callSns(input: Readonly<Record<string, string>>, wanted: string): Promise<string> {
    const body = new URLSearchParams({ Version: SNS_VERSION, ...input }).toString();
    const text = await this.sendText(whole(this.signer(), body));
    return new RegExp(`<${wanted}>([^<]*)`).exec(text)?.[1] ?? '';
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

function whole(signer: RequestSigner, body: string): string {
  return signer.head(Buffer.byteLength(body), signer.sign(body)).head + body;
}

/** A request whose numbers and signature are written in place. */
export class SendTemplate {
  readonly request: Buffer;
  readonly batch: number;
  readonly #signer: RequestSigner;
  readonly #signatureAt: number;
  readonly #body: Buffer;
  /** Where each body's number stands. */
  readonly #offsets: readonly number[];

  constructor(signer: RequestSigner, content: string, body: string) {
    const { head, signatureAt } = signer.head(Buffer.byteLength(content), '0'.repeat(SIGNATURE_CHARS));
    this.request = Buffer.from(head + content, 'latin1');
    this.#signer = signer;
    this.#signatureAt = signatureAt;
    this.#body = this.request.subarray(head.length);
    const offsets: number[] = [];
    for (let at = this.request.indexOf(body); at >= 0; at = this.request.indexOf(body, at + 1))
      offsets.push(at);
    this.#offsets = offsets;
    this.batch = offsets.length;
  }

  /** Bodies with these numbers, signed: with what is known of the batch that begins with the first, else anew. */
  prepare(numbers: readonly number[], known?: Signatures): void {
    for (let i = 0; i < this.#offsets.length; i++)
      writeSequence(this.request, this.#offsets[i] ?? 0, numbers[i] ?? 0);
    if (known?.copy((numbers[0] ?? 0) / this.batch, this.request, this.#signatureAt) === true) return;
    this.request.write(this.#signer.sign(this.#body), this.#signatureAt, 'latin1');
  }

  /** The first body, as bytes. */
  firstBody(bytes: number): Buffer {
    const at = this.#offsets[0] ?? 0;
    return this.request.subarray(at, at + bytes);
  }

  /** Signs the first `count` batches, before their time is measured: all templates of one kind are alike. */
  signAhead(count: number): Signatures {
    const bytes = Buffer.alloc(count * SIGNATURE_CHARS);
    for (let i = 0; i < count; i++) {
      this.prepare(this.#offsets.map((_, at) => i * this.batch + at));
      this.request.copy(bytes, i * SIGNATURE_CHARS, this.#signatureAt, this.#signatureAt + SIGNATURE_CHARS);
    }
    return new Signatures(bytes);
  }
}

/** Signatures of batches, in the order of their numbers. */
export class Signatures {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** False when there is none of this batch. */
  copy(batch: number, target: Buffer, at: number): boolean {
    const from = batch * SIGNATURE_CHARS;
    if (!Number.isInteger(batch) || from + SIGNATURE_CHARS > this.#bytes.length) return false;
    this.#bytes.copy(target, at, from, from + SIGNATURE_CHARS);
    return true;
  }
}

/** SendMessage (batch 1) or SendMessageBatch. All of one queue share a signer, so that a signature of one is good for the others. */
export function sqsSendTemplate(signer: RequestSigner, queueUrl: string, batch: number): SendTemplate {
  const body = bodyText();
  const input =
    batch === 1
      ? { QueueUrl: queueUrl, MessageBody: body }
      : {
          QueueUrl: queueUrl,
          Entries: Array.from({ length: batch }, (_, index) => ({ Id: String(index), MessageBody: body })),
        };
  return new SendTemplate(signer, JSON.stringify(input), body);
}

export function sqsSendAction(batch: number): string {
  return batch === 1 ? 'SendMessage' : 'SendMessageBatch';
}

/** PublishBatch. */
export function snsPublishTemplate(signer: RequestSigner, topicArn: string, batch: number): SendTemplate {
  const body = new URLSearchParams({ body: bodyText() }).toString().slice('body='.length);
  const input: Record<string, string> = {
    Action: 'PublishBatch',
    Version: SNS_VERSION,
    TopicArn: topicArn,
  };
  for (let i = 0; i < batch; i++) {
    const entry = `PublishBatchRequestEntries.member.${String(i + 1)}`;
    input[`${entry}.Id`] = String(i);
    input[`${entry}.Message`] = bodyText();
  }
  return new SendTemplate(signer, new URLSearchParams(input).toString(), body);
}

export function md5(text: string | Uint8Array): string {
  return hash('md5', text);
}
