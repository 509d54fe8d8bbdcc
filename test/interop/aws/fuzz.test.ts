import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CREDENTIALS, startAwsServer, type AwsServer } from './aws-server.js';
import {
  damage,
  damaged,
  damagedHeader,
  formOf,
  signed,
  snsInput,
  snsOperation,
  sqsInput,
  sqsOperation,
} from './fuzz-requests.js';

/*
 * Whatever is sent, the answer is one of the protocol's own: never a failure of the server, never silence, and nothing is left
 * behind. By hand, with FUZZ_RUNS=200000, each of the five kinds is tried that often; FUZZ_SEED repeats what was printed.
 */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 200);
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Long enough for a wait that the request may ask for. */
const ANSWER_MS_MAX = 30_000;
/** More than caches that are full take, less than a million requests that leave a hundred bytes each. */
const HEAP_GROWTH_BYTES_MAX = 48 * 1024 * 1024;

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const parser = new XMLParser({ ignoreDeclaration: true });
const parameters = { numRuns: RUNS, seed: SEED };

/** A beat that comes so much later than it should was kept back by the machine. */
const BEAT_MS = 100;
const SLEEP_MS_MIN = 4_000;

let beat: NodeJS.Timeout;
let lastBeat = Date.now();
let lastSleepEnded = 0;
let open: AwsServer;
let closed: AwsServer;
let heapBefore = 0;

beforeAll(async () => {
  console.log(`FUZZ_SEED=${SEED}`);
  beat = setInterval(() => {
    const now = Date.now();
    if (now - lastBeat > SLEEP_MS_MIN) lastSleepEnded = now;
    lastBeat = now;
  }, BEAT_MS);
  // Nobody is called: the one network that is allowed is set aside for documentation.
  const config = { webhookAllow: '198.51.100.0/24' };
  open = await startAwsServer({ config });
  closed = await startAwsServer({ config: { ...config, credentials: [{ ...CREDENTIALS }] } });
  await makeAnew();
  await cleanUp();
  heapBefore = heapUsed();
  await makeAnew();
});
afterAll(async () => {
  clearInterval(beat);
  await open.stop();
  await closed.stop();
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function post(
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
  { server = open, path = '/' } = {},
): Promise<Answer> {
  const bytes = new Uint8Array(Buffer.from(body));
  for (;;) {
    const begun = Date.now();
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    try {
      const response = await fetch(server.url + path, { method: 'POST', headers, body: bytes, signal });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      // A machine that slept lets clients and servers give up at once: that says nothing, and is asked again.
      if (!(await sleptSince(begun))) throw error;
    }
  }
}

/** Whether this process, which is client and server, stood still shortly before or after a moment. */
async function sleptSince(begun: number): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 2 * BEAT_MS));
  return lastSleepEnded > begun - ANSWER_MS_MAX;
}

function json(operation: string, input: unknown): Promise<Answer> {
  return post(jsonHeaders(operation), Buffer.isBuffer(input) ? input : JSON.stringify(input));
}

function jsonHeaders(operation: string): Record<string, string> {
  return { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` };
}

async function sns(fields: Readonly<Record<string, unknown>>): Promise<Answer> {
  return post(FORM, formOf({ Version: '2010-03-31', ...fields }).toString());
}

/** The queues and topics that requests are about. */
async function makeAnew(): Promise<void> {
  const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true' };
  await json('CreateQueue', { QueueName: 'q' });
  await json('CreateQueue', { QueueName: 'f.fifo', Attributes: fifo });
  await sns({ Action: 'CreateTopic', Name: 't' });
  const entry = [
    { key: 'FifoTopic', value: 'true' },
    { key: 'ContentBasedDeduplication', value: 'true' },
  ];
  const made = await sns({ Action: 'CreateTopic', Name: 't.fifo', Attributes: { entry } });
  expect(made.status).toBe(200);
}

/** Removes every queue and topic, whoever made it. */
async function cleanUp(): Promise<void> {
  for (;;) {
    const { text } = await json('ListQueues', {});
    const { QueueUrls = [] } = JSON.parse(text) as { QueueUrls?: string[] };
    if (QueueUrls.length === 0) break;
    for (const QueueUrl of QueueUrls) await json('DeleteQueue', { QueueUrl });
  }
  for (;;) {
    const arns = [...(await sns({ Action: 'ListTopics' })).text.matchAll(/<TopicArn>([^<]*)</g)];
    if (arns.length === 0) break;
    for (const [, TopicArn] of arns) await sns({ Action: 'DeleteTopic', TopicArn });
  }
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function expectJson({ status, text }: Answer): void {
  expect(status).toBeLessThan(500);
  const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  if (status !== 200) expect(body).toMatchObject({ __type: expect.any(String), message: expect.any(String) });
}

function expectXml({ status, text }: Answer): void {
  expect(status).toBeLessThan(500);
  expect(Object.keys(parser.parse(text) as object)).toHaveLength(1);
  expect(text).toMatch(/^<\?xml version="1\.0"\?><(\w+)[ >].*<\/\1>$/su);
  if (status !== 200) expect(text).toMatch(/<(ErrorResponse|UnknownOperationException)/);
}

describe('requests made at random', () => {
  it('of SQS in JSON are answered in JSON, and never by a failure', { timeout: 0 }, () =>
    fc.assert(
      fc.asyncProperty(sqsOperation, sqsInput, damage, async (name, made, how) => {
        expectJson(await json(name, damaged(Buffer.from(JSON.stringify(made)), how)));
      }),
      parameters,
    ),
  );

  it('of SQS in the Query protocol are answered in XML, and never by a failure', { timeout: 0 }, () =>
    fc.assert(
      fc.asyncProperty(sqsOperation, sqsInput, damage, fc.boolean(), async (name, made, how, onQueue) => {
        const form = formOf({ Action: name, Version: '2012-11-05', ...made });
        const body = damaged(Buffer.from(form.toString()), how);
        expectXml(await post(FORM, body, { path: onQueue ? '/000000000000/q' : '/' }));
      }),
      parameters,
    ),
  );

  it('of SNS are answered in XML, and never by a failure', { timeout: 0 }, () =>
    fc.assert(
      fc.asyncProperty(snsOperation, snsInput, damage, async (name, made, how) => {
        const form = formOf({ Action: name, Version: '2010-03-31', ...made });
        expectXml(await post(FORM, damaged(Buffer.from(form.toString()), how)));
      }),
      parameters,
    ),
  );

  it.each(['sqs', 'sns'])('of %s pass only with a signature that holds', { timeout: 0 }, (service) =>
    fc.assert(
      fc.asyncProperty(
        damage,
        damage,
        fc.constantFrom('x-amz-date', 'authorization'),
        fc.boolean(),
        async (ofBody, how, header, isPresigned) => {
          const good = Buffer.from(service === 'sqs' ? '{}' : 'Action=ListTopics&Version=2010-03-31');
          const host = `127.0.0.1:${closed.port}`;
          const at = new Date();
          const right = signed(good, { host, service, secret: CREDENTIALS.secretAccessKey, at });
          const headers = { ...right, [header]: damagedHeader(right[header] ?? '', how) };
          const body = damaged(good, ofBody);
          const own = service === 'sqs' ? jsonHeaders('ListQueues') : FORM;
          const path = isPresigned ? `/?${presigned(headers)}` : '/';
          const answer = await post(isPresigned ? own : { ...own, ...headers }, body, {
            server: closed,
            path,
          });
          if (service === 'sqs') expectJson(answer);
          else expectXml(answer);
          const isWhole = body.equals(good) && headers[header] === right[header];
          if (!isPresigned && isWhole) expect(answer.status).toBe(200);
          if (isPresigned || !body.equals(good)) expect([400, 403, 404]).toContain(answer.status);
        },
      ),
      parameters,
    ),
  );

  it('leave the server as it was', { timeout: 0 }, async () => {
    await makeAnew();
    const { text } = await json('SendMessage', { QueueUrl: 'q', MessageBody: 'still here' });
    expect(text).toContain('MessageId');
    await cleanUp();
    for (const { connector } of [open, closed]) {
      const { connections, counters } = connector.status();
      expect(connections).toBeLessThan(100);
      expect(counters['waiting_receives']).toBe(0);
    }
    const grown = heapUsed() - heapBefore;
    console.log(`heap: ${(grown / 1024 / 1024).toFixed(1)} MiB more than before`);
    expect(grown).toBeLessThan(HEAP_GROWTH_BYTES_MAX);
  });
});

/** The same signature in the query, where it was not made for. */
function presigned(headers: Readonly<Record<string, string>>): string {
  const given = headers['authorization'] ?? '';
  const part = (name: string): string => new RegExp(`${name}=([^,]*)`).exec(given)?.[1] ?? '';
  return new URLSearchParams({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': part('Credential'),
    'X-Amz-Date': headers['x-amz-date'] ?? '',
    'X-Amz-Expires': '60',
    'X-Amz-SignedHeaders': part('SignedHeaders'),
    'X-Amz-Signature': part('Signature'),
  }).toString();
}
