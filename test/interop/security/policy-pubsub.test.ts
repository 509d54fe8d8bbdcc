import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { REST_ROUTES } from '../../../src/connectors/gcp/rest/routes.js';
import {
  right,
  testCases,
  testComplete,
  useRuledServer,
  type PolicyCase,
  type Right,
} from './policy-cases.js';
import * as calls from './pubsub-calls.js';

const TEXT = 'User not authorized to perform this action.';
const server = useRuledServer();
afterAll(() => calls.closeChannel());
const grpc = (name: string, request: JsonObject) => calls.grpc(server().running, name, request);
const rest = (name: string, request: JsonObject) => calls.rest(server().running, name, request);

const PROJECT = 'projects/p';
const topicName = (id: string): string => `${PROJECT}/topics/${id}-row`;
const subscriptionName = (id: string): string => `${PROJECT}/subscriptions/${id}-row`;
const snapshotName = (id: string): string => `${PROJECT}/snapshots/${id}-row`;
const schemaName = (id: string): string => `${PROJECT}/schemas/${id}-row`;

const quiet = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => undefined,
    () => undefined,
  );
const AVRO = JSON.stringify({ type: 'record', name: 'R', fields: [{ name: 'a', type: 'int' }] });
const makeTopic = (id: string): Promise<void> => quiet(rest('CreateTopic', { name: topicName(id) }));
async function makeSubscription(id: string, topic = id): Promise<void> {
  await makeTopic(topic);
  await quiet(rest('CreateSubscription', { name: subscriptionName(id), topic: topicName(topic) }));
}
async function makeSnapshot(id: string): Promise<void> {
  await makeSubscription(id);
  await quiet(rest('CreateSnapshot', { name: snapshotName(id), subscription: subscriptionName(id) }));
}
const schemaOf = (id: string): JsonObject => ({ name: schemaName(id), type: 'AVRO', definition: AVRO });
const makeSchema = (id: string): Promise<void> =>
  quiet(rest('CreateSchema', { parent: PROJECT, schemaId: `${id}-row`, schema: schemaOf(id) }));

const topic = (id: string, access: Right['access']): Right => right('EventsStore', access, `gcp.${id}-row`);
const subscription = (id: string, access: Right['access']): Right =>
  right('Queues', access, `gcp.sub.${id}-row`);
const snapshot = (id: string, access: Right['access']): Right =>
  right('Queues', access, `gcp.snapshot.${id}-row`);
const schema = (id: string, access: Right['access']): Right =>
  right('EventsStore', access, `gcp.schema.${id}-row`);

interface Row {
  readonly rpc: string;
  readonly needs: readonly Right[];
  readonly request: () => JsonObject;
  readonly prepare?: () => Promise<unknown>;
  readonly what?: string;
}

const TOPIC = topicName('t');
const SUBSCRIPTION = subscriptionName('s');
const SNAPSHOT = snapshotName('n');
const SCHEMA = schemaName('c');
const withTopic = (): Promise<void> => makeTopic('t');
const withSubscription = (): Promise<void> => makeSubscription('s', 't');
const withSchema = (): Promise<void> => makeSchema('c');
let ackId = '';
async function withMessage(): Promise<void> {
  await withSubscription();
  await rest('Publish', { topic: TOPIC, messages: [{ data: 'eA==' }] });
  const { receivedMessages } = await rest('Pull', { subscription: SUBSCRIPTION, maxMessages: 1 });
  ackId = (receivedMessages as unknown as readonly { readonly ackId: string }[])[0]?.ackId ?? '';
}
let revision = '';
async function withRevisions(): Promise<void> {
  await makeSchema('r');
  const definition = JSON.stringify({ ...JSON.parse(AVRO), doc: String(Math.random()) });
  const committed = await rest('CommitSchema', {
    name: schemaName('r'),
    schema: { ...schemaOf('r'), definition },
  });
  revision = committed['revisionId'] as string;
}

const ROWS: readonly Row[] = [
  {
    rpc: 'CreateTopic',
    needs: [topic('t', 'Write')],
    prepare: () => quiet(rest('DeleteTopic', { topic: TOPIC })),
    request: () => ({ name: TOPIC }),
  },
  {
    rpc: 'CreateTopic',
    what: 'with a schema',
    needs: [topic('typed', 'Write'), schema('c', 'Sight')],
    prepare: async () => {
      await withSchema();
      await quiet(rest('DeleteTopic', { topic: topicName('typed') }));
    },
    request: () => ({ name: topicName('typed'), schemaSettings: { schema: SCHEMA, encoding: 'JSON' } }),
  },
  {
    rpc: 'UpdateTopic',
    needs: [topic('u', 'Write')],
    prepare: () => makeTopic('u'),
    request: () => ({ topic: { name: topicName('u'), labels: { a: 'b' } }, updateMask: 'labels' }),
  },
  {
    rpc: 'Publish',
    needs: [topic('u', 'Write')],
    prepare: () => makeTopic('u'),
    request: () => ({ topic: topicName('u'), messages: [{ data: 'eA==' }] }),
  },
  {
    rpc: 'GetTopic',
    needs: [topic('u', 'Sight')],
    prepare: () => makeTopic('u'),
    request: () => ({ topic: topicName('u') }),
  },
  { rpc: 'ListTopics', needs: [], request: () => ({ project: PROJECT }) },
  {
    rpc: 'ListTopicSubscriptions',
    needs: [topic('u', 'Sight')],
    prepare: () => makeTopic('u'),
    request: () => ({ topic: topicName('u') }),
  },
  {
    rpc: 'ListTopicSnapshots',
    needs: [topic('u', 'Sight')],
    prepare: () => makeTopic('u'),
    request: () => ({ topic: topicName('u') }),
  },
  {
    rpc: 'DeleteTopic',
    needs: [topic('d', 'Write')],
    prepare: () => makeTopic('d'),
    request: () => ({ topic: topicName('d') }),
  },
  {
    rpc: 'DeleteTopic',
    what: 'with a subscription',
    needs: [topic('d', 'Write')],
    prepare: async () => {
      await makeTopic('d');
      await quiet(rest('DeleteSubscription', { subscription: subscriptionName('d') }));
      await makeSubscription('d');
    },
    request: () => ({ topic: topicName('d') }),
  },
  {
    rpc: 'DetachSubscription',
    needs: [subscription('detached', 'Write')],
    prepare: async () => {
      await quiet(rest('DeleteSubscription', { subscription: subscriptionName('detached') }));
      await makeSubscription('detached');
    },
    request: () => ({ subscription: subscriptionName('detached') }),
  },
  {
    rpc: 'CreateSubscription',
    needs: [topic('t', 'Read'), subscription('s', 'Write')],
    prepare: async () => {
      await withTopic();
      await quiet(rest('DeleteSubscription', { subscription: SUBSCRIPTION }));
    },
    request: () => ({ name: SUBSCRIPTION, topic: TOPIC }),
  },
  {
    rpc: 'CreateSubscription',
    what: 'with a dead-letter topic',
    needs: [topic('t', 'Read'), subscription('s', 'Write'), topic('letters', 'Write')],
    prepare: async () => {
      await withTopic();
      await makeTopic('letters');
      await quiet(rest('DeleteSubscription', { subscription: SUBSCRIPTION }));
    },
    request: () => ({
      name: SUBSCRIPTION,
      topic: TOPIC,
      deadLetterPolicy: { deadLetterTopic: topicName('letters'), maxDeliveryAttempts: 5 },
    }),
  },
  {
    rpc: 'GetSubscription',
    needs: [subscription('s', 'Sight')],
    prepare: withSubscription,
    request: () => ({ subscription: SUBSCRIPTION }),
  },
  {
    rpc: 'UpdateSubscription',
    needs: [subscription('s', 'Write')],
    prepare: withSubscription,
    request: () => ({
      subscription: { name: SUBSCRIPTION, topic: TOPIC, ackDeadlineSeconds: 20 },
      updateMask: 'ackDeadlineSeconds',
    }),
  },
  {
    rpc: 'UpdateSubscription',
    what: 'a dead-letter topic',
    needs: [subscription('s', 'Write'), topic('letters', 'Write')],
    prepare: async () => {
      await withSubscription();
      await makeTopic('letters');
    },
    request: () => ({
      subscription: {
        name: SUBSCRIPTION,
        deadLetterPolicy: { deadLetterTopic: topicName('letters'), maxDeliveryAttempts: 5 },
      },
      updateMask: 'deadLetterPolicy',
    }),
  },
  { rpc: 'ListSubscriptions', needs: [], request: () => ({ project: PROJECT }) },
  {
    rpc: 'DeleteSubscription',
    needs: [subscription('gone', 'Write')],
    prepare: () => makeSubscription('gone'),
    request: () => ({ subscription: subscriptionName('gone') }),
  },
  {
    rpc: 'ModifyAckDeadline',
    needs: [subscription('s', 'Read')],
    prepare: withMessage,
    request: () => ({ subscription: SUBSCRIPTION, ackIds: [ackId], ackDeadlineSeconds: 0 }),
  },
  {
    rpc: 'Acknowledge',
    needs: [subscription('s', 'Read')],
    prepare: withMessage,
    request: () => ({ subscription: SUBSCRIPTION, ackIds: [ackId] }),
  },
  {
    rpc: 'Pull',
    needs: [subscription('s', 'Read')],
    prepare: withSubscription,
    request: () => ({ subscription: SUBSCRIPTION, maxMessages: 1, returnImmediately: true }),
  },
  {
    rpc: 'StreamingPull',
    needs: [subscription('s', 'Read')],
    prepare: withSubscription,
    request: () => ({ subscription: SUBSCRIPTION, streamAckDeadlineSeconds: 10 }),
  },
  {
    rpc: 'ModifyPushConfig',
    needs: [subscription('s', 'Write')],
    prepare: withSubscription,
    request: () => ({ subscription: SUBSCRIPTION, pushConfig: {} }),
  },
  {
    rpc: 'GetSnapshot',
    needs: [snapshot('n', 'Sight')],
    prepare: () => makeSnapshot('n'),
    request: () => ({ snapshot: SNAPSHOT }),
  },
  { rpc: 'ListSnapshots', needs: [], request: () => ({ project: PROJECT }) },
  {
    rpc: 'CreateSnapshot',
    needs: [subscription('n', 'Read'), snapshot('n', 'Write')],
    prepare: async () => {
      await makeSubscription('n');
      await quiet(rest('DeleteSnapshot', { snapshot: SNAPSHOT }));
    },
    request: () => ({ name: SNAPSHOT, subscription: subscriptionName('n') }),
  },
  {
    rpc: 'UpdateSnapshot',
    needs: [snapshot('n', 'Write')],
    prepare: () => makeSnapshot('n'),
    request: () => ({
      snapshot: { name: SNAPSHOT, topic: topicName('n'), labels: { a: 'b' } },
      updateMask: 'labels',
    }),
  },
  {
    rpc: 'DeleteSnapshot',
    needs: [snapshot('n', 'Write')],
    prepare: () => makeSnapshot('n'),
    request: () => ({ snapshot: SNAPSHOT }),
  },
  {
    rpc: 'Seek',
    needs: [subscription('s', 'Read')],
    prepare: withSubscription,
    request: () => ({ subscription: SUBSCRIPTION, time: '2026-01-01T00:00:00Z' }),
  },
  {
    rpc: 'Seek',
    what: 'to a snapshot',
    needs: [subscription('n', 'Read'), snapshot('n', 'Sight')],
    prepare: () => makeSnapshot('n'),
    request: () => ({ subscription: subscriptionName('n'), snapshot: SNAPSHOT }),
  },
  {
    rpc: 'CreateSchema',
    needs: [schema('new', 'Write')],
    prepare: () => quiet(rest('DeleteSchema', { name: schemaName('new') })),
    request: () => ({ parent: PROJECT, schemaId: 'new-row', schema: { type: 'AVRO', definition: AVRO } }),
  },
  { rpc: 'GetSchema', needs: [schema('c', 'Sight')], prepare: withSchema, request: () => ({ name: SCHEMA }) },
  { rpc: 'ListSchemas', needs: [], request: () => ({ parent: PROJECT }) },
  {
    rpc: 'ListSchemaRevisions',
    needs: [schema('c', 'Sight')],
    prepare: withSchema,
    request: () => ({ name: SCHEMA }),
  },
  {
    rpc: 'CommitSchema',
    needs: [schema('r', 'Write')],
    prepare: withRevisions,
    request: () => ({
      name: schemaName('r'),
      schema: {
        ...schemaOf('r'),
        definition: JSON.stringify({ ...JSON.parse(AVRO), doc: String(Math.random()) }),
      },
    }),
  },
  {
    rpc: 'RollbackSchema',
    needs: [schema('r', 'Write')],
    prepare: withRevisions,
    request: () => ({ name: schemaName('r'), revisionId: revision }),
  },
  {
    rpc: 'DeleteSchemaRevision',
    needs: [schema('r', 'Write')],
    prepare: withRevisions,
    request: () => ({ name: `${schemaName('r')}@${revision}` }),
  },
  {
    rpc: 'DeleteSchema',
    needs: [schema('gone', 'Write')],
    prepare: () => makeSchema('gone'),
    request: () => ({ name: schemaName('gone') }),
  },
  {
    rpc: 'ValidateSchema',
    needs: [],
    request: () => ({ parent: PROJECT, schema: { type: 'AVRO', definition: AVRO } }),
  },
  {
    rpc: 'ValidateMessage',
    needs: [schema('c', 'Sight')],
    prepare: withSchema,
    request: () => ({
      parent: PROJECT,
      name: SCHEMA,
      message: Buffer.from('{"a":1}').toString('base64'),
      encoding: 'JSON',
    }),
  },
  ...(
    [
      [topicName('u'), topic('u', 'Write'), () => makeTopic('u')],
      [SUBSCRIPTION, subscription('s', 'Write'), withSubscription],
      [SNAPSHOT, snapshot('n', 'Write'), () => makeSnapshot('n')],
      [SCHEMA, schema('c', 'Write'), withSchema],
    ] as const
  ).flatMap(([resource, write, prepare]): readonly Row[] => {
    const sight = { ...write, access: 'Sight' as const };
    return [
      {
        rpc: 'SetIamPolicy',
        what: resource,
        needs: [write],
        prepare,
        request: () => ({ resource, policy: {} }),
      },
      { rpc: 'GetIamPolicy', what: resource, needs: [sight], prepare, request: () => ({ resource }) },
      {
        rpc: 'TestIamPermissions',
        what: resource,
        needs: [sight],
        prepare,
        request: () => ({ resource, permissions: ['pubsub.topics.get'] }),
      },
    ];
  }),
  {
    rpc: 'ValidateMessageTransform',
    needs: [],
    request: () => ({
      project: PROJECT,
      messageTransform: { javascriptUdf: { functionName: 'f', code: 'function f(m, c) { return m; }' } },
    }),
  },
  {
    rpc: 'TestMessageTransforms',
    needs: [],
    request: () => ({
      project: PROJECT,
      message: { data: 'eA==' },
      messageTransforms: {
        messageTransforms: [{ javascriptUdf: { functionName: 'f', code: 'function f(m, c) { return m; }' } }],
      },
    }),
  },
];

const casesOver = (
  run: (rpc: string, request: JsonObject) => Promise<unknown>,
  rows: readonly Row[],
): readonly PolicyCase[] =>
  rows.map(({ rpc, what, needs, request, prepare }) => ({
    operation: rpc,
    ...(what === undefined ? {} : { what }),
    needs,
    prepare: async () => {
      await prepare?.();
    },
    run: () => run(rpc, request()),
  }));
const refusal = () => ({ code: 7, message: TEXT });

describe('Pub/Sub over gRPC', () => {
  const cases = casesOver(grpc, ROWS);
  testComplete(cases, calls.METHODS.keys());
  testCases(server, cases, refusal);
});

describe('Pub/Sub over REST', () => {
  const cases = casesOver(
    rest,
    ROWS.filter(({ rpc }) => rpc !== 'StreamingPull'),
  );
  testComplete(
    cases,
    REST_ROUTES.map(({ rpc }) => rpc),
  );
  testCases(server, cases, refusal);

  it('lists leave out what a client has no right to', async () => {
    server().allowAll();
    for (const id of ['seen', 'unseen']) {
      await makeSubscription(id, 'listed');
      await makeTopic(id);
      await quiet(rest('CreateSnapshot', { name: snapshotName(id), subscription: subscriptionName(id) }));
      await makeSchema(id);
    }
    server().allow([
      topic('listed', 'Read'),
      topic('seen', 'Write'),
      subscription('seen', 'Read'),
      snapshot('seen', 'Read'),
      schema('seen', 'Read'),
    ]);
    const names = (list: unknown): readonly string[] =>
      (list as readonly JsonObject[]).map(({ name }) => name as string).sort();
    expect(names((await rest('ListTopics', { project: PROJECT }))['topics'])).toEqual([
      topicName('listed'),
      topicName('seen'),
    ]);
    expect(names((await rest('ListSubscriptions', { project: PROJECT }))['subscriptions'])).toEqual([
      subscriptionName('seen'),
    ]);
    expect(names((await rest('ListSnapshots', { project: PROJECT }))['snapshots'])).toEqual([
      snapshotName('seen'),
    ]);
    expect(names((await rest('ListSchemas', { parent: PROJECT }))['schemas'])).toEqual([schemaName('seen')]);
    const ofTopic = { topic: topicName('listed') };
    expect(await rest('ListTopicSubscriptions', ofTopic)).toEqual({
      subscriptions: [subscriptionName('seen')],
    });
    expect(await rest('ListTopicSnapshots', ofTopic)).toEqual({ snapshots: [snapshotName('seen')] });
  });
});
