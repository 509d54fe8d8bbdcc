import { createHash } from 'node:crypto';
import { create, fromJson, toBinary, toJson, type JsonValue } from '@bufbuild/protobuf';
import type { Broker } from '../../../core/broker-api.js';
import type { Change } from '../../../core/registry/types.js';
import { invalidArgument } from '../errors.js';
import { POLICY_KIND, SNAPSHOT_KIND, SUBSCRIPTION_KIND, TOPIC_KIND } from '../registry/records.js';
import { missingResource, parseResourceName, type Collection } from '../resource-names.js';
import { SCHEMA_KIND } from '../schemas/records.js';
import { PolicySchema, type Policy } from '../wire/gen/google/iam/v1/policy_pb.js';

/** Registry kind of the resources of a collection, by their ids. */
const KINDS: Readonly<Record<Collection, string>> = {
  topics: TOPIC_KIND,
  subscriptions: SUBSCRIPTION_KIND,
  snapshots: SNAPSHOT_KIND,
  schemas: SCHEMA_KIND,
};

/** The etag of a policy that nobody set, as Google's. */
const EMPTY_ETAG = Buffer.from('ACAB', 'base64');

interface PolicyRecord {
  readonly policy: JsonValue;
}

/** The registry key of a resource's policy; throws `invalid-argument`, and `not-found` when there is no such resource. */
export function policyKey(broker: Broker, resource: string): string {
  const [, , kind = ''] = resource.split('/');
  if (!isCollection(kind)) throw invalidArgument(`Invalid resource name given (name=${resource}).`);
  const { id } = parseResourceName(resource, kind);
  if (broker.registry.get(KINDS[kind], id) === undefined) throw missingResource(resource, kind, id);
  return `${kind}/${id}`;
}

/** A policy that was set, or the empty one. `version`: of its registry entry. */
export function policyOf(broker: Broker, key: string): { readonly policy: Policy; readonly version: number } {
  const entry = broker.registry.get<PolicyRecord>(POLICY_KIND, key);
  if (entry === undefined) return { policy: create(PolicySchema, { etag: EMPTY_ETAG }), version: 0 };
  const policy = fromJson(PolicySchema, entry.value.policy, { ignoreUnknownFields: true });
  return { policy, version: entry.version };
}

/** Stores a policy in place of `version`; gives it with its new etag. */
export async function storePolicy(
  broker: Broker,
  key: string,
  { policy, version }: { readonly policy: Policy; readonly version: number },
): Promise<Policy> {
  const content = toBinary(PolicySchema, { ...policy, etag: new Uint8Array() });
  const etag = createHash('sha256')
    .update(content)
    .update(`\n${version + 1}`)
    .digest()
    .subarray(0, 8);
  const stored: Policy = { ...policy, etag };
  const value: PolicyRecord = { policy: toJson(PolicySchema, stored) };
  await broker.change([{ do: 'put', kind: POLICY_KIND, key, value, expected: version }]);
  return stored;
}

/** The change that takes a resource's policy with it. */
export function forgetPolicy(broker: Broker, collection: Collection, id: string): Change[] {
  const key = `${collection}/${id}`;
  return broker.registry.get(POLICY_KIND, key) === undefined
    ? []
    : [{ do: 'remove', kind: POLICY_KIND, key }];
}

function isCollection(kind: string): kind is Collection {
  return Object.hasOwn(KINDS, kind);
}
