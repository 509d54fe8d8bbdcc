import {
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type DescMethod,
  type DescService,
  type JsonObject,
} from '@bufbuild/protobuf';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { expect } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import { REST_ROUTES, type RestRoute } from '../../../src/connectors/gcp/rest/routes.js';
import { IAMPolicy } from '../../../src/connectors/gcp/wire/gen/google/iam/v1/iam_policy_pb.js';
import { Publisher, Subscriber } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { SchemaService } from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/schema_pb.js';
import { MessageTransformService } from '../../../src/connectors/gcp/wire/gen/polymq/pubsub/v1/message_transforms_pb.js';
import { urlOf } from '../../support/server.js';
import { Denied } from './policy-cases.js';

const SERVICES: readonly DescService[] = [
  Publisher,
  Subscriber,
  SchemaService,
  IAMPolicy,
  MessageTransformService,
];
export const METHODS: ReadonlyMap<string, DescMethod> = new Map(
  SERVICES.flatMap((service) => service.methods.map((method) => [method.name, method] as const)),
);

let channel: Client | undefined;
export function closeChannel(): void {
  channel?.close();
}

/** One RPC by its JSON, over gRPC. */
export async function grpc(running: RunningBroker, name: string, request: JsonObject): Promise<void> {
  await sent(running, name, request);
}

/** The same, with the JSON of its answer. */
export async function answered(
  running: RunningBroker,
  name: string,
  request: JsonObject,
): Promise<JsonObject> {
  const method = METHODS.get(name);
  const bytes = await sent(running, name, request);
  if (method === undefined || bytes === undefined) throw new Error(`no answer to ${name}`);
  return toJson(method.output, fromBinary(method.output, bytes)) as JsonObject;
}

function sent(running: RunningBroker, name: string, request: JsonObject): Promise<Buffer | undefined> {
  const method = METHODS.get(name);
  if (method === undefined) throw new Error(`no method ${name}`);
  channel ??= new Client(`127.0.0.1:${running.address('gcp').port}`, credentials.createInsecure());
  const open = channel;
  const bytes = Buffer.from(toBinary(method.input, fromJson(method.input, request)));
  const path = `/${method.parent.typeName}/${name}`;
  const same = (buffer: Buffer): Buffer => buffer;
  return new Promise((resolve, reject) => {
    const ended = (error: ServiceError | null, answer?: Buffer): void => {
      if (error === null) resolve(answer);
      else
        reject(
          error.code === status.PERMISSION_DENIED ? new Denied({ code: 7, message: error.details }) : error,
        );
    };
    if (method.methodKind === 'unary') {
      open.makeUnaryRequest(path, same, same, bytes, ended);
      return;
    }
    const call = open.makeBidiStreamRequest(path, same, same);
    call.on('error', (error: ServiceError) => ended(error.code === status.CANCELLED ? null : error));
    // The first answer says the properties of the subscription.
    call.on('data', () => call.cancel());
    call.write(bytes);
  });
}

/** The same RPC over REST, by the route that fits its request. */
export async function rest(running: RunningBroker, name: string, request: JsonObject): Promise<JsonObject> {
  const { verb, body, url } = callOf(name, request);
  const answer = await fetch(`${urlOf(running, 'gcp')}${url}`, {
    method: verb,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status === 200) return JSON.parse(text) as JsonObject;
  if (answer.status !== 403) throw new Error(`${answer.status} ${text}`);
  const { error } = JSON.parse(text) as {
    readonly error: { readonly message: string; readonly status: string };
  };
  expect(error.status).toBe('PERMISSION_DENIED');
  throw new Denied({ code: 7, message: error.message });
}

function callOf(name: string, request: JsonObject) {
  for (const route of REST_ROUTES) {
    const [, path = '', template = ''] = /\{([^=]+)=([^}]+)\}/.exec(route.path) ?? [];
    const value = valueAt(request, path);
    const fits = new RegExp(`^${template.replaceAll('*', '[^/]+')}$`).test(value ?? '');
    if (route.rpc === name && fits)
      return {
        verb: route.verb,
        body: bodyOf(route, request),
        url: urlFor(route, request, path, value ?? ''),
      };
  }
  throw new Error(`no route for ${name}`);
}

function valueAt(request: JsonObject, path: string): string | undefined {
  let at: unknown = request;
  for (const part of path.split('.'))
    at = (at as JsonObject | undefined)?.[part.replace(/_(.)/g, (_, c: string) => c.toUpperCase())];
  return typeof at === 'string' ? at : undefined;
}

function bodyOf({ body }: RestRoute, request: JsonObject): unknown {
  if (body === undefined) return undefined;
  return body === '*' ? request : request[body];
}

/** What is neither in the path nor in the body is in the query. */
function urlFor(route: RestRoute, request: JsonObject, path: string, value: string): string {
  const url = route.path.replace(/\{[^}]+\}/, value);
  if (route.body === '*') return url;
  const query = Object.entries(request)
    .filter(([key]) => key !== path && key !== route.body)
    .map(([key, one]) => `${key}=${encodeURIComponent(one as string)}`);
  return query.length === 0 ? url : `${url}?${query.join('&')}`;
}
