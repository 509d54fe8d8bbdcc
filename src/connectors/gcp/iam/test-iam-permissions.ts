import { create } from '@bufbuild/protobuf';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  TestIamPermissionsResponseSchema,
  type TestIamPermissionsRequest,
  type TestIamPermissionsResponse,
} from '../wire/gen/google/iam/v1/iam_policy_pb.js';
import { policyKey } from './policies.js';

/** Says that the caller has all the permissions it asks about: policies are kept, not enforced. */
export function testIamPermissions({
  broker,
}: GcpServices): Operation<TestIamPermissionsRequest, TestIamPermissionsResponse> {
  return ({ resource, permissions }) => {
    policyKey(broker, resource);
    return create(TestIamPermissionsResponseSchema, { permissions });
  };
}
