import {
  create,
  fromJson,
  toJson,
  type DescMessage,
  type JsonObject,
  type JsonValue,
} from '@bufbuild/protobuf';
import { FieldMaskSchema, type FieldMask } from '@bufbuild/protobuf/wkt';
import { createTopic } from '../publisher/create-topic.js';
import { updateTopic } from '../publisher/update-topic.js';
import { parseResourceName, resourceName, type Collection } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import { createSubscription } from '../subscriber/create-subscription.js';
import { updateSubscription } from '../subscriber/update-subscription.js';
import type { CallEvents } from '../unary.js';
import {
  SubscriptionSchema,
  TopicSchema,
  UpdateSubscriptionRequestSchema,
  UpdateTopicRequestSchema,
} from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** Of names that are only an id. Projects are not told apart. */
const PROJECT = 'polymq';

/** Nobody who could give up. */
const NO_CALL: CallEvents = { on: () => undefined };

type Declared = Readonly<Record<string, JsonValue>> & { readonly name: string };
type DeclaredSubscription = Declared & { readonly topic: string };

/**
 * Makes the topics and subscriptions that are missing, and sets what differs from the configuration. Throws an Error that
 * names the place.
 */
export async function declareResources(
  services: GcpServices,
  {
    topics,
    subscriptions,
  }: { readonly topics: readonly Declared[]; readonly subscriptions: readonly DeclaredSubscription[] },
): Promise<void> {
  for (const [i, one] of topics.entries()) {
    await declaring(`topics[${i}]`, one, () => declareTopic(services, one));
  }
  for (const [i, one] of subscriptions.entries()) {
    await declaring(`subscriptions[${i}]`, one, () => declareSubscription(services, one));
  }
}

async function declaring(place: string, { name }: Declared, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`connectors.pubSub.${place} (${name}): ${why}`, { cause: error });
  }
}

async function declareTopic(services: GcpServices, declared: Declared): Promise<void> {
  const json = { ...declared, name: fullName(declared.name, 'topics') };
  const topic = fromJson(TopicSchema, json);
  const known = services.catalog.topic(parseResourceName(json.name, 'topics').id);
  if (known === undefined) {
    await createTopic(services)(topic, NO_CALL);
    return;
  }
  const updateMask = differing(TopicSchema, json, toJson(TopicSchema, known.resource) as JsonObject);
  if (updateMask === undefined) return;
  await updateTopic(services)(create(UpdateTopicRequestSchema, { topic, updateMask }), NO_CALL);
}

async function declareSubscription(services: GcpServices, declared: DeclaredSubscription): Promise<void> {
  const json = {
    ...declared,
    name: fullName(declared.name, 'subscriptions'),
    topic: fullName(declared.topic, 'topics'),
  };
  const subscription = fromJson(SubscriptionSchema, json);
  const known = services.catalog.subscription(parseResourceName(json.name, 'subscriptions').id);
  if (known === undefined) {
    await createSubscription(services)(subscription, NO_CALL);
    return;
  }
  const current = toJson(SubscriptionSchema, known.resource) as JsonObject;
  const updateMask = differing(SubscriptionSchema, json, current);
  if (updateMask === undefined) return;
  const request = create(UpdateSubscriptionRequestSchema, { subscription, updateMask });
  await updateSubscription(services)(request, NO_CALL);
}

function fullName(name: string, collection: Collection): string {
  return name.includes('/') ? name : resourceName(PROJECT, collection, name);
}

/** The fields that are declared and are not as declared; undefined when there are none. */
function differing(schema: DescMessage, declared: Declared, current: JsonObject): FieldMask | undefined {
  // Read and written once, a declared value has the form that current ones have.
  const wanted = toJson(schema, fromJson(schema, declared as JsonObject)) as JsonObject;
  const paths: string[] = [];
  for (const { name, jsonName } of schema.fields) {
    // Projects are not told apart, so a name differs only by its end.
    const isNamed = jsonName in declared || name in declared;
    if (isNamed && !isSame(endOf(jsonName, wanted[jsonName]), endOf(jsonName, current[jsonName])))
      paths.push(name);
  }
  return paths.length === 0 ? undefined : create(FieldMaskSchema, { paths });
}

function endOf(field: string, value: JsonValue | undefined): JsonValue | undefined {
  return (field === 'name' || field === 'topic') && typeof value === 'string'
    ? value.split('/').pop()
    : value;
}

function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  const [left, right] = [a as JsonObject, b as JsonObject];
  return [...keys].every((key) => isSame(left[key], right[key]));
}
