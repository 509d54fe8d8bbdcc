import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import type { DescService } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REST_ROUTES } from '../../../src/connectors/gcp/rest/routes.js';
import { IAMPolicy } from '../../../src/connectors/gcp/wire/gen/google/iam/v1/iam_policy_pb.js';
import { Publisher, Subscriber } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { SchemaService } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/schema_pb.js';
import { urlOf, useServer } from '../../support/server.js';
import { connectClients, eventually, subscriptionName, topicName, type Clients } from './clients.js';

const SERVICES: readonly DescService[] = [Publisher, Subscriber, SchemaService, IAMPolicy];

describe('the API', () => {
  const config = { store: { engine: 'memory' as const }, connectors: { pubSub: { maxConcurrentPolls: 2 } } };
  const server = useServer({ connectors: ['gcp'], config });
  let clients: Clients;
  beforeAll(() => {
    clients = connectClients(server().address('gcp').port);
  });
  afterAll(() => clients.close());

  const methods = SERVICES.flatMap((service) =>
    service.methods.map((method) => [service.typeName, method] as const),
  );

  it('has 38 methods, each of which is served over gRPC', async () => {
    expect(methods).toHaveLength(38);
    const client = new Client(`127.0.0.1:${server().address('gcp').port}`, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    for (const [service, { name, methodKind }] of methods) {
      const path = `/${service}/${name}`;
      const code = await new Promise((resolve) => {
        const ended = (error: ServiceError | null): void => resolve(error?.code ?? status.OK);
        if (methodKind === 'unary') {
          client.makeUnaryRequest(path, same, same, Buffer.alloc(0), ended);
          return;
        }
        const call = client.makeBidiStreamRequest(path, same, same);
        call.on('data', () => undefined).on('error', ended);
        call.write(Buffer.alloc(0));
      });
      // Nothing is asked for, so nearly all say what is missing.
      expect([path, code]).toEqual([path, status.INVALID_ARGUMENT]);
    }
    client.close();
  });

  it('serves each of them over REST, but for the stream', async () => {
    const called = new Set<string>();
    for (const { service, rpc, verb, path } of REST_ROUTES) {
      const resource = (template: string): string => template.replaceAll('*', 'missing');
      const url = path.replace(/\{[^=]+=([^}]+)\}/, (_, template: string) => resource(template));
      const init = verb === 'GET' || verb === 'DELETE' ? {} : { body: '{}' };
      const response = await fetch(`${urlOf(server(), 'gcp')}${url}`, { method: verb, ...init });
      const text = await response.text();
      expect([rpc, response.status === 501, text.includes('Method not found')]).toEqual([rpc, false, false]);
      called.add(`${service}.${rpc}`);
    }
    const missing = methods.filter(([service, { name }]) => !called.has(`${service}.${name}`));
    expect(missing.map(([, { name }]) => name)).toEqual(['StreamingPull']);
  });

  it('lets so many Pull calls wait, and says so to others', async () => {
    const [topic, subscription] = [topicName('polls'), subscriptionName('polls')];
    await clients.publisher.createTopic({ name: topic });
    await clients.subscriber.createSubscription({ name: subscription, topic });
    const pull = (returnImmediately: boolean) =>
      clients.subscriber.pull({ subscription, maxMessages: 1, returnImmediately }, { retry: null });
    const waiting = [pull(false), pull(false)];
    await eventually(() => server().broker.queueStats('gcp.sub.polls' as never)?.waiters === 2);
    await expect(pull(false)).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    await clients.publisher.publish({
      topic,
      messages: [{ data: Buffer.from('a') }, { data: Buffer.from('b') }],
    });
    for (const [{ receivedMessages }] of await Promise.all(waiting)) expect(receivedMessages).toHaveLength(1);
    await pull(true);
  });

  it('has its metrics by the documented names', async () => {
    await fetch(`${urlOf(server(), 'gcp')}/v1/projects/p/topics/counted`, { method: 'PUT' });
    const text = await (await fetch(`${urlOf(server(), 'api')}/metrics`)).text();
    for (const name of [
      'topics',
      'subscriptions',
      'snapshots',
      'schemas',
      'inflight_messages',
      'streaming_pull_streams',
    ])
      expect(text).toMatch(new RegExp(`^kubemq_pubsub_${name}(\\{.*\\})? \\d+$`, 'm'));
    expect(text).toMatch(/^# TYPE kubemq_pubsub_push_deliveries_total counter$/m);
    for (const name of ['operations_total', 'operation_duration_seconds_count']) {
      const line = text
        .split('\n')
        .find((one) => one.startsWith(`kubemq_pubsub_${name}{`) && one.includes('reateTopic'));
      expect(line, name).toContain('service="');
    }
  });
});
