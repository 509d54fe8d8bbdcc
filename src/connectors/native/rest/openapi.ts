import { jsonTypes, type JsonType } from '../wire/json.js';
import type { Kind } from '../wire/field-slot.js';
import type { Fields } from '../wire/protobuf.js';
import { ROUTES, type Route } from './routes.js';

const SCALARS: Partial<Record<Kind, object>> = {
  string: { type: 'string' },
  bytes: { type: 'string', contentEncoding: 'base64' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  count: { type: 'integer', format: 'int64' },
  counts: { type: 'array', items: { type: 'integer', format: 'int64' } },
  map: { type: 'object', additionalProperties: { type: 'string' } },
};

/** The API's own description (OpenAPI 3.1), made from its routes and the messages of the contract. */
export function openApiDocument(version: string): string {
  const paths: Record<string, object> = {};
  for (const route of ROUTES) paths[route.path] = { [route.verb.toLowerCase()]: operation(route) };
  return JSON.stringify({
    openapi: '3.1.0',
    info: {
      title: 'Polymq native REST API',
      version,
      description:
        'Queues, events, commands and queries over HTTP and WebSockets. Names of fields are taken in any case, bytes are ' +
        'base64, 64-bit integers are exact, and empty fields are left out.',
    },
    paths,
    components: {
      schemas: {
        ...Object.fromEntries(jsonTypes().map((type) => [shortName(type.name), schema(type)])),
        Error: {
          type: 'object',
          properties: { is_error: { const: true }, message: { type: 'string' }, data: { type: 'null' } },
        },
      },
    },
  });
}

function operation(route: Route): object {
  const shared = { operationId: route.operation, summary: route.summary };
  const refused = { description: 'Refused', ...content({ $ref: '#/components/schemas/Error' }) };
  if (route.kind !== 'unary') {
    return {
      ...shared,
      description:
        route.kind === 'stream'
          ? `A WebSocket. The client sends ${shortName(route.request.name)}, the server ${shortName(route.response.name)}, a text frame each.`
          : `A WebSocket. The server sends ${shortName(route.response.name)}, a text frame each.`,
      parameters: route.kind === 'subscribe' ? subscribeParameters(route.types) : [],
      responses: { 101: { description: 'The WebSocket begins' }, 400: refused },
    };
  }
  const parameters = Object.keys(route.query).map((name) => parameter(name, { type: 'string' }));
  const hasBody = route.request.fields.length > 0;
  return {
    ...shared,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody ? { requestBody: content(ref(route.request)) } : {}),
    responses: {
      200: { description: 'Done', ...content(answer(route.response)) },
      400: refused,
      503: { description: 'Not now: try again' },
    },
  };
}

function subscribeParameters(types: Readonly<Record<string, number>>): object[] {
  const text = { type: 'string' };
  return [
    { ...parameter('subscribe_type', { enum: Object.keys(types) }), required: true },
    { ...parameter('client_id', text), required: true },
    { ...parameter('channel', text), required: true },
    parameter('group', text),
    ...('events_store' in types
      ? [
          parameter('events_store_type_data', { type: 'integer', minimum: 0, maximum: 6 }),
          parameter('events_store_type_value', { type: 'integer', format: 'int64' }),
        ]
      : []),
  ];
}

function parameter(name: string, shape: object): object {
  return { name, in: 'query', schema: shape };
}

function answer(type: JsonType<Fields> | undefined): object {
  return {
    type: 'object',
    properties: {
      is_error: { const: false },
      message: { const: 'OK' },
      data: type === undefined ? { type: 'null' } : ref(type),
    },
  };
}

function schema(type: JsonType<Fields>): object {
  const properties = type.fields.map(({ name, kind, type: inner }) => {
    if (inner === undefined) return [name, SCALARS[kind]];
    const of = { $ref: `#/components/schemas/${shortName(inner)}` };
    return [name, kind === 'messages' ? { type: 'array', items: of } : of];
  });
  return { type: 'object', properties: Object.fromEntries(properties) as object };
}

function ref(type: JsonType<Fields>): object {
  return { $ref: `#/components/schemas/${shortName(type.name)}` };
}

function content(of: object): object {
  return { content: { 'application/json': { schema: of } } };
}

function shortName(full: string): string {
  return full.slice(full.lastIndexOf('.') + 1);
}
