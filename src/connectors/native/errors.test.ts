import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { BrokerError, type ErrorKind } from '../../core/errors.js';
import { TEXTS } from './error-texts.js';
import { CallFault, NATIVE_STATUS, nativeStatus, nativeText } from './errors.js';

describe('errors of the native API', () => {
  it.each<[ErrorKind, status, string]>([
    ['not-found', status.NOT_FOUND, 'why'],
    ['already-exists', status.ALREADY_EXISTS, 'why'],
    ['invalid-argument', status.INTERNAL, 'why'],
    ['precondition', status.FAILED_PRECONDITION, 'why'],
    ['lease-lost', status.FAILED_PRECONDITION, 'why'],
    ['limit', status.RESOURCE_EXHAUSTED, 'why'],
    ['forbidden', status.PERMISSION_DENIED, 'why'],
    ['unauthenticated', status.UNAUTHENTICATED, TEXTS.unauthenticated],
    ['unavailable', status.UNAVAILABLE, 'why'],
    ['draining', status.UNAVAILABLE, TEXTS.shutdown],
    ['internal', status.INTERNAL, 'why'],
  ])('%s', (kind, code, details) => {
    expect(nativeStatus(new BrokerError(kind, 'why'))).toMatchObject({ code, details });
  });

  it('has a row for every kind', () => {
    expect(Object.keys(NATIVE_STATUS)).toHaveLength(11);
  });

  it('says bad input in the words of the contract', () => {
    expect(nativeStatus(CallFault.input(TEXTS.clientId))).toMatchObject({
      code: status.INTERNAL,
      details: 'Error 101: invalid clientID value, cannot be empty',
    });
  });

  it('keeps what really happened to itself', () => {
    expect(nativeText(new Error('/secret/path: EIO'))).toBe('internal error');
  });
});
