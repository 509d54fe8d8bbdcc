import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { percentDecode, percentEncode } from './percent.js';

describe('percent codec', () => {
  it('keeps letters, digits, dash and underscore and encodes every other byte', () => {
    expect(percentEncode('aZ09_-')).toBe('aZ09_-');
    expect(percentEncode('a.b c')).toBe('a%2Eb%20c');
    expect(percentEncode('é%')).toBe('%C3%A9%25');
    expect(percentEncode('')).toBe('');
  });

  it('reads back everything it wrote', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(percentEncode(text)).toMatch(/^[A-Za-z0-9_%-]*$/);
        expect(percentDecode(percentEncode(text))).toBe(text);
      }),
    );
  });

  it('reads nothing else', () => {
    for (const text of ['%', '%4', '%41', '%2e', '%zz', 'a.b', '%FF', 'é', '%C3']) {
      expect(percentDecode(text), text).toBeUndefined();
    }
  });
});
