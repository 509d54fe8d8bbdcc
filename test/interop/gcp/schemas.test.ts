import { credentials, status } from '@grpc/grpc-js';
import { Encodings, SchemaTypes, v1 } from '@google-cloud/pubsub';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/folder.js';
import { startServer, useServer } from '../../support/server.js';
import { collect, connectClients, PROJECT, subscriptionName, topicName, type Clients } from './clients.js';

const project = `projects/${PROJECT}`;
const schemaName = (id: string): string => `${project}/schemas/${id}`;
const avro = (...fields: object[]) => JSON.stringify({ type: 'record', name: 'Order', fields });
const NAME = { name: 'name', type: 'string' };
const COUNT = { name: 'count', type: 'int', default: 0 };

function schemaClient(port: number): v1.SchemaServiceClient {
  return new v1.SchemaServiceClient({
    servicePath: '127.0.0.1',
    port,
    sslCreds: credentials.createInsecure(),
    projectId: PROJECT,
  });
}

describe('schemas', () => {
  const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
  let clients: Clients;
  let schemas: v1.SchemaServiceClient;

  beforeAll(() => {
    const { port } = server().address('gcp');
    clients = connectClients(port);
    schemas = schemaClient(port);
  });
  afterAll(async () => {
    await Promise.all([clients.close(), schemas.close()]);
  });

  const create = (schemaId: string, definition = avro(NAME), type: 'AVRO' | 'PROTOCOL_BUFFER' = 'AVRO') =>
    schemas.createSchema({ parent: project, schemaId, schema: { type, definition } });
  const commit = (id: string, definition: string) =>
    schemas.commitSchema({
      name: schemaName(id),
      schema: { name: schemaName(id), type: 'AVRO', definition },
    });

  it('are created, shown, listed and deleted', async () => {
    const [created] = await create('life');
    expect(created).toMatchObject({ name: schemaName('life'), type: 'AVRO', definition: avro(NAME) });
    expect(created.revisionId).toMatch(/^[0-9a-f]{8}$/);
    expect(Number(created.revisionCreateTime?.seconds)).toBeGreaterThan(1_700_000_000);
    await expect(create('life')).rejects.toMatchObject({ code: status.ALREADY_EXISTS });
    await create('life2', 'syntax = "proto3"; message M { string a = 1; }', 'PROTOCOL_BUFFER');

    const [full] = await schemas.getSchema({ name: schemaName('life') });
    expect(full).toEqual(created);
    const [basic] = await schemas.getSchema({ name: schemaName('life'), view: 'BASIC' });
    expect(basic).toMatchObject({ definition: '', revisionId: created.revisionId });

    const [listed] = await schemas.listSchemas({ parent: project, pageSize: 1 });
    expect(listed.map(({ name, definition }) => [name, definition])).toEqual([
      [schemaName('life'), ''],
      [schemaName('life2'), ''],
    ]);
    await schemas.deleteSchema({ name: schemaName('life') });
    await schemas.deleteSchema({ name: schemaName('life2') });
    await expect(schemas.getSchema({ name: schemaName('life') })).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
    await expect(schemas.deleteSchema({ name: schemaName('life') })).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
  });

  it.each([
    ['an id of two letters', () => create('ab')],
    ['no id', () => create('')],
    ['an id that begins with goog', () => create('goog-x')],
    ['a definition that is none', () => create('bad', 'garbage')],
    [
      'no type',
      () => schemas.createSchema({ parent: project, schemaId: 'bad', schema: { definition: avro(NAME) } }),
    ],
    ['no schema', () => schemas.createSchema({ parent: project, schemaId: 'bad' })],
    ['no project', () => schemas.createSchema({ parent: 'x', schemaId: 'bad' })],
  ])('are refused with %s', async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('have revisions', async () => {
    const [first] = await create('revised');
    const [second] = await commit('revised', avro(NAME, COUNT));
    expect(second).toMatchObject({ definition: avro(NAME, COUNT), name: schemaName('revised') });
    // The same again is a revision of its own, as Google's samples have it.
    const [again] = await commit('revised', avro(NAME, COUNT));
    expect(again.revisionId).not.toBe(second.revisionId);
    await schemas.deleteSchemaRevision({ name: `${schemaName('revised')}@${again.revisionId}` });
    await expect(commit('revised', avro({ name: 'name', type: 'int' }))).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    const [third] = await schemas.rollbackSchema({
      name: schemaName('revised'),
      revisionId: first.revisionId!,
    });
    expect(third.definition).toBe(first.definition);
    expect(new Set([first.revisionId, second.revisionId, third.revisionId]).size).toBe(3);
    await expect(
      schemas.rollbackSchema({ name: schemaName('revised'), revisionId: 'ffffffff' }),
    ).rejects.toMatchObject({ code: status.NOT_FOUND });

    const ids = async (): Promise<unknown[]> => {
      const [revisions] = await schemas.listSchemaRevisions({ name: schemaName('revised'), pageSize: 2 });
      return revisions.map(({ revisionId }) => revisionId);
    };
    expect(await ids()).toEqual([third.revisionId, second.revisionId, first.revisionId]);
    const [old] = await schemas.getSchema({ name: `${schemaName('revised')}@${first.revisionId}` });
    expect(old).toEqual(first);

    const [gone] = await schemas.deleteSchemaRevision({
      name: `${schemaName('revised')}@${second.revisionId}`,
    });
    expect(gone.revisionId).toBe(second.revisionId);
    await schemas.deleteSchemaRevision({ name: `${schemaName('revised')}@${first.revisionId}` });
    expect(await ids()).toEqual([third.revisionId]);
    await expect(
      schemas.deleteSchemaRevision({ name: `${schemaName('revised')}@${third.revisionId}` }),
    ).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'Cannot delete last revision. Please use DeleteSchema.',
    });
  });

  it('are validated', async () => {
    await create('valid');
    const validate = (message: string, more: object) =>
      schemas.validateMessage({ parent: project, message: Buffer.from(message), encoding: 'JSON', ...more });
    await validate('{"name":"x"}', { name: schemaName('valid') });
    await validate('{"name":"x"}', { schema: { type: 'AVRO', definition: avro(NAME) } });
    await expect(validate('{"name":1}', { name: schemaName('valid') })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      reason: 'INVALID_JSON_AVRO_MESSAGE',
    });
    await expect(validate('{}', {})).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await expect(validate('{"name":"x"}', { name: schemaName('valid'), encoding: 0 })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    await schemas.validateSchema({ parent: project, schema: { type: 'AVRO', definition: avro(NAME) } });
    await expect(
      schemas.validateSchema({ parent: project, schema: { type: 'AVRO', definition: '{' } }),
    ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('guard a topic', async () => {
    const schema = await clients.pubsub.createSchema('guard', SchemaTypes.Avro, avro(NAME));
    const first = (await schema.get('FULL')).revisionId!;
    const [topic] = await clients.pubsub.createTopic({
      name: topicName('guarded'),
      schemaSettings: { schema: schemaName('guard'), encoding: Encodings.Json },
    });
    const [subscription] = await topic.createSubscription('guarded');
    await topic.publishMessage({ data: Buffer.from('{"name":"one"}'), attributes: { own: 'x' } });
    await expect(topic.publishMessage({ data: Buffer.from('{"name":1}') })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'Invalid data in message: Message failed schema validation.',
    });
    await commit('guard', avro(NAME, COUNT));
    const [{ revisionId: second }] = await schemas.getSchema({ name: schemaName('guard') });
    await topic.publishMessage({ data: Buffer.from('{"name":"two","count":2}') });
    const messages = await collect(subscription, 2);
    const stamp = (revision: unknown) => ({
      googclient_schemaname: schemaName('guard'),
      googclient_schemaencoding: 'JSON',
      googclient_schemarevisionid: revision,
    });
    expect(Object.fromEntries(messages.map(({ data, attributes }) => [String(data), attributes]))).toEqual({
      '{"name":"one"}': { own: 'x', ...stamp(first) },
      '{"name":"two","count":2}': stamp(second),
    });
    await subscription.close();
    await schema.delete();
    const [{ schemaSettings }] = await clients.publisher.getTopic({ topic: topicName('guarded') });
    expect(schemaSettings?.schema).toBe('_deleted-schema_');
    await expect(topic.publishMessage({ data: Buffer.from('{"name":"x"}') })).rejects.toMatchObject({
      code: status.FAILED_PRECONDITION,
    });
  });

  it('guard a topic within bounds, and refuse settings that make no sense', async () => {
    const [first] = await create('bounds');
    const [second] = await commit('bounds', avro(NAME, COUNT));
    const settings = (more: object) => ({ schema: schemaName('bounds'), encoding: 'JSON' as const, ...more });
    const topic = (id: string, schemaSettings: object) =>
      clients.publisher.createTopic({ name: topicName(id), schemaSettings });
    await topic('bounded', settings({ lastRevisionId: first.revisionId }));
    await clients.subscriber.createSubscription({
      name: subscriptionName('bounded'),
      topic: topicName('bounded'),
    });
    await clients.publisher.publish({
      topic: topicName('bounded'),
      messages: [{ data: Buffer.from('{"name":"x","count":5}') }],
    });
    const [{ receivedMessages }] = await clients.subscriber.pull({
      subscription: subscriptionName('bounded'),
      maxMessages: 1,
    });
    expect(receivedMessages?.[0]?.message?.attributes).toMatchObject({
      googclient_schemarevisionid: first.revisionId,
    });
    const refused = (call: Promise<unknown>, code: number) => expect(call).rejects.toMatchObject({ code });
    await refused(topic('none', { schema: schemaName('missing'), encoding: 'JSON' }), status.NOT_FOUND);
    await refused(topic('none', settings({ encoding: 0 })), status.INVALID_ARGUMENT);
    await refused(topic('none', settings({ firstRevisionId: 'ffffffff' })), status.INVALID_ARGUMENT);
    await refused(
      topic('none', settings({ firstRevisionId: second.revisionId, lastRevisionId: first.revisionId })),
      status.INVALID_ARGUMENT,
    );
  });

  it('guard with Protocol Buffers in binary', async () => {
    await create('binary', 'syntax = "proto3"; message M { string a = 1; }', 'PROTOCOL_BUFFER');
    await clients.publisher.createTopic({
      name: topicName('binary'),
      schemaSettings: { schema: schemaName('binary'), encoding: 'BINARY' },
    });
    const publish = (data: number[]) =>
      clients.publisher.publish({ topic: topicName('binary'), messages: [{ data: Buffer.from(data) }] });
    await publish([0x0a, 1, 0x61]);
    await expect(publish([0x0a, 9, 0x61])).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      reason: 'INVALID_BINARY_PROTO_MESSAGE',
    });
  });
});

it('schemas survive a restart', async () => {
  const folder = temporaryFolder();
  const first = await startServer({ connectors: ['gcp'], folder: folder.path });
  const before = schemaClient(first.address('gcp').port);
  const [created] = await before.createSchema({
    parent: project,
    schemaId: 'kept',
    schema: { type: 'AVRO', definition: avro(NAME) },
  });
  const name = schemaName('kept');
  const [committed] = await before.commitSchema({
    name,
    schema: { name, type: 'AVRO', definition: avro(NAME, COUNT) },
  });
  await before.close();
  await first.stop();
  const second = await startServer({ connectors: ['gcp'], folder: folder.path });
  const after = schemaClient(second.address('gcp').port);
  const [revisions] = await after.listSchemaRevisions({ name, view: 'FULL' });
  expect(revisions).toEqual([committed, created]);
  await after.close();
  await second.stop();
  folder.remove();
});
