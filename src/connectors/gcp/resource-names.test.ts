import { describe, expect, it } from 'vitest';
import {
  checkNewSubscriptionId,
  checkNewTopicId,
  orderingKeySuffix,
  parseProject,
  parseResourceName,
  subscriptionChannel,
  topicChannel,
} from './resource-names.js';

const refused = expect.objectContaining({ kind: 'invalid-argument' }) as unknown as Error;
const newTopic = (id: string) => () => checkNewTopicId(`projects/p/topics/${id}`, id);
const newSubscription = (id: string) => () => checkNewSubscriptionId(`projects/p/subscriptions/${id}`, id);

describe('resource names', () => {
  it('are read whatever the project', () => {
    expect(parseResourceName('projects/my-project/topics/orders', 'topics')).toEqual({
      project: 'my-project',
      id: 'orders',
    });
    expect(parseResourceName('projects/example.com:p/subscriptions/s', 'subscriptions').project).toBe(
      'example.com:p',
    );
    expect(parseProject('projects/p1')).toBe('p1');
  });

  it.each([
    '',
    'orders',
    'topics/orders',
    'projects/p/orders',
    'projects//topics/t',
    'projects/p/subscriptions/t',
    'projects/p/topics/t/x',
    'projects/p q/topics/t',
  ])('%j is no topic name', (name) => {
    expect(() => parseResourceName(name, 'topics')).toThrow(refused);
  });

  it.each(['', 'p', 'projects/', 'projects/p/topics', 'projects/p/'])('%j is no project', (name) => {
    expect(() => parseProject(name)).toThrow(refused);
  });

  it.each(['abc', 'a.~+%_-', 'A'.repeat(255), 'sub', 'mysub.x'])('topic id %j may be created', (id) => {
    expect(newTopic(id)).not.toThrow();
  });

  it.each(['ab', '1abc', 'goog-x', 'a b', 'aéb', 'A'.repeat(256), '', 'sub.abc', 'abc.', 'a*b', 'a>b'])(
    'topic id %j is refused',
    (id) => {
      expect(newTopic(id)).toThrow(refused);
    },
  );

  it.each(['abc', 'sub.abc', 'a.k', 'a.h'])('subscription id %j may be created', (id) => {
    expect(newSubscription(id)).not.toThrow();
  });

  it.each(['ab', 'a.k.b', 'a.h.b', 'googly', 'abc.'])('subscription id %j is refused', (id) => {
    expect(newSubscription(id)).toThrow(refused);
  });
});

describe('channels', () => {
  it('follow the mapping', () => {
    expect(topicChannel('orders')).toBe('gcp.orders');
    expect(subscriptionChannel('orders-sub')).toBe('gcp.sub.orders-sub');
    expect(orderingKeySuffix('tenant-a')).toBe('.k.tenant-a');
    expect(orderingKeySuffix('order/42')).toBe('.k.order%2F42');
    expect(orderingKeySuffix('é')).toBe('.k.%C3%A9');
  });

  it('of long keys are hashed, the same every time', () => {
    const long = 'x'.repeat(500);
    expect(orderingKeySuffix(long)).toMatch(/^\.h\.[0-9a-f]{64}$/);
    expect(orderingKeySuffix(long)).toBe(orderingKeySuffix(long));
    expect(orderingKeySuffix(long)).not.toBe(orderingKeySuffix(`${long}y`));
  });
});
