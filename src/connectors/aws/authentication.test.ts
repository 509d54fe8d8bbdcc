import { createHmac, hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { Authentication } from './authentication.js';
import { AwsFault } from './wire/fault.js';
import type { SignedRequest } from './wire/sigv4.js';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const SECRET = 'secret';

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

interface Change {
  readonly accessKey?: string;
  readonly secret?: string;
  readonly service?: string;
  readonly region?: string;
  readonly at?: number;
  readonly expires?: string;
}

/** A request signed by hand. */
function signed(change: Change = {}): SignedRequest {
  const { accessKey = 'AK', secret = SECRET, service = 'sqs', region = 'r', at = NOW, expires } = change;
  const time = new Date(at).toISOString().replace(/[-:]|\.000/g, '');
  const date = time.slice(0, 8);
  const scope = `${date}/${region}/${service}/aws4_request`;
  const query =
    expires === undefined
      ? ''
      : `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encodeURIComponent(`${accessKey}/${scope}`)}` +
        `&X-Amz-Date=${time}&X-Amz-Expires=${expires}&X-Amz-SignedHeaders=host`;
  const names = expires === undefined ? 'host;x-amz-date' : 'host';
  const headerLines = expires === undefined ? `host:h\nx-amz-date:${time}\n` : 'host:h\n';
  const canonical = `POST\n/\n${query}\n${headerLines}\n${names}\n${hash('sha256', '', 'hex')}`;
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), 'aws4_request');
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical, 'hex')}`;
  const signature = hmac(key, text).toString('hex');
  const headers = new Map([['host', 'h']]);
  if (expires === undefined) {
    headers.set('x-amz-date', time);
    headers.set(
      'authorization',
      `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    );
  }
  return {
    method: 'POST',
    url: query === '' ? '/' : `/?${query}&X-Amz-Signature=${signature}`,
    body: Buffer.alloc(0),
    joined: (name) => headers.get(name),
  };
}

function authentication(): Authentication {
  const credentials = [
    { accessKeyId: 'AK', secretAccessKey: SECRET },
    { accessKeyId: 'BK', secretAccessKey: 'other' },
  ];
  return new Authentication(credentials, new ManualClock(NOW));
}

function codeOf(request: SignedRequest, by = authentication()): string {
  try {
    by.check(request, 'sqs');
    return 'passed';
  } catch (error) {
    if (error instanceof AwsFault) return `${error.kind.code} ${error.kind.status}`;
    throw error;
  }
}

const MINUTE_MS = 60_000;

describe('authentication', () => {
  it.each<[string, Change]>([
    ['the first credential', {}],
    ['another credential', { accessKey: 'BK', secret: 'other' }],
    ['any region', { region: 'mars-north-1' }],
    ['a clock 15 minutes behind', { at: NOW - 15 * MINUTE_MS }],
    ['a clock 15 minutes ahead', { at: NOW + 15 * MINUTE_MS }],
    ['a URL that lives still', { at: NOW - 60 * MINUTE_MS, expires: '3600' }],
  ])('passes %s', (_, change) => {
    expect(codeOf(signed(change))).toBe('passed');
  });

  it.each<[string, Change, string]>([
    ['an unknown access key', { accessKey: 'CK' }, 'InvalidClientTokenId 403'],
    ['a wrong secret', { secret: 'wrong' }, 'SignatureDoesNotMatch 403'],
    ["another credential's secret", { secret: 'other' }, 'SignatureDoesNotMatch 403'],
    ['another service', { service: 's3' }, 'SignatureDoesNotMatch 403'],
    ['a clock far behind', { at: NOW - 15 * MINUTE_MS - 1_000 }, 'SignatureDoesNotMatch 403'],
    ['a clock far ahead', { at: NOW + 15 * MINUTE_MS + 1_000 }, 'SignatureDoesNotMatch 403'],
    ['a URL of the past', { at: NOW - 61 * MINUTE_MS, expires: '3600' }, 'SignatureDoesNotMatch 403'],
    ['a URL of the future', { at: NOW + 16 * MINUTE_MS, expires: '3600' }, 'SignatureDoesNotMatch 403'],
    ['a URL without an end', { expires: '604801' }, 'IncompleteSignature 400'],
  ])('refuses %s', (_, change, code) => {
    expect(codeOf(signed(change))).toBe(code);
  });

  it('refuses what is not signed, or by half', () => {
    const bare = { ...signed(), joined: () => undefined };
    expect(codeOf(bare)).toBe('MissingAuthenticationToken 403');
    const half = {
      ...signed(),
      joined: (name: string) => (name === 'authorization' ? 'AWS4-HMAC-SHA256 x' : undefined),
    };
    expect(codeOf(half)).toBe('IncompleteSignature 400');
  });

  it('keeps a bounded number of signing keys, and none of a stranger', () => {
    const by = authentication();
    for (let i = 0; i < 1_200; i++) expect(codeOf(signed({ region: `r${i}` }), by)).toBe('passed');
    expect(by.keptKeys).toBe(1_000);
    const other = authentication();
    codeOf(signed({ accessKey: 'CK' }), other);
    expect(other.keptKeys).toBe(0);
    expect(codeOf(signed({ region: 'r'.repeat(300) }), other)).toBe('passed');
    expect(other.keptKeys).toBe(0);
  });

  it('asks nothing of anybody when there are no credentials', () => {
    expect(new Authentication([], new ManualClock(NOW)).required).toBe(false);
  });
});
