import type { GcpServices } from '../services.js';
import type { Operations } from '../unary.js';
import { getIamPolicy } from './get-iam-policy.js';
import { setIamPolicy } from './set-iam-policy.js';
import { testIamPermissions } from './test-iam-permissions.js';

/** google.iam.v1.IAMPolicy. */
export function iamOperations(services: GcpServices): Operations {
  return {
    getIamPolicy: getIamPolicy(services),
    setIamPolicy: setIamPolicy(services),
    testIamPermissions: testIamPermissions(services),
  };
}
