import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { GetIamPolicyRequest } from '../wire/gen/google/iam/v1/iam_policy_pb.js';
import type { Policy } from '../wire/gen/google/iam/v1/policy_pb.js';
import { policyKey, policyOf } from './policies.js';

/** The policy that was set on a resource, or an empty one. */
export function getIamPolicy({ broker }: GcpServices): Operation<GetIamPolicyRequest, Policy> {
  return (request) => policyOf(broker, policyKey(broker, request.resource)).policy;
}
