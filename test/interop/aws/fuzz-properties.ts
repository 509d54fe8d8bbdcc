import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CREDENTIALS } from './aws-server.js';
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
  type Damage,
} from './fuzz-requests.js';
import { checkJson, checkXml, FORM_HEADERS, jsonHeaders, type FuzzTarget } from './fuzz-target.js';

/** An endpoint that lets everybody in, and one that checks signatures. */
export interface FuzzTargets {
  readonly open: FuzzTarget;
  readonly closed: FuzzTarget;
}

export interface FuzzProperty {
  readonly name: string;
  /** Tries that many requests. Throws with the first, made as small as can be, that it does not hold for. */
  readonly check: (targets: FuzzTargets, runs: fc.Parameters<unknown>) => Promise<void>;
}

/** What holds for any request. */
export const FUZZ_PROPERTIES: readonly FuzzProperty[] = [
  {
    name: 'of SQS in JSON are answered in JSON, and never by a failure',
    check: ({ open }, runs) =>
      fc.assert(
        fc.asyncProperty(sqsOperation, sqsInput, damage, async (name, made, how) => {
          checkJson(await open.json(name, damaged(Buffer.from(JSON.stringify(made)), how)));
        }),
        runs as fc.Parameters<[string, object, Damage]>,
      ),
  },
  {
    name: 'of SQS in the Query protocol are answered in XML, and never by a failure',
    check: ({ open }, runs) =>
      fc.assert(
        fc.asyncProperty(sqsOperation, sqsInput, damage, fc.boolean(), async (name, made, how, onQueue) => {
          const form = formOf({ Action: name, Version: '2012-11-05', ...made });
          const body = damaged(Buffer.from(form.toString()), how);
          checkXml(await open.form(body, onQueue ? '/000000000000/q' : '/'));
        }),
        runs as fc.Parameters<[string, object, Damage, boolean]>,
      ),
  },
  {
    name: 'of SNS are answered in XML, and never by a failure',
    check: ({ open }, runs) =>
      fc.assert(
        fc.asyncProperty(snsOperation, snsInput, damage, async (name, made, how) => {
          const form = formOf({ Action: name, Version: '2010-03-31', ...made });
          checkXml(await open.form(damaged(Buffer.from(form.toString()), how)));
        }),
        runs as fc.Parameters<[string, object, Damage]>,
      ),
  },
  signatureProperty('sqs'),
  signatureProperty('sns'),
];

function signatureProperty(service: 'sqs' | 'sns'): FuzzProperty {
  const good = Buffer.from(service === 'sqs' ? '{}' : 'Action=ListTopics&Version=2010-03-31');
  const tried = async (
    closed: FuzzTarget,
    [ofBody, how, header, isPresigned]: readonly [Damage, Damage, string, boolean],
  ): Promise<void> => {
    const { host } = new URL(closed.url);
    const { secretAccessKey: secret } = CREDENTIALS;
    const right = signed(good, { host, service, secret, at: new Date() });
    const headers: Record<string, string> = { ...right, [header]: damagedHeader(right[header] ?? '', how) };
    const body = damaged(good, ofBody);
    const own = service === 'sqs' ? jsonHeaders('ListQueues') : FORM_HEADERS;
    const path = isPresigned ? `/?${presigned(headers)}` : '/';
    const answer = await closed.post(isPresigned ? own : { ...own, ...headers }, body, path);
    if (service === 'sqs') checkJson(answer);
    else checkXml(answer);
    const isWhole = body.equals(good) && headers[header] === right[header];
    if (!isPresigned && isWhole) assert.equal(answer.status, 200, answer.text);
    if (isPresigned || !body.equals(good)) assert.ok([400, 403, 404].includes(answer.status), answer.text);
  };
  return {
    name: `of ${service} pass only with a signature that holds`,
    check: ({ closed }, runs) =>
      fc.assert(
        fc.asyncProperty(
          damage,
          damage,
          fc.constantFrom('x-amz-date', 'authorization'),
          fc.boolean(),
          (...given) => tried(closed, given),
        ),
        runs as fc.Parameters<[Damage, Damage, string, boolean]>,
      ),
  };
}

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
