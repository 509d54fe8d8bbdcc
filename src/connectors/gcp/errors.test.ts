import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { BrokerError, type ErrorKind } from '../../core/errors.js';
import { GCP_STATUS, statusOf, STREAM_CLOSED, StatusError } from './errors.js';

describe('errors', () => {
  const rows: [ErrorKind, status][] = [
    ['not-found', status.NOT_FOUND],
    ['already-exists', status.ALREADY_EXISTS],
    ['invalid-argument', status.INVALID_ARGUMENT],
    ['precondition', status.FAILED_PRECONDITION],
    ['lease-lost', status.FAILED_PRECONDITION],
    ['limit', status.RESOURCE_EXHAUSTED],
    ['forbidden', status.PERMISSION_DENIED],
    ['unauthenticated', status.UNAUTHENTICATED],
    ['unavailable', status.UNAVAILABLE],
    ['draining', status.UNAVAILABLE],
    ['internal', status.INTERNAL],
  ];

  it.each(rows)('%s is status %d', (kind, code) => {
    const { code: answered, details } = statusOf(new BrokerError(kind, 'why'));
    expect(answered).toBe(code);
    // Who a caller is, is said in Google's words.
    if (kind !== 'unauthenticated') expect(details).toBe('why');
  });

  it('know every kind', () => {
    expect(rows.map(([kind]) => kind).sort()).toEqual(Object.keys(GCP_STATUS).sort());
  });

  it('never show what went wrong inside', () => {
    expect(statusOf(new TypeError('secret path'))).toEqual({
      code: status.INTERNAL,
      details: 'internal error',
    });
  });

  it('of other codes pass', () => {
    expect(statusOf(new StatusError(status.ABORTED, 'again')).code).toBe(status.ABORTED);
  });

  it('that close a stream on purpose say both sentences clients look for', () => {
    const { code, details } = statusOf(STREAM_CLOSED);
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain(
      'The StreamingPull stream closed for an expected reason and should be recreated',
    );
    expect(details).toContain('the stream has been closed');
  });
});
