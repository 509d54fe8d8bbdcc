import { XMLParser } from 'fast-xml-parser';
import type { RunningBroker } from '../../../src/app/index.js';
import { urlOf } from '../../support/server.js';
import { Denied, right, type Right } from './policy-cases.js';

export type Fields = Readonly<Record<string, unknown>>;

const ACCOUNT = 'kubemq:000000000000';
export const queueArn = (name: string): string => `arn:aws:sqs:${ACCOUNT}:${name}`;
export const topicArn = (name: string): string => `arn:aws:sns:${ACCOUNT}:${name}`;
const parser = new XMLParser({ parseTagValue: false, ignoreDeclaration: true });

const authorization = (service: string): string =>
  `AWS4-HMAC-SHA256 Credential=alice/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`;

/** One operation of the JSON protocol. */
export async function callSqs(broker: RunningBroker, operation: string, input: Fields): Promise<Fields> {
  const answer = await fetch(urlOf(broker, 'aws'), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${operation}`,
      authorization: authorization('sqs'),
    },
    body: JSON.stringify(input),
  });
  const text = await answer.text();
  const body = JSON.parse(text === '' ? '{}' : text) as Fields;
  if (answer.status === 200) return body;
  const refused = { status: answer.status, code: body['__type'], message: body['message'] };
  if (String(refused.code).endsWith('AccessDeniedException')) throw new Denied(refused);
  throw new Error(`${answer.status} ${text}`);
}

/** One operation of the Query protocol. */
export async function callSns(
  broker: RunningBroker,
  operation: string,
  input: Readonly<Record<string, string>>,
): Promise<Fields> {
  const answer = await fetch(urlOf(broker, 'aws'), {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: authorization('sns'),
    },
    body: new URLSearchParams({ Action: operation, Version: '2010-03-31', ...input }),
  });
  const text = await answer.text();
  const [body = {}] = Object.values(parser.parse(text) as Record<string, Fields>);
  if (answer.status === 200) return body[`${operation}Result`] as Fields;
  const error = body['Error'] as Fields;
  if (error['Code'] === 'AuthorizationError')
    throw new Denied({ status: answer.status, code: error['Code'], message: error['Message'] });
  throw new Error(`${answer.status} ${text}`);
}

export const says = (action: string, arn: string): string =>
  `User: arn:aws:iam::000000000000:user/alice is not authorized to perform: ${action} on resource: ${arn} ` +
  `because no identity-based policy allows the ${action} action`;

export function arnOf({ channel }: Right): string {
  return channel.startsWith('sqs.') ? queueArn(channel.slice(4)) : topicArn(channel.slice(4));
}

export const on = (channel: string, access: Right['access']): Right => right('Queues', access, channel);
