import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { SNS_OPERATIONS } from '../../../src/connectors/aws/sns/operations.js';
import { SQS_OPERATIONS } from '../../../src/connectors/aws/sqs/operations.js';

/** Requests made at random: names, values of every kind, and bytes that were damaged on the way. */

/** All but those that would leave nothing to ask for. */
export const sqsOperation = fc.constantFrom(
  ...[...SQS_OPERATIONS.keys()].filter((name) => name !== 'DeleteQueue'),
);
export const snsOperation = fc.constantFrom(
  ...[...SNS_OPERATIONS.keys()].filter((name) => name !== 'DeleteTopic'),
);

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
export const sqsInput = fc
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

const TOPIC = 'arn:aws:sns:kubemq:000000000000:t';
const FIFO_TOPIC = 'arn:aws:sns:kubemq:000000000000:t.fifo';
const topicArn = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(TOPIC, FIFO_TOPIC) },
  { weight: 1, arbitrary: value },
);
const attributeName = fc.constantFrom(
  'FilterPolicy',
  'FilterPolicyScope',
  'RawMessageDelivery',
  'RedrivePolicy',
  'DeliveryPolicy',
  'Policy',
  'DisplayName',
  'SignatureVersion',
  'ArchivePolicy',
  'ReplayPolicy',
);
const filterText = fc
  .dictionary(
    text,
    fc.array(
      fc.oneof(
        value,
        fc.dictionary(
          fc.constantFrom('prefix', 'numeric', 'cidr', 'wildcard', 'anything-but', 'exists', '$or'),
          value,
          { maxKeys: 2 },
        ),
      ),
      { maxLength: 3 },
    ),
    { maxKeys: 3 },
  )
  .map((policy) => JSON.stringify(policy));
const attributeValue = fc.oneof(text, filterText, fc.json());

export const snsInput = fc.record(
  {
    Name: value,
    TopicArn: topicArn,
    TargetArn: topicArn,
    ResourceArn: topicArn,
    SubscriptionArn: value,
    Protocol: fc.oneof(fc.constantFrom('sqs', 'http', 'email'), text),
    Endpoint: fc.oneof(fc.constantFrom('arn:aws:sqs:kubemq:000000000000:q', 'http://192.0.2.1/'), text),
    Attributes: fc
      .array(fc.record({ key: attributeName, value: attributeValue }), { maxLength: 3 })
      .map((list) => ({ entry: list })),
    AttributeName: attributeName,
    AttributeValue: attributeValue,
    Message: value,
    MessageStructure: fc.constantFrom('json', 'x'),
    Subject: value,
    MessageAttributes: value,
    MessageGroupId: value,
    MessageDeduplicationId: value,
    PublishBatchRequestEntries: value,
    Token: value,
    Tags: value,
    TagKeys: value,
    Label: value,
    AWSAccountId: value,
    ActionName: value,
    NextToken: value,
    PhoneNumber: value,
    DataProtectionPolicy: value,
  },
  { requiredKeys: [] },
);

/** What is done to bytes on their way. */
export interface Damage {
  readonly at: number;
  readonly byte: number;
  readonly kind: string;
}

/** Bytes with some of them changed, cut or doubled. */
export const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(),
  byte: fc.nat(255),
  kind: fc.constantFrom('change', 'cut', 'double', 'none'),
});

export function damaged(bytes: Buffer, how: Damage): Buffer {
  if (bytes.length === 0 || how.kind === 'none') return bytes;
  const at = how.at % bytes.length;
  if (how.kind === 'cut') return bytes.subarray(0, at);
  if (how.kind === 'double') return Buffer.concat([bytes.subarray(0, at), bytes]);
  const out = Buffer.from(bytes);
  out[at] = how.byte;
  return out;
}

export function formOf(fields: Readonly<Record<string, unknown>>): URLSearchParams {
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

/**
 * Header form of a SigV4 signature of a POST over host and time alone: right, until it is damaged. `more`: further lines to sign, in
 * AWS's form, of a header that comes behind those by name.
 */
export function signed(
  body: Buffer,
  given: {
    host: string;
    service: string;
    secret: string;
    at: Date;
    path?: string;
    more?: { name: string; line: string };
  },
): Record<string, string> {
  const { host, service, secret, at, path = '/', more } = given;
  const time = at.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/us-east-1/${service}/aws4_request`;
  const sha = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');
  const names = `host;x-amz-date${more === undefined ? '' : `;${more.name}`}`;
  const lines = `host:${host}\nx-amz-date:${time}\n${more === undefined ? '' : `${more.line}\n`}`;
  const canonical = `POST\n${path}\n\n${lines}\n${names}\n${sha(body)}`;
  let key: Buffer = Buffer.from(`AWS4${secret}`);
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  const signature = createHmac('sha256', key)
    .update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha(canonical)}`)
    .digest('hex');
  return {
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

/** The text with one thing done to it that a header can still carry. */
export function damagedHeader(header: string, how: Damage): string {
  const at = how.at % header.length;
  if (how.kind === 'none') return header;
  if (how.kind === 'cut') return header.slice(0, at).trim();
  if (how.kind === 'double') return header.slice(0, at) + header;
  return header.slice(0, at) + String.fromCharCode(0x21 + (how.byte % 0x5e)) + header.slice(at + 1);
}
