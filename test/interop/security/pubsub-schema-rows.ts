import {
  PROJECT,
  topicName,
  subscriptionName,
  schemaName,
  SUBSCRIPTION,
  SNAPSHOT,
  SCHEMA,
  AVRO,
  topic,
  subscription,
  snapshot,
  schema,
  quiet,
  type PubsubWorld,
  type Row,
  schemaOf,
} from './pubsub-world.js';

/** Snapshots, schemas, policies of resources and transforms. */
export const schemaRows = (world: PubsubWorld): readonly Row[] => [
  {
    rpc: 'GetSnapshot',
    needs: [snapshot('n', 'Sight')],
    prepare: () => world.snapshot('n'),
    request: () => ({ snapshot: SNAPSHOT }),
  },
  { rpc: 'ListSnapshots', needs: [], request: () => ({ project: PROJECT }) },
  {
    rpc: 'CreateSnapshot',
    needs: [subscription('n', 'Read'), snapshot('n', 'Write')],
    prepare: async () => {
      await world.subscription('n');
      await quiet(world.rest('DeleteSnapshot', { snapshot: SNAPSHOT }));
    },
    request: () => ({ name: SNAPSHOT, subscription: subscriptionName('n') }),
  },
  {
    rpc: 'UpdateSnapshot',
    needs: [snapshot('n', 'Write')],
    prepare: () => world.snapshot('n'),
    request: () => ({
      snapshot: { name: SNAPSHOT, topic: topicName('n'), labels: { a: 'b' } },
      updateMask: 'labels',
    }),
  },
  {
    rpc: 'DeleteSnapshot',
    needs: [snapshot('n', 'Write')],
    prepare: () => world.snapshot('n'),
    request: () => ({ snapshot: SNAPSHOT }),
  },
  {
    rpc: 'Seek',
    needs: [subscription('s', 'Read')],
    prepare: () => world.subscription('s', 't'),
    request: () => ({ subscription: SUBSCRIPTION, time: '2026-01-01T00:00:00Z' }),
  },
  {
    rpc: 'Seek',
    what: 'to a snapshot',
    needs: [subscription('n', 'Read'), snapshot('n', 'Sight')],
    prepare: () => world.snapshot('n'),
    request: () => ({ subscription: subscriptionName('n'), snapshot: SNAPSHOT }),
  },
  {
    rpc: 'CreateSchema',
    needs: [schema('new', 'Write')],
    prepare: () => quiet(world.rest('DeleteSchema', { name: schemaName('new') })),
    request: () => ({ parent: PROJECT, schemaId: 'new-row', schema: { type: 'AVRO', definition: AVRO } }),
  },
  {
    rpc: 'GetSchema',
    needs: [schema('c', 'Sight')],
    prepare: () => world.schema('c'),
    request: () => ({ name: SCHEMA }),
  },
  { rpc: 'ListSchemas', needs: [], request: () => ({ parent: PROJECT }) },
  {
    rpc: 'ListSchemaRevisions',
    needs: [schema('c', 'Sight')],
    prepare: () => world.schema('c'),
    request: () => ({ name: SCHEMA }),
  },
  {
    rpc: 'CommitSchema',
    needs: [schema('r', 'Write')],
    prepare: () => world.revisions(),
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
    prepare: () => world.revisions(),
    request: () => ({ name: schemaName('r'), revisionId: world.revision }),
  },
  {
    rpc: 'DeleteSchemaRevision',
    needs: [schema('r', 'Write')],
    prepare: () => world.revisions(),
    request: () => ({ name: `${schemaName('r')}@${world.revision}` }),
  },
  {
    rpc: 'DeleteSchema',
    needs: [schema('gone', 'Write')],
    prepare: () => world.schema('gone'),
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
    prepare: () => world.schema('c'),
    request: () => ({
      parent: PROJECT,
      name: SCHEMA,
      message: Buffer.from('{"a":1}').toString('base64'),
      encoding: 'JSON',
    }),
  },
  ...(
    [
      [topicName('u'), topic('u', 'Write'), () => world.topic('u')],
      [SUBSCRIPTION, subscription('s', 'Write'), () => world.subscription('s', 't')],
      [SNAPSHOT, snapshot('n', 'Write'), () => world.snapshot('n')],
      [SCHEMA, schema('c', 'Write'), () => world.schema('c')],
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
