import { create } from '@bufbuild/protobuf';
import { may, sees } from '../access.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import {
  TestIamPermissionsResponseSchema,
  type TestIamPermissionsRequest,
  type TestIamPermissionsResponse,
} from '../wire/gen/google/iam/v1/iam_policy_pb.js';
import { meaningOf } from './permissions.js';
import { policyKey } from './policies.js';

/**
 * Which of the permissions the caller has: by the server's own access rules; all, where there are none. Policies of resources are
 * kept, not enforced. Of what its caller may not know of it says nothing, as Google's, be it there or not.
 */
export function testIamPermissions({
  broker,
  client,
}: GcpServices): Operation<TestIamPermissionsRequest, TestIamPermissionsResponse> {
  return ({ resource, permissions }) => {
    if (client !== undefined && !sees(client, resource)) return create(TestIamPermissionsResponseSchema);
    const [collection = ''] = policyKey(broker, resource).split('/');
    if (client === undefined) return create(TestIamPermissionsResponseSchema, { permissions });
    return create(TestIamPermissionsResponseSchema, {
      permissions: permissions.filter((permission) => {
        const meaning = meaningOf(collection, permission);
        return meaning === 'sight' || (meaning !== undefined && may(client, meaning, resource));
      }),
    });
  };
}
