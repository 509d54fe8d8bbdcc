import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { REST_ROUTES } from '../../../src/connectors/gcp/rest/routes.js';
import { testCases, testComplete, useRuledServer, type PolicyCase, type Right } from './policy-cases.js';
import * as calls from './pubsub-calls.js';
import { schemaRows } from './pubsub-schema-rows.js';
import { topicRows } from './pubsub-topic-rows.js';
import {
  PROJECT,
  PubsubWorld,
  quiet,
  schema,
  schemaName,
  snapshot,
  snapshotName,
  subscription,
  subscriptionName,
  topic,
  topicName,
  type Row,
} from './pubsub-world.js';

const TEXT = 'User not authorized to perform this action.';
const server = useRuledServer();
afterAll(() => calls.closeChannel());
const world = new PubsubWorld(server);
const grpc = (name: string, request: JsonObject) => calls.grpc(server().running, name, request);
const rest = (name: string, request: JsonObject) => world.rest(name, request);
/** Everybody may ask what they may do. */
const TESTS: Row = {
  rpc: 'TestIamPermissions',
  needs: [],
  request: () => ({ resource: topicName('u'), permissions: ['pubsub.topics.get'] }),
};
const ROWS = [...topicRows(world), ...schemaRows(world), TESTS];

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
      await world.subscription(id, 'listed');
      await world.topic(id);
      await quiet(rest('CreateSnapshot', { name: snapshotName(id), subscription: subscriptionName(id) }));
      await world.schema(id);
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

describe('TestIamPermissions', () => {
  const permissions = (collection: string, verbs: string): string[] =>
    verbs
      .split(' ')
      .filter((verb) => verb !== '')
      .map((verb) => `pubsub.${collection}.${verb}`);
  const SIGHT = 'get getIamPolicy list';
  const WRITE = `create delete setIamPolicy update`;
  interface Resource {
    readonly collection: string;
    readonly resource: string;
    readonly of: (access: Right['access']) => Right;
    /** Verbs that any right will do for, that reading needs and that writing does. */
    readonly verbs: readonly [seen: string, read: string, write: string];
  }
  const RESOURCES: readonly Resource[] = [
    {
      collection: 'topics',
      resource: topicName('u'),
      of: (access) => topic('u', access),
      verbs: [SIGHT, 'attachSubscription', `${WRITE} publish detachSubscription updateTag`],
    },
    {
      collection: 'subscriptions',
      resource: subscriptionName('s'),
      of: (access) => subscription('s', access),
      verbs: [SIGHT, 'consume', WRITE],
    },
    {
      collection: 'snapshots',
      resource: snapshotName('n'),
      of: (access) => snapshot('n', access),
      verbs: [`${SIGHT} seek`, '', WRITE],
    },
    {
      collection: 'schemas',
      resource: schemaName('c'),
      of: (access) => schema('c', access),
      verbs: [`${SIGHT} attach listRevisions validate`, '', `${WRITE} commit rollback`],
    },
  ];

  it.each(RESOURCES)(
    '$collection: what the rules allow, and nothing else',
    async ({ collection, resource, of, verbs }) => {
      const [seen = [], read = [], write = []] = verbs.map((some) => permissions(collection, some));
      const known = [...seen, ...read, ...write];
      const asked = [...known, `pubsub.${collection}.fly`, 'pubsub.topics', 'storage.buckets.get'];
      server().allowAll();
      await world.topic('u');
      await world.subscription('s', 't');
      await world.snapshot('n');
      await world.schema('c');
      const granted = async (by: typeof rest): Promise<unknown> =>
        (await by('TestIamPermissions', { resource, permissions: asked }))['permissions'] ?? [];
      const overGrpc = (name: string, request: JsonObject) => calls.answered(server().running, name, request);
      for (const by of [rest, overGrpc]) {
        server().allow([of('Read')]);
        expect(await granted(by)).toEqual([...seen, ...read]);
        server().allow([of('Write')]);
        expect(await granted(by)).toEqual([...seen, ...write]);
        server().allowAll();
        expect(await granted(by)).toEqual(known);
        server().allow([]);
        expect(await granted(by)).toEqual([]);
      }
    },
  );

  it('does not tell what is there from what is not', async () => {
    server().allowAll();
    await world.topic('u');
    server().allow([]);
    const asked = (id: string) =>
      rest('TestIamPermissions', { resource: topicName(id), permissions: ['pubsub.topics.get'] });
    expect(await asked('u')).toEqual(await asked('nothing'));
  });
});
