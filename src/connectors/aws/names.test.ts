import { describe, expect, it } from 'vitest';
import { awsConfigSchema } from './config.js';
import {
  groupChannel,
  groupOfChannel,
  queueArnOfChannel,
  queueChannel,
  queueNameOfArn,
  queueNameOfUrl,
} from './names.js';
import { pageOf } from './paging.js';

const config = awsConfigSchema.parse({});

describe('channels', () => {
  it('follow the grammar', () => {
    expect(queueChannel('orders')).toBe('sqs.orders');
    expect(groupChannel(queueChannel('tasks.fifo'), 'g1')).toBe('sqs.tasks.fifo.g.g1');
    expect(groupChannel(queueChannel('tasks.fifo'), 'order/42')).toBe('sqs.tasks.fifo.g.order%2F42');
    expect(groupOfChannel('sqs.tasks.fifo', 'sqs.tasks.fifo.g.order%2F42')).toBe('order/42');
    expect(groupOfChannel('sqs.tasks.fifo', 'sqs.tasks.fifo')).toBeUndefined();
  });

  it('lead back to ARNs', () => {
    expect(queueArnOfChannel(config, 'sqs.orders')).toBe('arn:aws:sqs:kubemq:000000000000:orders');
    expect(queueArnOfChannel(config, 'sqs.t.fifo.g.a.fifo')).toBe('arn:aws:sqs:kubemq:000000000000:t.fifo');
    expect(queueArnOfChannel(config, 'sqs.t.g.a')).toBe('arn:aws:sqs:kubemq:000000000000:t');
    expect(queueArnOfChannel(config, 'amqp.default.q')).toBeUndefined();
    expect(queueNameOfArn('arn:aws:sqs:us-east-1:123456789012:q')).toBe('q');
    for (const bad of ['q', 'arn:aws:sns:r:a:t', 'arn:aws:sqs:r:a:', 'arn:aws:sqs:r:a:b:c']) {
      expect(queueNameOfArn(bad)).toBeUndefined();
    }
  });
});

describe('queue URLs', () => {
  it.each([
    ['http://localhost:4566/000000000000/q', 'q'],
    ['https://sqs.us-east-1.amazonaws.com/123456789012/t.fifo', 't.fifo'],
    ['http://host/000000000000/q/', 'q'],
    ['/000000000000/q', 'q'],
    ['000000000000/q', 'q'],
    ['q', 'q'],
    ['/000000000000/q?Action=X&u=/a/b', 'q'],
    ['/', ''],
    ['', ''],
    ['http://localhost:4566', ''],
  ])('%s is %j', (url, name) => {
    expect(queueNameOfUrl(url)).toBe(name);
  });
});

describe('pages', () => {
  const letters = ['a', 'b', 'c', 'd', 'e'];
  const page = (token: string | undefined, list = letters): ReturnType<typeof pageOf<string>> =>
    pageOf(list, (letter) => letter, { token, max: 2 });

  it('cover everything once, also when the list changes on the way', () => {
    const first = page(undefined);
    expect(first?.items).toEqual(['a', 'b']);
    const second = page(first?.nextToken, ['a', 'c', 'd', 'e']);
    expect(second?.items).toEqual(['c', 'd']);
    const third = page(second?.nextToken);
    expect(third).toEqual({ items: ['e'], nextToken: undefined });
  });

  it('refuse tokens that are none', () => {
    expect(page('not a token!')).toBeUndefined();
  });
});
