import {
  create,
  ScalarType,
  toBinary,
  toJson,
  type DescField,
  type DescMessage,
  type DescMethod,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { REST_ROUTES } from '../../../src/connectors/gcp/rest/routes.js';
import { IAMPolicy } from '../../../src/connectors/gcp/wire/gen/google/iam/v1/iam_policy_pb.js';
import { Publisher, Subscriber } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { SchemaService } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/schema_pb.js';
import { MessageTransformService } from '../../../src/connectors/gcp/wire/gen/polymq/pubsub/v1/message_transforms_pb.js';
import type { Random } from '../../support/random.js';

/** Requests of every method, made from its descriptor: values that pass, nearly pass, or mean something else elsewhere; then bent. */

const PROJECT = 'projects/p';
/** Of these there is one each in every collection when the server is new. */
export const IDS = ['aaa', 'bbb'];
const BAD_IDS = ['ccc', 'a', 'goog-x', 'sub.x', 'a.k.b', 'x'.repeat(256), 'a b', ''];
const DEPTH_MAX = 3;
const INT32_MAX = 2 ** 31 - 1;

const pick = <T>(random: Random, from: readonly T[]): T => from[random.below(from.length)] as T;

/** Values that pass, and values that do not or mean something else. */
type Pool = readonly [good: readonly string[], bad: readonly string[]];

function namesOf(collection: string): Pool {
  const named = (id: string): string => `${PROJECT}/${collection}/${id}`;
  return [IDS.map(named), [...BAD_IDS.map(named), '_deleted-topic_', collection, '//', 'ü']];
}
const TOPICS = namesOf('topics');
const SUBSCRIPTIONS = namesOf('subscriptions');
const SNAPSHOTS = namesOf('snapshots');
const SCHEMAS = namesOf('schemas');
const COLLECTIONS = [TOPICS, SUBSCRIPTIONS, SNAPSHOTS, SCHEMAS];
const ANY: Pool = [COLLECTIONS.flatMap(([good]) => good), COLLECTIONS.flatMap(([, bad]) => bad)];
const PROJECTS: Pool = [[PROJECT], ANY[1]];
const REVISIONS: Pool = [[''], ['deadbeef', 'x']];

/** Of strings, by the name of their field. */
const TEXTS: Readonly<Record<string, Pool>> = {
  topic: TOPICS,
  subscription: SUBSCRIPTIONS,
  snapshot: SNAPSHOTS,
  schema: SCHEMAS,
  parent: PROJECTS,
  project: PROJECTS,
  resource: ANY,
  dead_letter_topic: TOPICS,
  filter: [
    ['', 'attributes:a', 'attributes.a = "b"', 'NOT hasPrefix(attributes.a, "b") AND attributes:c'],
    ['attributes', '(((', 'a"b', '-'.repeat(300), 'attributes:a AND attributes:b OR attributes:c'],
  ],
  definition: [
    [
      '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}',
      'syntax = "proto3"; message M { string a = 1; repeated M b = 2; }',
    ],
    [
      '{"type":"record","name":"R","fields":[{"name":"a","type":["null","R"]}]}',
      'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp t = 1; }',
      ...['message M {', '[]', '{"type":"array","items":"null"}', '{', ''],
    ],
  ],
  // Nobody is called: the one that is taken has no listener.
  push_endpoint: [
    ['', '', '', 'http://127.0.0.1:9/x'],
    ['ftp://x', 'http://example.com/', 'x'],
  ],
  page_token: [[''], ['x', 'AAAA', '9'.repeat(40)]],
  revision_id: REVISIONS,
  first_revision_id: REVISIONS,
  last_revision_id: REVISIONS,
  schema_id: [IDS, BAD_IDS],
  ordering_key: [
    ['', '', 'k'],
    ['k%/ü', 'k'.repeat(2000)],
  ],
  function_name: [['f'], ['g', '', 'a b']],
  code: [['function f(m) { return m; }'], ['function f() { throw 1; }', 'function (', '']],
  paths: [
    ['labels', 'labels', 'labels', 'ack_deadline_seconds', 'expire_time'],
    ['filter', 'nothing', ''],
  ],
  permissions: [
    ['pubsub.topics.publish', 'pubsub.subscriptions.consume'],
    ['*', 'x'],
  ],
};
const OTHERS: Pool = [
  ['', 'a'],
  ['ü😀', 'x'.repeat(300), '\u0000', PROJECT],
];
const KEYS: Pool = [
  ['a', 'b'],
  ['', 'goog', 'x'.repeat(257)],
];
const NUMBERS: readonly [good: readonly number[], bad: readonly number[]] = [
  [1, 5, 100],
  [0, 1000, -1, INT32_MAX],
];
const DEADLINES: typeof NUMBERS = [
  [10, 60, 600, 0],
  [9, 601, -1],
];
/** Durations, and times soon after 1970. */
const SECONDS: typeof NUMBERS = [
  [60, 600, 86_400, 700_000],
  [0, 1, 4_000_000, 4_000_000_000, 300_000_000_000],
];

/** Ids of deliveries of the first subscription. */
export class AckIds {
  /** The newest. */
  ids: readonly string[] = [];

  one({ random, wild }: Generator): string {
    const id = this.ids.length === 0 ? 'x' : pick(random, this.ids);
    if (!wild || random.chance(0.7)) return id;
    return damaged(random, Buffer.from(id))
      .toString('latin1')
      .replace(/[^\x20-\x7e]/g, '_');
  }
}

interface Generator {
  readonly random: Random;
  readonly ackIds: AckIds;
  /** Some of its values are of the bad ones. */
  readonly wild: boolean;
}

function valueOf<T>(pool: readonly [good: readonly T[], bad: readonly T[]], { random, wild }: Generator): T {
  return pick(random, pool[wild && random.chance(0.3) ? 1 : 0]);
}

function text(field: DescField, generator: Generator): string {
  if (field.name === 'ack_id' || field.name === 'ack_ids' || field.name === 'modify_deadline_ack_ids') {
    return generator.ackIds.one(generator);
  }
  // A resource's own name: which collection it is of is said by its type.
  if (field.name === 'name') {
    const { Topic, Subscription, Snapshot } = {
      Topic: TOPICS,
      Subscription: SUBSCRIPTIONS,
      Snapshot: SNAPSHOTS,
    };
    const own =
      { Topic, Subscription, Snapshot, CreateSnapshotRequest: SNAPSHOTS }[field.parent.name] ?? SCHEMAS;
    return fresh(own, generator);
  }
  if (field.name === 'schema_id') return fresh(TEXTS['schema_id'] as Pool, generator);
  return valueOf(TEXTS[field.name] ?? OTHERS, generator);
}

/** Of a pool of names, or one that nothing has yet. */
function fresh(pool: Pool, generator: Generator): string {
  const { random } = generator;
  const known = valueOf(pool, generator);
  return random.chance(0.3) ? `${known.replace(/[^/]*$/, '')}new-${random.below(1_000_000)}` : known;
}

function scalar(field: DescField, type: ScalarType, generator: Generator): unknown {
  const { random } = generator;
  switch (type) {
    case ScalarType.STRING:
      return text(field, generator);
    case ScalarType.BYTES:
      return Buffer.from(pick(random, ['x', '{"a":"b"}', '\u0002b', 'x'.repeat(2000)]));
    case ScalarType.BOOL:
      return field.name === 'return_immediately' ? random.chance(0.9) : random.chance(0.5);
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return BigInt(valueOf(SECONDS, generator));
    case ScalarType.INT32:
      if (field.name === 'nanos') return 0;
      return valueOf(field.name.endsWith('deadline_seconds') ? DEADLINES : NUMBERS, generator);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return random.next();
    default:
      return valueOf(NUMBERS, generator);
  }
}

function one(message: DescMessage, depth: number, generator: Generator): ReflectMessage | undefined {
  return depth >= DEPTH_MAX ? undefined : reflect(message, messageOf(message, depth + 1, generator));
}

function fill(target: ReflectMessage, field: DescField, depth: number, generator: Generator): void {
  const { random } = generator;
  switch (field.fieldKind) {
    case 'scalar':
      target.set(field, scalar(field, field.scalar, generator));
      return;
    case 'enum':
      target.set(field, pick(random, field.enum.values).number);
      return;
    case 'message': {
      const value = one(field.message, depth, generator);
      if (value !== undefined) target.set(field, value);
      return;
    }
    case 'list': {
      const list = target.get(field);
      for (let left = random.below(4); left > 0; left--) {
        if (field.listKind === 'message') {
          const value = one(field.message, depth, generator);
          if (value !== undefined) list.add(value);
        } else if (field.listKind === 'enum') list.add(pick(random, field.enum.values).number);
        else list.add(scalar(field, field.scalar, generator));
      }
      return;
    }
    case 'map':
      if (field.mapKind === 'scalar') {
        const map = target.get(field);
        for (let left = random.below(3); left > 0; left--) {
          map.set(valueOf(KEYS, generator), scalar(field, field.scalar, generator));
        }
      }
  }
}

/** Fields that most requests have, so that most requests get past the first question. */
const USUAL = [
  ...['name', 'messages', 'ack_ids', 'data', 'type', 'max_messages', 'return_immediately', 'encoding'],
  ...['update_mask', 'stream_ack_deadline_seconds', 'ack_deadline_seconds', 'message'],
  ...['message_transform', 'javascript_udf'],
];

function isUsual(field: DescField): boolean {
  return TEXTS[field.name] !== undefined || USUAL.includes(field.name);
}

function messageOf(desc: DescMessage, depth: number, generator: Generator) {
  const { random } = generator;
  const message = create(desc);
  const target = reflect(desc, message);
  const isRequest = depth === 0;
  const unusual = generator.wild ? 0.15 : 0.04;
  for (const field of desc.fields) {
    const usual = isUsual(field) ? (isRequest ? 0.95 : 0.6) : unusual;
    // What a request is about is a message in it.
    const chance = isRequest && field.fieldKind === 'message' ? Math.max(usual, 0.5) : usual;
    if (random.chance(chance)) fill(target, field, depth, generator);
  }
  const subscription = desc.fields.find(({ name }) => name === 'subscription');
  const acknowledges = desc.fields.some(({ name }) => name === 'ack_ids');
  if (!generator.wild && acknowledges && subscription !== undefined)
    target.set(subscription, SUBSCRIPTIONS[0][0]);
  return message;
}

export function damaged(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let left = 1 + random.below(4); left > 0 && copy.length > 0; left--) {
    copy[random.below(copy.length)] = random.below(256);
  }
  return random.chance(0.3) ? copy.subarray(0, random.below(copy.length + 1)) : copy;
}

export const METHODS: readonly DescMethod[] = [
  Publisher,
  Subscriber,
  SchemaService,
  IAMPolicy,
  MessageTransformService,
].flatMap((service) => service.methods);

export interface GrpcInput {
  readonly method: DescMethod;
  readonly path: string;
  readonly payloads: readonly Buffer[];
}

export function grpcInput(method: DescMethod, random: Random, ackIds: AckIds): GrpcInput {
  const wild = random.chance(0.5);
  const count = method.methodKind === 'unary' ? 1 : 1 + random.below(3);
  const payloads = Array.from({ length: count }, () => {
    const bytes = Buffer.from(toBinary(method.input, messageOf(method.input, 0, { random, ackIds, wild })));
    return wild && random.chance(0.2) ? damaged(random, bytes) : bytes;
  });
  return { method, path: `/${method.parent.typeName}/${method.name}`, payloads };
}

export interface RestInput {
  readonly verb: string;
  readonly path: string;
  readonly body: Buffer | undefined;
}

export function restInput(random: Random, ackIds: AckIds): RestInput {
  const route = pick(random, REST_ROUTES);
  const method = METHODS.find(({ name, parent }) => name === route.rpc && parent.typeName === route.service);
  if (method === undefined) throw new Error(`no method is called ${route.rpc}`);
  const wild = random.chance(0.5);
  const path = route.path.replace(/\{[^=]+=([^}]+)\}/, (_, template: string) =>
    template.replaceAll('*', () => encodeURIComponent(valueOf([IDS, BAD_IDS], { random, ackIds, wild }))),
  );
  const query =
    wild && random.chance(0.2)
      ? `?${pick(random, ['pageSize=x', 'alt=json', 'updateMask=labels,x', '%', 'a=b&a=c', 'subscription.filter=x'])}`
      : '';
  if (route.body === undefined) return { verb: route.verb, path: path + query, body: undefined };
  const json = toJson(method.input, messageOf(method.input, 0, { random, ackIds, wild })) as Record<
    string,
    unknown
  >;
  const body = route.body === '*' ? json : json[route.body];
  const bytes = Buffer.from(JSON.stringify(body ?? {}));
  return {
    verb: route.verb,
    path: path + query,
    body: wild && random.chance(0.3) ? damaged(random, bytes) : bytes,
  };
}
