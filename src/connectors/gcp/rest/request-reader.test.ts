import { toJson, type DescMessage } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StatusError } from '../errors.js';
import {
  ListTopicsRequestSchema,
  PublishRequestSchema,
  PullRequestSchema,
  SeekRequestSchema,
  TopicSchema,
  UpdateSubscriptionRequestSchema,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { GetIamPolicyRequestSchema } from '../wire/gen/google/iam/v1/iam_policy_pb.js';
import { readRestRequest } from './request-reader.js';

interface Parts {
  readonly field?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
}

function read(message: DescMessage, { field = ['none'], query = '', body }: Parts): unknown {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
  const parts = { field, value: 'from/path', query, bodyField: '*', body: Buffer.from(text) };
  return toJson(message, readRestRequest(message, parts));
}

function fault(message: DescMessage, parts: Parts): string {
  try {
    return JSON.stringify(read(message, parts));
  } catch (caught) {
    expect(caught).toBeInstanceOf(Error);
    return (caught as Error).message;
  }
}

describe('a REST request', () => {
  it('has names in either spelling', () => {
    const messages = [
      { data: 'eA', ordering_key: 'k' },
      { orderingKey: 'l', attributes: { a_b: 'c' } },
    ];
    expect(read(PublishRequestSchema, { field: ['topic'], body: { messages } })).toEqual({
      topic: 'from/path',
      messages: [
        { data: 'eA==', orderingKey: 'k' },
        { attributes: { a_b: 'c' }, orderingKey: 'l' },
      ],
    });
  });

  it('reads masks, durations, times, numbers in strings and enums', () => {
    const field = ['subscription', 'name'];
    for (const updateMask of ['ackDeadlineSeconds,labels', 'ack_deadline_seconds,labels']) {
      const body = {
        subscription: {
          name: 'other',
          ackDeadlineSeconds: '30',
          messageRetentionDuration: '600.5s',
          state: 1,
        },
        updateMask,
      };
      expect(read(UpdateSubscriptionRequestSchema, { field, body })).toEqual({
        subscription: {
          name: 'from/path',
          ackDeadlineSeconds: 30,
          messageRetentionDuration: '600.500s',
          state: 'ACTIVE',
        },
        updateMask: 'ackDeadlineSeconds,labels',
      });
    }
    expect(read(SeekRequestSchema, { body: { time: '2026-01-02T03:04:05.678Z' } })).toEqual({
      time: '2026-01-02T03:04:05.678Z',
    });
  });

  it('takes its fields from the query, and passes over system parameters', () => {
    const query = 'pageSize=5&page_token=x&alt=json&$alt=json&key=k&prettyPrint=false&fields=topics';
    expect(read(ListTopicsRequestSchema, { field: ['project'], query })).toEqual({
      project: 'from/path',
      pageSize: 5,
      pageToken: 'x',
    });
    expect(read(GetIamPolicyRequestSchema, { query: 'options.requestedPolicyVersion=3' })).toEqual({
      options: { requestedPolicyVersion: 3 },
    });
    expect(read(PullRequestSchema, { query: 'returnImmediately=true&maxMessages=1' })).toEqual({
      returnImmediately: true,
      maxMessages: 1,
    });
  });

  it('may name in the body what the path names', () => {
    expect(read(TopicSchema, { field: ['name'], body: { name: 'from/path' } })).toEqual({
      name: 'from/path',
    });
    expect(fault(TopicSchema, { field: ['name'], body: { name: 'other' } })).toContain(
      'not that of the path',
    );
  });

  it.each<[string, DescMessage, Parts, string]>([
    [
      'an unknown field',
      TopicSchema,
      { body: { bogus: 1 } },
      'Invalid JSON payload received. Unknown name "bogus": Cannot find field.',
    ],
    [
      'an unknown field inside',
      PublishRequestSchema,
      { body: { messages: [{ data: '' }, { datas: 1 }] } },
      `Invalid JSON payload received. Unknown name "datas" at 'messages[1]': Cannot find field.`,
    ],
    [
      'an unknown parameter',
      ListTopicsRequestSchema,
      { query: 'bogus=1' },
      `Invalid JSON payload received. Unknown name "bogus": Cannot bind query parameter. Field 'bogus' could not be found in request message.`,
    ],
    [
      'text for a number',
      PullRequestSchema,
      { body: { maxMessages: 'x' } },
      `Invalid value at 'max_messages' (TYPE_INT32), "x"`,
    ],
    [
      'too large a number',
      PullRequestSchema,
      { body: { maxMessages: 2 ** 31 } },
      "Invalid value at 'max_messages' (TYPE_INT32), 2147483648",
    ],
    [
      'a number for text',
      TopicSchema,
      { body: { kmsKeyName: 5 } },
      "Invalid value at 'kms_key_name' (TYPE_STRING), 5",
    ],
    [
      'no base64',
      PublishRequestSchema,
      { body: { messages: [{ data: '!' }] } },
      `Invalid value at 'messages[0].data' (TYPE_BYTES), "!"`,
    ],
    [
      'text for a message',
      TopicSchema,
      { body: { schemaSettings: 'x' } },
      `Invalid value at 'schema_settings' (type.googleapis.com/google.pubsub.v1.SchemaSettings), "x"`,
    ],
    [
      'no such enum value',
      TopicSchema,
      { body: { schemaSettings: { encoding: 'XML' } } },
      `Invalid value at 'schema_settings.encoding' (type.googleapis.com/google.pubsub.v1.Encoding), "XML"`,
    ],
    [
      'a list for one value',
      TopicSchema,
      { body: { schemaSettings: [] } },
      'Proto field is not repeating, cannot start list.',
    ],
    [
      'depth',
      TopicSchema,
      { body: `{"labels":${'['.repeat(200_000)}${']'.repeat(200_000)}}` },
      "Invalid value at 'labels'",
    ],
    ['no JSON', TopicSchema, { body: '{' }, 'Invalid JSON payload received. '],
    ['no object', TopicSchema, { body: [] }, 'must be an object'],
    ['no time', SeekRequestSchema, { body: { time: 'yesterday' } }, 'Invalid JSON payload received. '],
  ])('is refused with %s', (_, message, parts, text) => {
    expect(fault(message, parts)).toContain(text);
  });

  it('is read or refused, whatever it is', () => {
    const names = fc.constantFrom(
      'messages',
      'data',
      'attributes',
      'topic',
      'time',
      'name',
      'updateMask',
      'x',
    );
    const tree = fc.letrec((tie) => ({
      value: fc.oneof(fc.jsonValue(), fc.dictionary(names, tie('value')), fc.array(tie('value'))),
    })).value;
    const schema = fc.constantFrom<DescMessage>(
      PublishRequestSchema,
      TopicSchema,
      UpdateSubscriptionRequestSchema,
    );
    fc.assert(
      fc.property(schema, tree, fc.string(), (message, body, query) => {
        try {
          read(message, { body, query });
        } catch (caught) {
          expect(caught).toBeInstanceOf(StatusError);
        }
      }),
      { seed: 4, numRuns: 120 },
    );
  });
});
