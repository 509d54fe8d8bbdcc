import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../core/message.js';
import { md5Hex } from '../wire/md5.js';
import { encodeAttributes } from '../wire/message-attributes.js';
import { encodeOrigin } from '../wire/origin.js';
import { sqsNeutralView } from './message-tags.js';
import { sqsViewOf } from './sqs-view.js';

function foreign(body: Uint8Array, tags: Record<string, string> = {}): StoredMessage {
  return {
    id: 'native-1',
    hasOwnId: true,
    clientId: 'c',
    metadata: '',
    tags: new Map(Object.entries(tags)),
    body,
    policy: {},
    priority: 0,
    origin: undefined,
  };
}

describe('a message of another protocol', () => {
  it('shows text as it is, with the broker id and no sender', () => {
    const view = sqsViewOf(foreign(Buffer.from('hällo')));
    expect(view).toMatchObject({
      messageId: 'native-1',
      body: 'hällo',
      bodyMd5: md5Hex('hällo'),
      senderId: undefined,
      attributes: undefined,
    });
  });

  it('shows other bytes as base64 and says so, the MD5 over what is delivered', () => {
    const view = sqsViewOf(foreign(Buffer.from([0, 255])));
    expect(view.body).toBe('AP8=');
    expect(view.bodyMd5).toBe(md5Hex('AP8='));
    expect(view.attributes?.()).toEqual([{ name: 'polymq.encoding', dataType: 'String', value: 'base64' }]);
  });

  it('shows the first ten legal tags by name as attributes', () => {
    const tags = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`t${String(i).padStart(2, '0')}`, 'v']),
    );
    const names = sqsViewOf(
      foreign(Buffer.from('x'), { ...tags, 'bad name': 'v', 'aws.x': 'v', 'amqp.type': 'a' }),
    )
      .attributes?.()
      .map(({ name }) => name);
    expect(names).toEqual(['amqp.type', ...Object.keys(tags).slice(0, 9)]);
  });

  it('reads tags in the form the mapping gives them', () => {
    const view = sqsViewOf(
      foreign(Buffer.from('x'), {
        sqs_attr_n: 'Number.int|7',
        sqs_attr_b: 'Binary|AAE=',
        sqs_message_id: 'm',
        sqs_sender_id: 's',
        sqs_group_id: 'g',
      }),
    );
    expect(view).toMatchObject({ messageId: 'm', senderId: 's', groupId: 'g' });
    expect(view.attributes?.()).toEqual([
      { name: 'b', dataType: 'Binary', value: Buffer.from([0, 1]) },
      { name: 'n', dataType: 'Number.int', value: '7' },
    ]);
  });
});

describe('a message of SQS to other protocols', () => {
  it('has the tags of the mapping', () => {
    const bytes = encodeOrigin({
      messageId: '0f1e2d3c-4b5a-4968-8877-665544332211',
      bodyMd5: md5Hex('x'),
      sentAt: 1,
      senderId: 'AK',
      groupId: 'g',
      dedupId: 'd',
      traceHeader: 'Root=1',
      topicArn: undefined,
      subject: undefined,
      attributes: encodeAttributes([
        { name: 'n', dataType: 'Number', value: '1' },
        { name: 'b', dataType: 'Binary.x', value: Buffer.from([0, 1]) },
      ]),
      attributesMd5: md5Hex(''),
    });
    expect(Object.fromEntries(sqsNeutralView(bytes).tags)).toEqual({
      sqs_message_id: '0f1e2d3c-4b5a-4968-8877-665544332211',
      sqs_sender_id: 'AK',
      sqs_group_id: 'g',
      sqs_dedup_id: 'd',
      sqs_trace_header: 'Root=1',
      sqs_attr_n: 'Number|1',
      sqs_attr_b: 'Binary.x|AAE=',
    });
  });
});
