import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { urlOf } from '../../support/server.js';
import { as, listeners, live, log, queue, unsubscribed } from './native-calls.js';
import {
  Denied,
  testCases,
  testComplete,
  useRuledServer,
  type PolicyCase,
  type Right,
} from './policy-cases.js';

const server = useRuledServer();

async function ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${urlOf(server().running, 'api')}${path}`, {
    method,
    headers: {
      'x-client-id': 'somebody',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status === 403)
    throw new Denied({ status: 403, error: (JSON.parse(text) as { error: string }).error });
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
}

const change = (...changes: Parameters<ReturnType<typeof server>['running']['broker']['change']>[0]) =>
  server().running.broker.change(changes);
async function prepare(): Promise<void> {
  const { broker } = server().running;
  for (const channel of ['q', 'to'].map(as)) await change({ do: 'create-queue', channel, ifMissing: true });
  await change({ do: 'create-log', channel: as('l'), ifMissing: true });
  await broker.send([{ channel: as('q'), body: Buffer.from('x') }]);
  for (const { alias } of broker.aliases()) await change({ do: 'remove-alias', alias });
}
const messages = [{ body: 'x' }];
function row(route: string, needs: readonly Right[], path: string, body?: object): PolicyCase {
  const [method = ''] = route.split(' ');
  return {
    operation: route,
    needs,
    prepare,
    run: () => ask(method, path, body),
  };
}
const both = (name: string): readonly Right[] => [queue(name, 'Read'), queue(name, 'Write')];

const ROWS: readonly PolicyCase[] = [
  ...[
    '/health',
    '/ready',
    '/metrics',
    '/api/v1/queues',
    '/api/v1/logs',
    '/api/v1/channels',
    '/api/v1/aliases',
  ].map((path) => row(`GET ${path}`, [], path)),
  {
    ...row('GET /api/v1/cluster', [], '/api/v1/cluster'),
    run: () =>
      ask('GET', '/api/v1/cluster').catch((error: unknown) => expect(String(error)).toContain('404')),
  },
  row('POST /api/v1/queues/:channel/messages', [queue('q', 'Write')], '/api/v1/queues/q/messages', {
    messages,
  }),
  {
    ...row('POST /api/v1/queues/:channel/messages', [queue('q', 'Write')], '/api/v1/queues/q/messages', {
      messages: [...messages, ...messages],
    }),
    what: 'several',
  },
  row('GET /api/v1/queues/:channel/messages', [queue('q', 'Read')], '/api/v1/queues/q/messages'),
  row('POST /api/v1/queues/:channel/receive', [queue('q', 'Read')], '/api/v1/queues/q/receive', {}),
  row('POST /api/v1/queues/:channel/purge', [queue('q', 'Read')], '/api/v1/queues/q/purge', {}),
  row(
    'POST /api/v1/queues/:channel/move',
    [queue('q', 'Read'), queue('to', 'Write')],
    '/api/v1/queues/q/move',
    {
      to: 'to',
    },
  ),
  row('POST /api/v1/logs/:channel/events', [log('l', 'Write')], '/api/v1/logs/l/events', { messages }),
  {
    ...row('GET /api/v1/logs/:channel/events', [log('l', 'Read')], '/api/v1/logs/l/events'),
    prepare: async () => {
      await prepare();
      await server().running.broker.append([{ channel: as('l'), body: Buffer.from('x') }]);
    },
  },
  row('POST /api/v1/events/:channel', [live('Events', 'e', 'Write')], '/api/v1/events/e', { messages }),
  {
    ...row('GET /api/v1/events/:pattern', [live('Events', 'e', 'Read')], '/api/v1/events/e'),
    run: async () => {
      const leaving = new AbortController();
      const url = `${urlOf(server().running, 'api')}/api/v1/events/e`;
      const answer = await fetch(url, { headers: { 'x-client-id': 'somebody' }, signal: leaving.signal });
      if (answer.status === 403)
        throw new Denied({ status: 403, error: ((await answer.json()) as { error: string }).error });
      expect(listeners(server().running, 'events', 'e')()).toBe(1);
      leaving.abort();
      await unsubscribed(server().running);
    },
  },
  row('POST /api/v1/aliases', [...both('q'), ...both('q-alias')], '/api/v1/aliases', {
    alias: 'q-alias',
    channel: 'q',
  }),
  {
    ...row('DELETE /api/v1/aliases/:alias', both('q'), '/api/v1/aliases/q-alias'),
    prepare: async () => {
      await prepare();
      await change({ do: 'set-alias', alias: as('q-alias'), channel: as('q') });
    },
  },
];

/** Routes as the sources add them. */
const SOURCES = new URL('../../../src/ops/api/', import.meta.url);
const sources = readdirSync(SOURCES)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => readFileSync(new URL(file, SOURCES), 'utf8'));
const routes = sources.flatMap((source) => [
  ...[...source.matchAll(/app\.(get|post|put|patch|delete)(?:<[^(]*>)?\(\s*'([^']+)'/g)].map(
    ([, method = '', path = '']) => `${method.toUpperCase()} ${path}`,
  ),
  // What is answered before it is known who asks.
  ...[...source.matchAll(/case '(\/\w+)':/g)].map(([, path = '']) => `GET ${path}`),
]);

describe('the admin API', () => {
  testComplete(ROWS, routes);
  testCases(server, ROWS, () => ({ status: 403, error: 'forbidden' }));

  it('lists leave out what a client has no right to', async () => {
    server().allowAll();
    await prepare();
    await change({ do: 'create-log', channel: as('l-unseen'), ifMissing: true });
    await change({ do: 'set-alias', alias: as('to-alias'), channel: as('to') });
    server().allow([queue('q', 'Write'), log('l', 'Read')]);
    const named = async (list: string): Promise<unknown> =>
      ((await ask('GET', `/api/v1/${list}`))[list] as { channel: string }[]).map(({ channel }) => channel);
    expect(await named('queues')).toEqual(['q']);
    expect(await named('logs')).toEqual(['l']);
    expect(await named('channels')).toEqual(['l', 'q']);
    expect(await named('aliases')).toEqual([]);
  });
});
