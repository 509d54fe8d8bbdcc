import { status } from '../../kit/grpc-status.js';
import { invalidArgument, StatusError } from '../errors.js';
import { masked } from '../field-mask.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { SetIamPolicyRequest } from '../wire/gen/google/iam/v1/iam_policy_pb.js';
import { PolicySchema, type Policy } from '../wire/gen/google/iam/v1/policy_pb.js';
import { policyKey, policyOf, storePolicy } from './policies.js';

const VERSIONS: ReadonlySet<number> = new Set([0, 1, 3]);
const RULE = {
  request: 'SetIamPolicyRequest',
  mutable: new Set(['bindings', 'etag', 'version', 'audit_configs']),
};

/**
 * Keeps a policy on a resource, to be read back: who may do what is decided by the server's own access rules. A policy that
 * carries the etag of another than the present one is refused with ABORTED.
 */
export function setIamPolicy({ broker }: GcpServices): Operation<SetIamPolicyRequest, Policy> {
  return async ({ resource, policy, updateMask }) => {
    const key = policyKey(broker, resource);
    if (policy === undefined) throw invalidArgument('The SetIamPolicyRequest must have a policy.');
    if (!VERSIONS.has(policy.version)) {
      throw invalidArgument(
        `Invalid policy version given (version=${policy.version}). It must be 0, 1 or 3.`,
      );
    }
    const present = policyOf(broker, key);
    if (policy.etag.length > 0 && Buffer.compare(policy.etag, present.policy.etag) !== 0) {
      throw new StatusError(
        status.ABORTED,
        'There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.',
      );
    }
    const wanted =
      updateMask === undefined
        ? policy
        : masked(PolicySchema, { current: present.policy, patch: policy }, updateMask, RULE);
    return storePolicy(broker, key, { policy: wanted, version: present.version });
  };
}
