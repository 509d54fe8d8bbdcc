import { expect, it } from 'vitest';
import { checkSubscriptionCount, checkTopicCount } from './topic-limits.js';

const countOf = (count: number) => ({ topicCount: () => count, subscriptionCount: () => count });

it.each([
  ['standard', false, 100_000],
  ['FIFO', true, 1_000],
])('a last %s topic is made, one more is TopicLimitExceeded', (kind, fifo, max) => {
  checkTopicCount(countOf(max - 1), fifo);
  expect(() => checkTopicCount(countOf(max), fifo)).toThrow(`At most ${max} ${kind} topics are allowed.`);
});

it.each([
  ['standard', false, 12_500_000],
  ['FIFO', true, 100],
])('a %s topic has its last subscription, and not one more', (kind, fifo, max) => {
  const topic = { name: 't', fifo };
  checkSubscriptionCount(countOf(max - 1), topic);
  expect(() => checkSubscriptionCount(countOf(max), topic)).toThrow(
    `A ${kind} topic has at most ${max} subscriptions.`,
  );
});
