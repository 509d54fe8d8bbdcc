import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SQS_OPERATIONS } from '../../../src/connectors/aws/sqs/operations.js';
import { startAwsServer, type AwsServer } from './aws-server.js';

/*
 * Whatever is sent, the answer is one of the protocol's own: never a failure of the server, never silence. By hand, with
 * FUZZ_RUNS=1000000, it runs as long as that takes.
 */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 300);
/** Long enough for a wait that the request may ask for. */
const ANSWER_MS_MAX = 30_000;

const parser = new XMLParser({ ignoreDeclaration: true });

let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer();
  for (const [name, attributes] of [
    ['q', {}],
    ['f.fifo', { FifoQueue: 'true', ContentBasedDeduplication: 'true' }],
  ] as const) {
    const answer = await json('CreateQueue', { QueueName: name, Attributes: attributes });
    expect(answer.status).toBe(200);
  }
});
afterAll(() => server.stop());

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function post(
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
  path = '/',
): Promise<Answer> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers,
    body: new Uint8Array(Buffer.from(body)),
    signal,
  });
  return { status: response.status, text: await response.text() };
}

function json(operation: string, input: unknown): Promise<Answer> {
  const body = typeof input === 'string' || Buffer.isBuffer(input) ? input : JSON.stringify(input);
  return post(
    { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` },
    body,
  );
}

/** All but the one that would leave nothing to ask for. */
const operation = fc.constantFrom(...[...SQS_OPERATIONS.keys()].filter((name) => name !== 'DeleteQueue'));

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    'q',
    'f.fifo',
    'http://h/000000000000/q',
    'All',
    '.*',
    '-1',
    '901',
    'arn:aws:sqs:kubemq:000000000000:q',
  ),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    '\u0000',
    '\ud800',
    '{"a":1}',
    '[]',
    'null',
    'AAAA',
  ),
);
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(text, tie('any'), { maxKeys: 4 }),
    fc.record(
      {
        DataType: fc.constantFrom('String', 'Number', 'Binary', 'String.x', ''),
        StringValue: text,
        BinaryValue: text,
      },
      { requiredKeys: [] },
    ),
  ),
})).any;

/** Never waits: a poll that does would be right, and slow. */
const input = fc
  .record(
    {
      QueueUrl: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom('q', 'f.fifo') },
        { weight: 1, arbitrary: value },
      ),
      QueueName: value,
      MessageBody: value,
      Entries: fc.oneof(
        value,
        fc.array(
          fc.record(
            {
              Id: text,
              MessageBody: value,
              ReceiptHandle: text,
              VisibilityTimeout: value,
              MessageGroupId: text,
            },
            { requiredKeys: [] },
          ),
          { maxLength: 12 },
        ),
      ),
      Attributes: value,
      AttributeNames: value,
      MessageAttributes: fc.oneof(value, fc.dictionary(text, value, { maxKeys: 3 })),
      MessageSystemAttributes: value,
      MessageAttributeNames: value,
      MessageSystemAttributeNames: value,
      MessageGroupId: value,
      MessageDeduplicationId: value,
      MaxNumberOfMessages: value,
      VisibilityTimeout: value,
      ReceiptHandle: value,
      Tags: value,
      tags: value,
      TagKeys: value,
      SourceArn: value,
      DestinationArn: value,
      TaskHandle: value,
      Label: value,
      AWSAccountIds: value,
      Actions: value,
      NextToken: value,
      MaxResults: value,
      ReceiveRequestAttemptId: value,
    },
    { requiredKeys: [] },
  )
  .filter((made) => !JSON.stringify(made).includes('ReceiveMessageWaitTimeSeconds'));

/** Bytes with some of them changed, cut or doubled. */
const damage = fc.record({
  at: fc.nat(),
  byte: fc.nat(255),
  kind: fc.constantFrom('change', 'cut', 'double', 'none'),
});

function damaged(
  bytes: Buffer,
  how: { readonly at: number; readonly byte: number; readonly kind: string },
): Buffer {
  if (bytes.length === 0 || how.kind === 'none') return bytes;
  const at = how.at % bytes.length;
  if (how.kind === 'cut') return bytes.subarray(0, at);
  if (how.kind === 'double') return Buffer.concat([bytes.subarray(0, at), bytes]);
  const out = Buffer.from(bytes);
  out[at] = how.byte;
  return out;
}

function formOf(fields: Readonly<Record<string, unknown>>): URLSearchParams {
  const form = new URLSearchParams();
  const put = (name: string, one: unknown): void => {
    if (Array.isArray(one)) one.forEach((item, i) => put(`${name}.${i + 1}`, item));
    else if (typeof one === 'object' && one !== null) {
      for (const [key, item] of Object.entries(one)) put(`${name}.${key}`, item);
    } else form.append(name, String(one));
  };
  for (const [name, one] of Object.entries(fields)) put(name, one);
  return form;
}

describe('requests made at random', () => {
  it(
    'in JSON are answered in JSON, and never by a failure',
    async () => {
      await fc.assert(
        fc.asyncProperty(operation, input, damage, async (name, made, how) => {
          const { status, text: answer } = await json(name, damaged(Buffer.from(JSON.stringify(made)), how));
          expect(status).toBeLessThan(500);
          const body = (answer === '' ? {} : JSON.parse(answer)) as Record<string, unknown>;
          if (status !== 200)
            expect(body).toMatchObject({ __type: expect.any(String), message: expect.any(String) });
        }),
        { numRuns: RUNS },
      );
    },
    Infinity,
  );

  it(
    'in the Query protocol are answered in XML, and never by a failure',
    async () => {
      await fc.assert(
        fc.asyncProperty(operation, input, damage, fc.boolean(), async (name, made, how, onQueue) => {
          const form = formOf({ Action: name, Version: '2012-11-05', ...made });
          const headers = { 'content-type': 'application/x-www-form-urlencoded' };
          const body = damaged(Buffer.from(form.toString()), how);
          const { status, text: answer } = await post(headers, body, onQueue ? '/000000000000/q' : '/');
          expect(status).toBeLessThan(500);
          expect(Object.keys(parser.parse(answer) as object)).toHaveLength(1);
          expect(answer).toMatch(/^<\?xml version="1\.0"\?><(\w+)[ >].*<\/\1>$/su);
          if (status !== 200) expect(answer).toMatch(/<(ErrorResponse|UnknownOperationException)/);
        }),
        { numRuns: RUNS },
      );
    },
    Infinity,
  );

  it('leave the server as it was', async () => {
    expect((await json('SendMessage', { QueueUrl: 'q', MessageBody: 'still here' })).status).toBeLessThan(
      500,
    );
    const { connections } = server.connector.status();
    expect(connections).toBeLessThan(100);
  });
});
