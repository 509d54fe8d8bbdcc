import { parseForm } from './query.js';

/** What of an HTTP request says which protocol, service and operation it is. */
export interface RequestHead {
  /** Path and query. */
  readonly url: string;
  readonly host: string | undefined;
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
}

export interface JsonRequest {
  readonly protocol: 'json';
  readonly service: 'sqs' | undefined;
  readonly operation: string;
}

export interface QueryRequest {
  readonly protocol: 'query';
  readonly service: 'sqs' | 'sns' | 'sts';
  /** '' when the request names none. */
  readonly operation: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const CREDENTIAL = 'Credential=';
const JSON_TARGET = 'AmazonSQS.';
const SQS_VERSION = '2012-11-05';
const SNS_VERSION = '2010-03-31';
const STS_VERSION = '2011-06-15';
const NO_FORM = Buffer.alloc(0);

/** A path that is a queue's: `/{account}/{name}`. */
export const QUEUE_PATH = /^\/\d{12}\/[A-Za-z0-9_.-]+\/?$/;

/** Actions of SNS; `AddPermission` and `RemovePermission` exist in both services and count as SQS's without other hints. */
const SNS_ACTION =
  /^(Publish|Subscribe|Unsubscribe|ConfirmSubscription|OptIn|CheckIf|Verify|TagResource|UntagResource|ListTagsForResource)|Topic|Subscription|Platform|Endpoint|SMS|PhoneNumber|DataProtection|Origination/;

/** The JSON protocol names its operation in a header; service undefined means a target that is none of ours. */
export function jsonRequest(target: string): JsonRequest {
  return target.startsWith(JSON_TARGET)
    ? { protocol: 'json', service: 'sqs', operation: target.slice(JSON_TARGET.length) }
    : { protocol: 'json', service: undefined, operation: target };
}

/** Reads a Query request: parameters of the URL and of a form body. Undefined when they are malformed. */
export function queryRequest(head: RequestHead, body: Buffer): QueryRequest | undefined {
  const mark = head.url.indexOf('?');
  const parameters = parseForm(mark < 0 ? NO_FORM : Buffer.from(head.url.slice(mark + 1), 'utf8'));
  if (parameters === undefined) return undefined;
  const isForm = head.contentType === undefined || head.contentType.includes('x-www-form-urlencoded');
  if (body.length > 0 && isForm && parseForm(body, parameters) === undefined) return undefined;
  const operation = parameters.get('Action') ?? '';
  return { protocol: 'query', service: serviceOf(head, parameters, operation), operation, parameters };
}

/** Version, then the scope of the signature, then the host, then the path, then the name of the action tell the service. */
function serviceOf(
  head: RequestHead,
  parameters: ReadonlyMap<string, string>,
  operation: string,
): 'sqs' | 'sns' | 'sts' {
  const version = parameters.get('Version');
  if (version === SQS_VERSION) return 'sqs';
  if (version === SNS_VERSION) return 'sns';
  if (version === STS_VERSION) return 'sts';
  const scope = credentialOf(head.authorization, parameters)[3];
  if (scope === 'sqs' || scope === 'sns' || scope === 'sts') return scope;
  const host = head.host ?? '';
  if (/^(sqs|queue)\./.test(host)) return 'sqs';
  if (host.startsWith('sns.')) return 'sns';
  if (host.startsWith('sts.')) return 'sts';
  if (QUEUE_PATH.test(pathOf(head.url))) return 'sqs';
  if (operation === 'GetCallerIdentity') return 'sts';
  return SNS_ACTION.test(operation) ? 'sns' : 'sqs';
}

/** Parts of the credential a request is signed with: access key, date, region, service. Empty when it is not signed. */
export function credentialOf(
  authorization: string | undefined,
  parameters: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  const start = credentialStart(authorization);
  if (authorization !== undefined && start >= 0) {
    const end = authorization.indexOf(',', start);
    return authorization
      .slice(start, end < 0 ? undefined : end)
      .trim()
      .split('/');
  }
  return parameters?.get('X-Amz-Credential')?.split('/') ?? [];
}

/** The access key of a credential; '' when a request is not signed. */
export function accessKeyOf(
  authorization: string | undefined,
  parameters: ReadonlyMap<string, string> | undefined,
): string {
  const start = credentialStart(authorization);
  if (authorization === undefined || start < 0) return credentialOf(undefined, parameters)[0] ?? '';
  const end = authorization.indexOf('/', start);
  return end < 0 ? '' : authorization.slice(start, end);
}

function credentialStart(authorization: string | undefined): number {
  const at = authorization?.indexOf(CREDENTIAL) ?? -1;
  return at < 0 ? -1 : at + CREDENTIAL.length;
}

export function pathOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}
