import assert from 'node:assert/strict';
import { XMLParser } from 'fast-xml-parser';
import { formOf } from './fuzz-requests.js';

/** What requests made at random are sent to, in this process or another, and what its answers must be. */

/** Long enough for a wait that the request may ask for. */
const ANSWER_MS_MAX = 30_000;
/** A beat that comes so much later than it should was kept back by the machine. */
const BEAT_MS = 100;
const SLEEP_MS_MIN = 4_000;

export const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };
const parser = new XMLParser({ ignoreDeclaration: true });

export interface Answer {
  readonly status: number;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

/** A client that tells a server that is silent from a machine that stood still. */
export class FuzzTarget {
  readonly url: string;
  readonly #beat: NodeJS.Timeout;
  #lastBeat = Date.now();
  #lastSleepEnded = 0;

  constructor(url: string) {
    this.url = url;
    this.#beat = setInterval(() => {
      const now = Date.now();
      if (now - this.#lastBeat > SLEEP_MS_MIN) this.#lastSleepEnded = now;
      this.#lastBeat = now;
    }, BEAT_MS);
  }

  close(): void {
    clearInterval(this.#beat);
  }

  async post(headers: Headers, body: string | Buffer, path = '/'): Promise<Answer> {
    const bytes = new Uint8Array(Buffer.from(body));
    for (;;) {
      const begun = Date.now();
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      try {
        const response = await fetch(this.url + path, { method: 'POST', headers, body: bytes, signal });
        return { status: response.status, text: await response.text() };
      } catch (error) {
        // A machine that slept lets clients and servers give up at once: that says nothing, and is asked again.
        if (!(await this.#sleptSince(begun))) throw error;
      }
    }
  }

  json(operation: string, input: unknown): Promise<Answer> {
    return this.post(jsonHeaders(operation), Buffer.isBuffer(input) ? input : JSON.stringify(input));
  }

  form(body: string | Buffer, path = '/'): Promise<Answer> {
    return this.post(FORM_HEADERS, body, path);
  }

  sns(fields: Readonly<Record<string, unknown>>): Promise<Answer> {
    return this.form(formOf({ Version: '2010-03-31', ...fields }).toString());
  }

  /** The queues and topics that requests are about. */
  async makeAnew(): Promise<void> {
    const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true' };
    await this.json('CreateQueue', { QueueName: 'q' });
    await this.json('CreateQueue', { QueueName: 'f.fifo', Attributes: fifo });
    await this.sns({ Action: 'CreateTopic', Name: 't' });
    const entry = [
      { key: 'FifoTopic', value: 'true' },
      { key: 'ContentBasedDeduplication', value: 'true' },
    ];
    const made = await this.sns({ Action: 'CreateTopic', Name: 't.fifo', Attributes: { entry } });
    assert.equal(made.status, 200, made.text);
  }

  /** Removes every queue and topic, whoever made it. */
  async cleanUp(): Promise<void> {
    for (;;) {
      const { text } = await this.json('ListQueues', {});
      const { QueueUrls = [] } = JSON.parse(text) as { QueueUrls?: string[] };
      if (QueueUrls.length === 0) break;
      for (const QueueUrl of QueueUrls) await this.json('DeleteQueue', { QueueUrl });
    }
    for (;;) {
      const arns = [...(await this.sns({ Action: 'ListTopics' })).text.matchAll(/<TopicArn>([^<]*)</g)];
      if (arns.length === 0) break;
      for (const [, TopicArn] of arns) {
        // What archives its messages cannot be deleted.
        await this.sns({
          Action: 'SetTopicAttributes',
          TopicArn,
          AttributeName: 'ArchivePolicy',
          AttributeValue: '',
        });
        await this.sns({ Action: 'DeleteTopic', TopicArn });
      }
    }
  }

  /** Whether this process stood still shortly before or after a moment. */
  async #sleptSince(begun: number): Promise<boolean> {
    await new Promise((resolve) => setTimeout(resolve, 2 * BEAT_MS));
    return this.#lastSleepEnded > begun - ANSWER_MS_MAX;
  }
}

export function jsonHeaders(operation: string): Record<string, string> {
  return { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` };
}

/** Never a failure of the server; a structure, or an error of the protocol. */
export function checkJson({ status, text }: Answer): void {
  assert.ok(status < 500, `${status}: ${text}`);
  const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  if (status === 200) return;
  assert.equal(typeof body['__type'], 'string', text);
  assert.equal(typeof body['message'], 'string', text);
}

/** Never a failure of the server; one document, or an error of the protocol. */
export function checkXml({ status, text }: Answer): void {
  assert.ok(status < 500, `${status}: ${text}`);
  assert.equal(Object.keys(parser.parse(text) as object).length, 1, text);
  assert.match(text, /^<\?xml version="1\.0"\?><(\w+)[ >].*<\/\1>$/su);
  if (status !== 200) assert.match(text, /<(ErrorResponse|UnknownOperationException)/);
}
