import { describe, expect, it } from 'vitest';
import { gcpConfigSchema } from './config.js';

describe('settings of Pub/Sub', () => {
  it('have the documented defaults', () => {
    expect(gcpConfigSchema.parse({})).toEqual({
      port: 8085,
      advertisedEndpoint: '',
      maxMessageBytes: 10_485_760,
      defaultAckDeadlineSeconds: 10,
      maxOutstandingMessages: 1000,
      maxInflightPerSubscription: 20_000,
      maxConcurrentPolls: 1024,
      pushAllow: 'public,private,loopback',
      pushAllowHttp: false,
      maxSeekReplay: 1_000_000,
      streamCloseSeconds: 1800,
      topics: [],
      subscriptions: [],
    });
  });

  it.each([
    ['port', [0, 65_535], [-1, 65_536, 1.5, '8085']],
    ['maxMessageBytes', [1], [0, -1, 1.5]],
    ['defaultAckDeadlineSeconds', [10, 600], [0, 9, 601, 10.5]],
    ['maxOutstandingMessages', [1], [0, -1, 1.5]],
    ['maxInflightPerSubscription', [1], [0, -1, 1.5]],
    ['maxConcurrentPolls', [1], [0, -1, 1.5]],
    ['maxSeekReplay', [1], [0, -1, 1.5]],
    ['streamCloseSeconds', [1], [0, -1, 1.5]],
    ['pushAllow', ['*', 'hooks.example.com,10.1.0.0/16', 'loopback'], ['10.0.0.0/33', 'a b', 5]],
    ['pushAllowHttp', [true], ['yes', 1]],
    ['advertisedEndpoint', ['', 'pubsub.example.com:8085'], [5]],
  ])('%s takes what makes sense, and nothing else', (name, good, bad) => {
    for (const value of good)
      expect(gcpConfigSchema.safeParse({ [name]: value }).success, String(value)).toBe(true);
    for (const value of bad)
      expect(gcpConfigSchema.safeParse({ [name]: value }).success, String(value)).toBe(false);
  });
});
