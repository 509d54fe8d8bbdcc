import type { Client } from '../../core/access/gatekeeper.js';
import type { Access, ResourceKind } from '../../core/access/resource.js';
import type { ChannelName } from '../../core/channel-name.js';

/** `sight`: any right to it will do. `open`: it names nothing, or filters what it shows. */
type Needed = Access | 'sight' | 'open';

/** What each method needs on the resources its request names. A method that is not here needs `write` on all of them. */
const NEEDS: Readonly<Record<string, Needed>> = {
  acknowledge: 'read',
  createSubscription: 'write',
  getIamPolicy: 'sight',
  getSchema: 'sight',
  getSnapshot: 'sight',
  getSubscription: 'sight',
  getTopic: 'sight',
  listSchemaRevisions: 'sight',
  listSchemas: 'open',
  listSnapshots: 'open',
  listSubscriptions: 'open',
  listTopicSnapshots: 'sight',
  listTopicSubscriptions: 'sight',
  listTopics: 'open',
  modifyAckDeadline: 'read',
  pull: 'read',
  seek: 'read',
  streamingPull: 'read',
  // It says itself what its caller may do.
  testIamPermissions: 'open',
  validateMessage: 'sight',
  validateSchema: 'open',
};

/** Places that need less or more than the method's other ones. */
const PLACE_NEEDS: Readonly<Record<string, Readonly<Record<string, Needed>>>> = {
  createSnapshot: { subscription: 'read' },
  // Who subscribes reads the topic, and may later read what was published to it.
  createSubscription: { topic: 'read' },
  createTopic: { schema: 'sight' },
  seek: { snapshot: 'sight' },
  // What cannot be changed is not looked at.
  updateSnapshot: { topic: 'open' },
  updateSubscription: { topic: 'open' },
  updateTopic: { schema: 'sight' },
};

/** Collection in a resource name, and what rules call its members. Snapshots and schemas have no channel. */
const RESOURCES: Readonly<Record<string, { readonly kind: ResourceKind; readonly prefix: string }>> = {
  topics: { kind: 'log', prefix: 'gcp.' },
  subscriptions: { kind: 'queue', prefix: 'gcp.sub.' },
  snapshots: { kind: 'queue', prefix: 'gcp.snapshot.' },
  schemas: { kind: 'log', prefix: 'gcp.schema.' },
};

const RESOURCE_NAME = /^projects\/[^/]+\/(topics|subscriptions|snapshots|schemas)\/([^/@]+)/;

/** Throws AccessDenied unless the client may ask for this. Names that are no good are left to the operation. */
export function requireAccess(client: Client, method: string, request: unknown): void {
  const needed = NEEDS[method] ?? 'write';
  const places = PLACE_NEEDS[method];
  for (const [place, name] of namesIn(request)) requireOne(client, places?.[place] ?? needed, name);
  // What nobody could deliver is published there, without asking again.
  const letters = deadLetterTopicOf(request);
  if (letters !== undefined) requireOne(client, 'write', letters);
}

/** Whether the client may know of the resource. */
export function sees(client: Client, name: string): boolean {
  const resource = resourceOf(name);
  return resource === undefined || client.sees(resource.kind, resource.channel);
}

/** Whether the client may do that with the resource. */
export function may(client: Client, access: Access, name: string): boolean {
  const resource = resourceOf(name);
  return resource === undefined || client.may({ ...resource, access });
}

function requireOne(client: Client, needed: Needed, name: string): void {
  const resource = resourceOf(name);
  if (resource === undefined || needed === 'open') return;
  const { kind, channel } = resource;
  if (needed !== 'sight') client.require(kind, needed, channel);
  else if (!client.sees(kind, channel)) client.require(kind, 'read', channel);
}

function resourceOf(
  name: string,
): { readonly kind: ResourceKind; readonly channel: ChannelName } | undefined {
  const [, collection = '', id = ''] = RESOURCE_NAME.exec(name) ?? [];
  const resource = RESOURCES[collection];
  return resource === undefined
    ? undefined
    : { kind: resource.kind, channel: (resource.prefix + id) as ChannelName };
}

const PLACES = ['name', 'topic', 'subscription', 'snapshot', 'schema', 'schemaSettings', 'resource'] as const;

/** The resource names in a request, with the fields they stand in; those of a resource that is given whole, too. */
function namesIn(request: unknown): readonly (readonly [place: string, name: string])[] {
  const fields = (request ?? {}) as Readonly<Record<string, unknown>>;
  const names: (readonly [string, string])[] = [];
  for (const place of PLACES) {
    const value = fields[place];
    if (typeof value === 'string') names.push([place, value]);
    else if (typeof value === 'object' && value !== null) names.push(...namesIn(value));
  }
  for (const value of Object.values(fields)) names.push(...chosenName(value));
  // A schema that is created has its id beside it.
  const { parent, schemaId } = fields;
  if (typeof parent === 'string' && typeof schemaId === 'string')
    names.push(['schema', `${parent}/schemas/${schemaId}`]);
  return names;
}

/** A name that is one choice of several (oneof). */
function chosenName(value: unknown): readonly (readonly [place: string, name: string])[] {
  if (typeof value !== 'object' || value === null || !('case' in value) || !('value' in value)) return [];
  const place = PLACES.find((one) => one === value.case);
  return place === undefined || typeof value.value !== 'string' ? [] : [[place, value.value]];
}

function deadLetterTopicOf(request: unknown): string | undefined {
  const fields = (request ?? {}) as Readonly<Record<string, unknown>>;
  const whole = (typeof fields['subscription'] === 'object' ? fields['subscription'] : fields) as Readonly<
    Record<string, unknown>
  > | null;
  const policy = whole?.['deadLetterPolicy'] as Readonly<Record<string, unknown>> | undefined;
  const topic = policy?.['deadLetterTopic'];
  return typeof topic === 'string' && topic !== '' ? topic : undefined;
}
