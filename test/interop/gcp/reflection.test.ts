import { fileURLToPath } from 'node:url';
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { credentials, loadPackageDefinition, status, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { Stream } from '../../support/native-streams.js';
import { startServer } from '../../support/server.js';

const PROTO = fileURLToPath(
  new URL('../../../src/connectors/native/wire/reflection_v1.proto', import.meta.url),
);

interface Answer {
  message_response: string;
  list_services_response: { service: { name: string }[] } | null;
  file_descriptor_response: { file_descriptor_proto: Buffer[] } | null;
  all_extension_numbers_response: { base_type_name: string; extension_number: number[] } | null;
  error_response: { error_code: number } | null;
}

/** Asks the reflection service of a port, as grpcurl does. */
function connect(port: number): Stream<object, Answer> & { close(): void } {
  const loaded = loadPackageDefinition(
    loadSync(PROTO, { keepCase: true, enums: String, oneofs: true, defaults: true }),
  ) as unknown as { grpc: { reflection: { v1: { ServerReflection: ServiceClientConstructor } } } };
  const client = new loaded.grpc.reflection.v1.ServerReflection(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
  );
  const open = client['ServerReflectionInfo'] as () => never;
  const stream = new Stream<object, Answer>(open.call(client), 'message_response');
  return Object.assign(stream, { close: () => client.close() });
}

const memory = { store: { engine: 'memory' as const } };

describe('reflection', () => {
  it('gives every file of every service, whole', async () => {
    const server = await startServer({
      connectors: ['gcp'],
      config: { ...memory, connectors: { gcp: { enableReflection: true } } },
    });
    const stream = connect(server.address('gcp').port);
    const ask = async (request: object): Promise<Answer> => {
      stream.write(request);
      return stream.next();
    };
    const listed = await ask({ list_services: '' });
    const services = listed.list_services_response?.service.map(({ name }) => name) ?? [];
    expect([...services].sort()).toEqual([
      'google.iam.v1.IAMPolicy',
      'google.pubsub.v1.Publisher',
      'google.pubsub.v1.SchemaService',
      'google.pubsub.v1.Subscriber',
      'grpc.reflection.v1.ServerReflection',
      'polymq.pubsub.v1.MessageTransformService',
    ]);
    // What a tool does: the file of each service, then all that it imports.
    const seen = new Set<string>();
    const files: FileDescriptorProto[] = [];
    const take = async (request: object): Promise<void> => {
      const { file_descriptor_response: found } = await ask(request);
      expect([request, found]).not.toEqual([request, null]);
      const file = fromBinary(FileDescriptorProtoSchema, found!.file_descriptor_proto[0]!);
      if (seen.has(file.name)) return;
      seen.add(file.name);
      for (const name of file.dependency) await take({ file_by_filename: name });
      files.push(file);
    };
    for (const service of services) await take({ file_containing_symbol: service });
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files }));
    expect(registry.getService('google.pubsub.v1.Subscriber')?.methods).toHaveLength(16);
    for (const symbol of [
      'google.pubsub.v1.Publisher.Publish',
      'google.pubsub.v1.PubsubMessage.ordering_key',
      'google.pubsub.v1.Subscription.ACTIVE',
      'google.protobuf.Timestamp',
    ]) {
      expect([symbol, (await ask({ file_containing_symbol: symbol })).message_response]).toEqual([
        symbol,
        'file_descriptor_response',
      ]);
    }
    const numbers = await ask({ all_extension_numbers_of_type: 'google.pubsub.v1.Topic' });
    expect(numbers.all_extension_numbers_response?.base_type_name).toBe('google.pubsub.v1.Topic');
    for (const missing of [
      { file_containing_symbol: 'google.pubsub.v1.Nothing' },
      { file_by_filename: 'nothing.proto' },
      { all_extension_numbers_of_type: 'nothing' },
      { file_containing_extension: { containing_type: 'google.pubsub.v1.Topic', extension_number: 1 } },
    ]) {
      expect((await ask(missing)).error_response?.error_code).toBe(status.NOT_FOUND);
    }
    expect((await ask({})).error_response?.error_code).toBe(status.INVALID_ARGUMENT);
    // A shutdown ends the stream.
    const stopped = server.stop();
    expect(await stream.ended).toMatchObject({ code: status.OK });
    stream.close();
    await stopped;
  });

  it('is not served unless it is asked for', async () => {
    const server = await startServer({ connectors: ['gcp'], config: memory });
    const stream = connect(server.address('gcp').port);
    stream.write({ list_services: '' });
    expect(await stream.ended).toMatchObject({ code: status.UNIMPLEMENTED });
    stream.close();
    await server.stop();
  });
});
