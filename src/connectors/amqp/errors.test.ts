import { describe, expect, it } from 'vitest';
import { BrokerError } from '../../core/errors.js';
import type { ErrorKind } from '../../core/errors.js';
import { replyErrorOf } from './errors.js';
import { ReplyError, shortText } from './wire/reply.js';

describe('reply of a broker error', () => {
  const rows: readonly (readonly [ErrorKind, number, boolean])[] = [
    ['not-found', 404, false],
    ['already-exists', 406, false],
    ['invalid-argument', 406, false],
    ['precondition', 406, false],
    ['lease-lost', 406, false],
    ['limit', 406, false],
    ['forbidden', 403, false],
    ['unauthenticated', 403, false],
    ['unavailable', 506, true],
    ['draining', 320, true],
    ['internal', 541, true],
  ];
  for (const [kind, code, hard] of rows) {
    it(`${kind} is ${String(code)}`, () => {
      const error = replyErrorOf(new BrokerError(kind, 'why'));
      expect([error.code, error.hard]).toEqual([code, hard]);
    });
  }

  it('keeps what is said inside inside', () => {
    expect(replyErrorOf(new TypeError('x is not a function')).replyText).toBe(
      'INTERNAL_ERROR - internal error',
    );
    const own = new ReplyError(404, 'no queue');
    expect(replyErrorOf(own)).toBe(own);
  });

  it('fits in a short string, whatever the text', () => {
    for (const text of ['x'.repeat(300), 'é'.repeat(300), '😀'.repeat(100)]) {
      const short = shortText(text);
      expect(Buffer.byteLength(short)).toBeLessThanOrEqual(255);
      expect(short.endsWith('...')).toBe(true);
      expect(Buffer.from(short).toString()).toBe(short);
    }
  });
});
