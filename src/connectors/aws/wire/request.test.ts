import { describe, expect, it } from 'vitest';
import { credentialOf, jsonRequest, pathOf, queryRequest } from './request.js';
import type { RequestHead } from './request.js';

const signed = (service: string): string =>
  `AWS4-HMAC-SHA256 Credential=AKID/20260101/kubemq/${service}/aws4_request, SignedHeaders=host, Signature=00`;

function service(head: Partial<RequestHead>, body = ''): string | undefined {
  const whole: RequestHead = {
    url: '/',
    host: 'localhost',
    contentType: undefined,
    authorization: undefined,
    ...head,
  };
  return queryRequest(whole, Buffer.from(body))?.service;
}

describe('protocol detection', () => {
  it('takes JSON operations from the target', () => {
    expect(jsonRequest('AmazonSQS.SendMessage')).toMatchObject({ service: 'sqs', operation: 'SendMessage' });
    expect(jsonRequest('DynamoDB_20120810.GetItem').service).toBeUndefined();
  });

  it.each<[string, Partial<RequestHead>, string, 'sqs' | 'sns']>([
    [
      'the version before all',
      { host: 'sns.x', authorization: signed('sns') },
      'Action=A&Version=2012-11-05',
      'sqs',
    ],
    ['the version of SNS', {}, 'Action=AddPermission&Version=2010-03-31', 'sns'],
    ['the scope of the signature', { authorization: signed('sns') }, 'Action=AddPermission', 'sns'],
    [
      'a presigned scope',
      { url: '/?X-Amz-Credential=AK%2F1%2Fr%2Fsns%2Faws4_request&Action=AddPermission' },
      '',
      'sns',
    ],
    ['the host', { host: 'sns.localhost:4566' }, 'Action=AddPermission', 'sns'],
    ['the path of a queue', { url: '/000000000000/q' }, 'Action=AddPermission', 'sqs'],
    ['an action of SNS', {}, 'Action=ListTopics', 'sns'],
    ['the confirmation link without version', { url: '/?Action=ConfirmSubscription&Token=t' }, '', 'sns'],
    ['an action of SQS', {}, 'Action=SendMessage', 'sqs'],
    ['a tag action of SQS', {}, 'Action=TagQueue', 'sqs'],
    ['an action both have', {}, 'Action=RemovePermission', 'sqs'],
  ])('tells the service by %s', (_name, head, body, expected) => {
    expect(service(head, body)).toBe(expected);
  });

  it('joins the parameters of URL and body', () => {
    const head = {
      url: '/?Action=A&x=1',
      host: undefined,
      contentType: 'application/x-www-form-urlencoded; charset=utf-8',
      authorization: undefined,
    };
    const request = queryRequest(head, Buffer.from('y=2'));
    expect(Object.fromEntries(request?.parameters ?? [])).toEqual({ Action: 'A', x: '1', y: '2' });
  });

  it('reads credentials and paths', () => {
    expect(credentialOf(signed('sqs'), undefined)[0]).toBe('AKID');
    expect(credentialOf('Basic x', undefined)).toEqual([]);
    expect(credentialOf(undefined, new Map([['X-Amz-Credential', 'AK/1/r/sqs/aws4_request']]))[0]).toBe('AK');
    expect(pathOf('/a/b?c=/d')).toBe('/a/b');
  });
});
