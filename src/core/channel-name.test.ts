import { describe, expect, it } from 'vitest';
import { CHANNEL_NAME_BYTES_MAX, channelName, channelNameFault } from './channel-name.js';
import { BrokerError } from './errors.js';

describe('channel name', () => {
  it('is any visible text', () => {
    for (const name of [
      'a',
      'sqs.t.fifo.g.a%20b',
      'gcp.sub.s',
      'amqp./.q',
      'Ключ',
      '🎈',
      'x'.repeat(CHANNEL_NAME_BYTES_MAX),
    ]) {
      expect(channelName(name)).toBe(name);
    }
  });

  it('is refused with its fault', () => {
    const faults: [string, RegExp][] = [
      ['', /empty/],
      ['a.', /end with/],
      ['a b', /white space/],
      ['a\u00a0b', /white space/],
      ['a\u0000', /control/],
      ['a*', /cannot contain/],
      ['a>', /cannot contain/],
      ['a;b', /cannot contain/],
      ['a\ud800', /Unicode/],
      ['x'.repeat(CHANNEL_NAME_BYTES_MAX + 1), /at most/],
      ['é'.repeat(CHANNEL_NAME_BYTES_MAX / 2 + 1), /at most/],
    ];
    for (const [name, fault] of faults) {
      expect(channelNameFault(name)).toMatch(fault);
      expect(() => channelName(name)).toThrow(BrokerError);
    }
  });
});

describe('broker error', () => {
  it('passes through, and hides what is none of it', () => {
    const error = new BrokerError('limit', 'too many');
    expect(BrokerError.from(error)).toBe(error);
    const cause = new Error('secret');
    expect(BrokerError.from(cause)).toMatchObject({ kind: 'internal', message: 'internal error', cause });
  });
});
