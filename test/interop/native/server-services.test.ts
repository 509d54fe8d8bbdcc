import { fileURLToPath } from 'node:url';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { protoFiles } from '../../../src/connectors/native/wire/descriptor.js';
import { Stream } from '../../support/native-streams.js';
import { startNativeServer, type NativeServer } from './native-server.js';

const folder = fileURLToPath(new URL('../../../src/connectors/native/wire', import.meta.url));

/** A client of one of the services that every gRPC server may have. */
function clientOf(file: string, service: string): InstanceType<ServiceClientConstructor> {
  const loaded = loadPackageDefinition(
    loadSync(`${folder}/${file}`, { keepCase: true, enums: String, oneofs: true, defaults: true }),
  );
  const made = service
    .split('.')
    .reduce((at: unknown, part) => (at as Record<string, unknown>)[part], loaded);
  return new (made as ServiceClientConstructor)(server.address, credentials.createInsecure());
}

let server: NativeServer;
beforeAll(async () => {
  server = await startNativeServer();
});
afterAll(() => server.stop());

describe('health', () => {
  it('serves, knows its services, and tells watchers when it ends', async () => {
    const own = await startNativeServer();
    const keep = server;
    server = own;
    const client = clientOf('health.proto', 'grpc.health.v1.Health');
    server = keep;
    const check = (service: string) =>
      new Promise((resolve) => {
        (client['Check'] as (...parts: unknown[]) => void).call(
          client,
          { service },
          (error: { code: number } | null, reply: { status: string }) => resolve(error?.code ?? reply.status),
        );
      });
    expect(await check('')).toBe('SERVING');
    expect(await check('kubemq.kubemq')).toBe('SERVING');
    expect(await check('other')).toBe(5);
    const watch = (client['Watch'] as (request: object) => NodeJS.ReadableStream).call(client, {
      service: '',
    });
    const statuses: string[] = [];
    watch.on('data', ({ status }: { status: string }) => statuses.push(status));
    const ended = new Promise((resolve) => watch.on('end', resolve));
    await new Promise((resolve) => watch.once('data', resolve));
    await own.stop();
    await ended;
    expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
    client.close();
  });
});

interface Answer {
  original_request: object;
  message_response: string;
  list_services_response: { service: { name: string }[] } | null;
  file_descriptor_response: { file_descriptor_proto: Buffer[] } | null;
  error_response: { error_code: number } | null;
}

describe('reflection', () => {
  it.each(['v1', 'v1alpha'])('%s lists services and gives the files of their symbols', async (version) => {
    const client = clientOf(`reflection_${version}.proto`, `grpc.reflection.${version}.ServerReflection`);
    const open = client['ServerReflectionInfo'] as () => never;
    const stream = new Stream<object, Answer>(open.call(client), 'message_response');
    const ask = async (request: object) => {
      stream.write(request);
      return stream.next();
    };
    const listed = await ask({ list_services: '*' });
    expect(listed.list_services_response?.service.map(({ name }) => name).sort()).toEqual([
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
      'kubemq.kubemq',
    ]);
    for (const symbol of [
      'kubemq.kubemq',
      'kubemq.kubemq.SendEvent',
      'kubemq.Event',
      'kubemq.Subscribe.Events',
    ]) {
      const { file_descriptor_response: found } = await ask({ file_containing_symbol: symbol });
      const file = fromBinary(FileDescriptorProtoSchema, found!.file_descriptor_proto[0]!);
      expect(file).toMatchObject({ name: 'kubemq.proto', package: 'kubemq' });
    }
    expect((await ask({ file_by_filename: 'health.proto' })).file_descriptor_response).not.toBeNull();
    for (const missing of [
      { file_containing_symbol: 'kubemq.Nothing' },
      { file_by_filename: 'nothing.proto' },
      { file_containing_extension: { containing_type: 'kubemq.Event', extension_number: 1 } },
    ]) {
      expect((await ask(missing)).error_response).toMatchObject({ error_code: 5 });
    }
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
    client.close();
  });

  it('tells of the files as they are', () => {
    for (const file of protoFiles()) {
      const definition = loadSync(`${folder}/${file.name}`, { keepCase: true });
      const types = Object.entries(definition).flatMap(([name, each]) =>
        'type' in each && 'field' in each.type
          ? [[name, (each.type as { field: { name: string; number: number }[] }).field] as const]
          : [],
      );
      expect([...file.fields.keys()].sort()).toEqual(types.map(([name]) => name).sort());
      for (const [name, fields] of types) {
        // Entries of maps are messages of their own there.
        const told = (file.fields.get(name) ?? []).map((field) => [field.name, field.number]);
        expect(told).toEqual(fields.map((field) => [field.name, field.number]));
      }
    }
  });
});
