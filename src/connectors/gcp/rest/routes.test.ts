import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { RouteMatcher, variableField } from './route-matcher.js';
import { REST_ROUTES } from './routes.js';

interface Node {
  readonly nested?: Readonly<Record<string, Node>>;
  readonly methods?: Readonly<
    Record<string, { readonly parsedOptions?: readonly Readonly<Record<string, unknown>>[] }>
  >;
}

/** Every google.api.http option of the protos that Google's client brings, as rows. */
function publicRows(): string[] {
  const load = createRequire(import.meta.url);
  const root = load('@google-cloud/pubsub/build/protos/protos.json') as Node;
  const rows: string[] = [];
  const walk = (node: Node, name: string): void => {
    for (const [rpc, { parsedOptions }] of Object.entries(node.methods ?? {})) {
      const http = parsedOptions
        ?.map((option) => option['(google.api.http)'])
        .find((option) => option !== undefined);
      if (http === undefined) continue;
      const { body = '', ...verbs } = http as Record<string, string>;
      for (const [verb, path] of Object.entries(verbs))
        rows.push([name, rpc, verb.toUpperCase(), path, body].join(' '));
    }
    for (const [part, inner] of Object.entries(node.nested ?? {}))
      walk(inner, name === '' ? part : `${name}.${part}`);
  };
  walk(root, '');
  return rows.filter((row) => row.startsWith('google.pubsub.v1.'));
}

describe('the route table', () => {
  it('is that of the public protos', () => {
    const ours = REST_ROUTES.filter(({ service }) => service.startsWith('google.pubsub.v1.'));
    const rows = ours.map(({ service, rpc, verb, path, body = '' }) =>
      [service, rpc, verb, path, body].join(' '),
    );
    expect(rows.toSorted()).toEqual(publicRows().toSorted());
    expect(rows).toHaveLength(34);
  });

  const matcher = new RouteMatcher(REST_ROUTES.map((route) => ({ route })));
  const match = (method: string, path: string) => {
    const found = matcher.match(method, path);
    return found === undefined ? undefined : [found.target.route.rpc, found.value];
  };

  it.each([
    ['PUT', '/v1/projects/p/topics/t', 'CreateTopic', 'projects/p/topics/t'],
    ['POST', '/v1/projects/p/topics/t:publish', 'Publish', 'projects/p/topics/t'],
    ['GET', '/v1/projects/example.com:p/topics', 'ListTopics', 'projects/example.com:p'],
    ['GET', '/v1/projects/p/topics/t/subscriptions', 'ListTopicSubscriptions', 'projects/p/topics/t'],
    ['GET', '/v1/projects/p/topics/a%25b%2Bc', 'GetTopic', 'projects/p/topics/a%b+c'],
    ['GET', '/v1/projects/p/topics/a%2Fb', 'GetTopic', 'projects/p/topics/a%2Fb'],
    ['GET', '/v1/projects/p/schemas/s@12:listRevisions', 'ListSchemaRevisions', 'projects/p/schemas/s@12'],
    ['POST', '/v1/projects/p/schemas:validate', 'ValidateSchema', 'projects/p'],
    ['GET', '/v1/projects/p/snapshots/s:getIamPolicy', 'GetIamPolicy', 'projects/p/snapshots/s'],
  ])('%s %s is %s', (method, path, rpc, value) => {
    expect(match(method, path)).toEqual([rpc, value]);
  });

  it.each([
    ['POST', '/v1/projects/p/topics/t'],
    ['GET', '/v1/projects/p/topics/t:unknown'],
    ['GET', '/v2/projects/p/topics/t'],
    ['GET', '/v1/projects/p'],
    ['GET', '/v1/projects/p/topics/%ff'],
    ['GET', '/'],
  ])('%s %s is nothing', (method, path) => {
    expect(match(method, path)).toBeUndefined();
  });

  it('knows the fields of its variables', () => {
    expect(variableField(REST_ROUTES.find(({ rpc }) => rpc === 'UpdateTopic')!)).toEqual(['topic', 'name']);
  });
});
