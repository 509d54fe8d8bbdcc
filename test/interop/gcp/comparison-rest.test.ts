import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useServer } from '../../support/server.js';
import { eventually } from './clients.js';
import { emulatorJar, startEmulator, type Emulator } from './emulator.js';
import { PushEndpoint } from './push-endpoint.js';

// The same REST requests to this broker and to Google's emulator, one after the other: status and body, ids and times masked.

type Step = readonly [name: string, method: string, path: string, body?: unknown];

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const avro = (...names: string[]) => ({
  type: 'AVRO',
  definition: JSON.stringify({
    type: 'record',
    name: 'A',
    fields: names.map((name) => ({ name, type: 'string', ...(name === 'x' ? {} : { default: '' }) })),
  }),
});
const topic = 'projects/p/topics/ttt';
const schema = 'projects/p/schemas/sch';

const STEPS: readonly Step[] = [
  ['create a topic', 'PUT', '/topics/ttt', {}],
  [
    'create it with its name in the body',
    'PUT',
    '/topics/named',
    { name: 'projects/p/topics/named', labels: { a: 'b' } },
  ],
  ['create it twice', 'PUT', '/topics/ttt', {}],
  ['get a topic', 'GET', '/topics/named'],
  ['get a missing topic', 'GET', '/topics/missing'],
  ['create a subscription', 'PUT', '/subscriptions/sss', { topic, ackDeadlineSeconds: 20 }],
  ['create one in snake_case', 'PUT', '/subscriptions/snake', { topic, ack_deadline_seconds: 20 }],
  ['create one on a missing topic', 'PUT', '/subscriptions/none', { topic: 'projects/p/topics/missing' }],
  ['publish', 'POST', '/topics/ttt:publish', { messages: [{ data: base64('x'), attributes: { a: 'b' } }] }],
  ['publish nothing', 'POST', '/topics/ttt:publish', {}],
  ['publish to a missing topic', 'POST', '/topics/missing:publish', { messages: [{ data: 'eA==' }] }],
  ['pull', 'POST', '/subscriptions/sss:pull', { maxMessages: 5 }],
  ['pull nothing', 'POST', '/subscriptions/sss:pull', { maxMessages: 5, returnImmediately: true }],
  ['pull without a number', 'POST', '/subscriptions/sss:pull', { returnImmediately: true }],
  ['acknowledge garbage', 'POST', '/subscriptions/sss:acknowledge', { ackIds: ['x'] }],
  ['an unknown field', 'PUT', '/topics/other', { bogus: 1 }],
  ['a field of another type', 'PUT', '/topics/other', { labels: 5 }],
  ['no JSON', 'PUT', '/topics/other', '{'],
  ['list topics', 'GET', '/topics?pageSize=10'],
  ['list subscriptions of a topic', 'GET', '/topics/ttt/subscriptions'],
  ['an unknown method', 'POST', '/topics/ttt:unknown', {}],
  ['create a schema', 'POST', '/schemas?schemaId=sch', avro('x')],
  ['create it twice', 'POST', '/schemas?schemaId=sch', avro('x')],
  ['create one without an id', 'POST', '/schemas', avro('x')],
  ['create a bad one', 'POST', '/schemas?schemaId=bad', { type: 'AVRO', definition: 'garbage' }],
  ['create one without type', 'POST', '/schemas?schemaId=bad', { definition: '"string"' }],
  [
    'create one of Protocol Buffers',
    'POST',
    '/schemas?schemaId=proto',
    { type: 'PROTOCOL_BUFFER', definition: 'message M {}' },
  ],
  ['get a schema', 'GET', '/schemas/sch'],
  ['get its basic view', 'GET', '/schemas/sch?view=BASIC'],
  ['get a missing one', 'GET', '/schemas/missing'],
  ['list schemas', 'GET', '/schemas'],
  ['commit a revision', 'POST', '/schemas/sch:commit', { schema: { ...avro('x', 'y'), name: schema } }],
  ['commit it again', 'POST', '/schemas/sch:commit', { schema: { ...avro('x', 'y'), name: schema } }],
  [
    'commit an incompatible one',
    'POST',
    '/schemas/sch:commit',
    { schema: { type: 'AVRO', definition: '"int"', name: schema } },
  ],
  ['list the revisions', 'GET', '/schemas/sch:listRevisions?view=BASIC'],
  ['roll back to none', 'POST', '/schemas/sch:rollback', { revisionId: 'ffffffff' }],
  ['validate a schema', 'POST', '/schemas:validate', { schema: avro('x') }],
  ['validate a bad schema', 'POST', '/schemas:validate', { schema: { type: 'AVRO', definition: '{' } }],
  [
    'validate a message',
    'POST',
    '/schemas:validateMessage',
    { schema: avro('x', 'y'), message: base64('{"x":"a","y":"b"}'), encoding: 'JSON' },
  ],
  [
    'validate a wrong message',
    'POST',
    '/schemas:validateMessage',
    { schema: avro('x', 'y'), message: base64('{"x":1}'), encoding: 'JSON' },
  ],
  [
    'validate one that lacks a field with a default',
    'POST',
    '/schemas:validateMessage',
    { schema: avro('x', 'y'), message: base64('{"x":"a"}'), encoding: 'JSON' },
  ],
  [
    'validate one with a field too many',
    'POST',
    '/schemas:validateMessage',
    { schema: avro('x', 'y'), message: base64('{"x":"a","y":"","z":1}'), encoding: 'JSON' },
  ],
  [
    'validate one without encoding',
    'POST',
    '/schemas:validateMessage',
    { name: schema, message: base64('{}') },
  ],
  ['a topic with the schema', 'PUT', '/topics/guarded', { schemaSettings: { schema, encoding: 'JSON' } }],
  [
    'a topic with a missing schema',
    'PUT',
    '/topics/unguarded',
    { schemaSettings: { schema: 'projects/p/schemas/missing', encoding: 'JSON' } },
  ],
  [
    'publish what fits',
    'POST',
    '/topics/guarded:publish',
    { messages: [{ data: base64('{"x":"a","y":"b"}') }] },
  ],
  ['publish what does not', 'POST', '/topics/guarded:publish', { messages: [{ data: base64('{"x":1}') }] }],
  ['delete the schema', 'DELETE', '/schemas/sch'],
  ['the topic of a deleted schema', 'GET', '/topics/guarded'],
  ['publish to it', 'POST', '/topics/guarded:publish', { messages: [{ data: base64('{}') }] }],
  ['delete a subscription', 'DELETE', '/subscriptions/sss'],
  ['delete a topic', 'DELETE', '/topics/ttt'],
  ['delete it twice', 'DELETE', '/topics/ttt'],
];

/** Where the two differ, and why that is right. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'create one of Protocol Buffers': 'the emulator has none',
  'list schemas': "Google's default view has no definitions",
  'commit an incompatible one': 'Google refuses it',
  'list the revisions': 'those that were refused are not there, and the newest comes first',
  'validate one that lacks a field with a default': 'a default stands for the field, as Avro means it',
  'publish to it': 'what is missing is no resource that the request names',
};

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function answer(port: number, [, method, path, body]: Step): Promise<Answer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`http://127.0.0.1:${port}/v1/projects/p${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(text === undefined ? {} : { body: text }),
  });
  const reply = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(reply);
  } catch {
    json = 'no JSON';
  }
  return { status: response.status, body: response.ok ? masked(json) : 'an error' };
}

const MADE = new Set([
  'messageId',
  'ackId',
  'publishTime',
  'revisionId',
  'revisionCreateTime',
  'messageIds',
  'nextPageToken',
]);

/** Without what every server makes up for itself, and without the fields that the emulator never has. */
function masked(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(masked);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json).filter(([name]) => name !== 'state' && name !== 'expirationPolicy');
  return Object.fromEntries(entries.map(([name, value]) => [name, MADE.has(name) ? 'made' : masked(value)]));
}

const jar = emulatorJar();

describe.skipIf(jar === undefined)("Google's emulator over REST", () => {
  const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await startEmulator(jar ?? '');
  }, 90_000);
  afterAll(() => emulator.stop());

  it.each(STEPS.map((step) => ({ name: step[0], step })))('$name', async ({ name, step }) => {
    const ours = await answer(server().address('gcp').port, step);
    const theirs = await answer(emulator.port, step);
    if (DIFFERENCES[name] === undefined) expect(ours).toEqual(theirs);
    else expect(ours).not.toEqual(theirs);
  });

  it('pushes alike', async () => {
    const endpoint = new PushEndpoint();
    const pushEndpoint = await endpoint.start();
    const payloads = [];
    for (const port of [server().address('gcp').port, emulator.port]) {
      await answer(port, ['', 'PUT', '/topics/pushed', {}]);
      await answer(port, [
        '',
        'PUT',
        '/subscriptions/pushed',
        { topic: 'projects/p/topics/pushed', pushConfig: { pushEndpoint } },
      ]);
      const messages = [{ data: base64('x'), attributes: { a: 'b' } }];
      await answer(port, ['', 'POST', '/topics/pushed:publish', { messages }]);
      await eventually(() => endpoint.requests.length === 1);
      const [request] = endpoint.requests.splice(0);
      const { message, ...rest } = request!.json as unknown as { message: Record<string, string> };
      payloads.push([
        request!.headers['content-type'],
        rest,
        Object.fromEntries(
          Object.entries(message).map(([key, value]) => [
            key,
            key.includes('ttrib') || key === 'data' ? value : typeof value,
          ]),
        ),
      ]);
    }
    await endpoint.stop();
    expect(payloads[0]).toEqual(payloads[1]);
  });
});
