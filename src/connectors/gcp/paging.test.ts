import { describe, expect, it } from 'vitest';
import { pageOf } from './paging.js';

const keys = Array.from({ length: 250 }, (_, i) => `k${String(i).padStart(3, '0')}`);
const page = (pageSize: number, pageToken = '', all: readonly string[] = keys) =>
  pageOf(all, (key) => key, { pageSize, pageToken });

describe('pages', () => {
  it('cover everything once', () => {
    const seen: string[] = [];
    let token = '';
    do {
      const { items, nextPageToken } = page(37, token);
      seen.push(...items);
      token = nextPageToken;
    } while (token !== '');
    expect(seen).toEqual(keys);
  });

  it('have a default size, and end without a token', () => {
    expect(page(0).items).toHaveLength(100);
    expect(page(250).nextPageToken).toBe('');
    expect(page(100_000).items).toHaveLength(250);
    expect(page(10, '', []).items).toEqual([]);
  });

  it('go on at the right place when the last item is gone', () => {
    const { nextPageToken } = page(10);
    const without = keys.filter((key) => key !== 'k009');
    expect(page(1, nextPageToken, without).items).toEqual(['k010']);
  });

  it('behind the end are empty', () => {
    expect(page(10, Buffer.from('z').toString('base64url'))).toEqual({ items: [], nextPageToken: '' });
  });

  it.each(['!', 'a', 'AB', 'a=b'])('refuse the token %j', (token) => {
    expect(() => page(10, token)).toThrow(expect.objectContaining({ kind: 'invalid-argument' }));
  });

  it('refuse a negative size', () => {
    expect(() => page(-1)).toThrow(expect.objectContaining({ kind: 'invalid-argument' }));
  });
});
