import { describe, expect, it } from 'vitest';
import { BrokerError } from '../../core/errors.js';
import type { ErrorKind } from '../../core/errors.js';
import { faultOf } from './errors.js';
import type { Service } from './errors.js';
import { AwsFault } from './wire/fault.js';

describe('what a kind of the core says on the wire', () => {
  it.each<[Service, ErrorKind, string, number]>([
    ['sqs', 'not-found', 'AWS.SimpleQueueService.NonExistentQueue', 400],
    ['sqs', 'already-exists', 'QueueAlreadyExists', 400],
    ['sqs', 'invalid-argument', 'InvalidParameterValue', 400],
    ['sqs', 'precondition', 'ServiceUnavailable', 503],
    ['sqs', 'lease-lost', 'ReceiptHandleIsInvalid', 400],
    ['sqs', 'limit', 'OverLimit', 403],
    ['sqs', 'forbidden', 'AccessDenied', 403],
    ['sqs', 'unauthenticated', 'InvalidClientTokenId', 403],
    ['sqs', 'unavailable', 'ServiceUnavailable', 503],
    ['sqs', 'draining', 'ServiceUnavailable', 503],
    ['sqs', 'internal', 'InternalFailure', 500],
    ['sns', 'not-found', 'NotFound', 404],
    ['sns', 'already-exists', 'InvalidParameter', 400],
    ['sns', 'invalid-argument', 'InvalidParameter', 400],
    ['sns', 'precondition', 'ServiceUnavailable', 503],
    ['sns', 'lease-lost', 'InvalidParameter', 400],
    ['sns', 'limit', 'Throttled', 429],
    ['sns', 'forbidden', 'AuthorizationError', 403],
    ['sns', 'unauthenticated', 'InvalidClientTokenId', 403],
    ['sns', 'unavailable', 'ServiceUnavailable', 503],
    ['sns', 'draining', 'ServiceUnavailable', 503],
    ['sns', 'internal', 'InternalError', 500],
  ])('%s %s: %s, %i', (service, kind, code, status) => {
    const fault = faultOf(service, new BrokerError(kind, 'why'));
    expect([fault.kind.code, fault.kind.status]).toEqual([code, status]);
  });

  it('hides what went wrong inside', () => {
    const fault = faultOf('sqs', new Error('secret path'));
    expect(fault.kind.code).toBe('InternalFailure');
    expect(fault.message).not.toContain('secret');
  });

  it('passes faults through and says the missing queue in both protocols', () => {
    const fault = faultOf('sqs', new BrokerError('not-found', 'x'));
    expect(fault.message).toBe('The specified queue does not exist.');
    expect(fault.queryMessage).toBe('The specified queue does not exist for this wsdl version.');
    const own = new AwsFault(fault.kind, 'mine');
    expect(faultOf('sns', own)).toBe(own);
  });
});
