import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRoutes } from '../../../src/connectors/amqp/management/all-routes.js';
import type { Api } from '../../../src/connectors/amqp/management/api.js';
import { RawAmqp } from '../../support/raw-amqp.js';
import { startAmqpServer, type AmqpServer } from './amqp-server.js';
import { call } from './management-call.js';

const config = {
  users: [{ name: 'guest', password: 'guest' }],
  managementEnable: true,
  managementPort: 0,
};

const TAGS = ['administrator', 'monitoring', 'policymaker', 'management'] as const;
type Tag = (typeof TAGS)[number];

let server: AmqpServer;
const open: RawAmqp[] = [];

/** A user for each tag, named after it, with a connection, a channel and a consumer. */
beforeAll(async () => {
  server = await startAmqpServer({ config });
  for (const tag of TAGS) {
    await call(server, 'PUT', `users/${tag}`, { password: 'p', tags: tag });
    await call(server, 'PUT', `permissions/%2F/${tag}`, { configure: '.*', write: '.*', read: '.*' });
    const raw = await RawAmqp.open(server.port, { user: [tag, 'p'] });
    await raw.declare(`of-${tag}`);
    await raw.consume(`of-${tag}`, tag);
    open.push(raw);
  }
  await call(server, 'PUT', 'users/nobody', { password: 'p', tags: '' });
});
afterAll(async () => {
  for (const raw of open) await raw.close();
  await server.stop();
});

const as = (tag: Tag | 'nobody', method: string, path: string, input?: unknown) =>
  call(server, method, path, input, `${tag}:p`);
const list = async (tag: Tag, path: string): Promise<readonly Record<string, never>[]> =>
  (await as(tag, 'GET', path)).body as readonly Record<string, never>[];
const everybody = [...TAGS].sort();

/** Who may ask a route at all, by RabbitMQ's tags; everybody who is in, by `management`. */
const ROUTES: Readonly<Record<Tag, readonly string[]>> = {
  management: `
    GET overview, GET cluster-name, GET extensions, GET feature-flags, GET deprecated-features, GET deprecated-features/used,
    GET whoami, GET auth, GET auth/attempts/:, GET aliveness-test/:, GET healthchecks/node, GET rebalance/queues,
    GET health/checks/alarms, GET health/checks/local-alarms, GET health/checks/certificate-expiration/:/:,
    GET health/checks/port-listener/:, GET health/checks/protocol-listener/:, GET health/checks/virtual-hosts,
    GET health/checks/node-is-mirror-sync-critical, GET health/checks/node-is-quorum-critical,
    GET health/checks/ready-to-serve-clients, GET queues, GET queues/:, GET queues/:/:, PUT queues/:/:, DELETE queues/:/:,
    GET queues/:/:/bindings, DELETE queues/:/:/contents, POST queues/:/:/actions, POST queues/:/:/get, GET exchanges,
    GET exchanges/:, GET exchanges/:/:, PUT exchanges/:/:, DELETE exchanges/:/:, GET exchanges/:/:/bindings/source,
    GET exchanges/:/:/bindings/destination, POST exchanges/:/:/publish, GET bindings, GET bindings/:, GET bindings/:/e/:/q/:,
    POST bindings/:/e/:/q/:, GET bindings/:/e/:/q/:/:, DELETE bindings/:/e/:/q/:/:, GET bindings/:/e/:/e/:,
    POST bindings/:/e/:/e/:, GET bindings/:/e/:/e/:/:, DELETE bindings/:/e/:/e/:/:, GET connections, GET connections/:,
    DELETE connections/:, GET connections/:/channels, GET connections/username/:, DELETE connections/username/:, GET channels,
    GET channels/:, GET consumers, GET consumers/:, GET vhosts, GET vhosts/:, GET vhosts/:/connections, GET vhosts/:/channels,
    GET policies, GET policies/:, GET policies/:/:, GET operator-policies, GET operator-policies/:, GET operator-policies/:/:`
    .split(',')
    .map((route) => route.trim()),
  monitoring: ['GET nodes', 'GET nodes/:'],
  policymaker: ['PUT policies/:/:', 'DELETE policies/:/:'],
  administrator: `
    PUT cluster-name, GET definitions, GET definitions/:, POST definitions, POST definitions/:, GET global-parameters,
    GET global-parameters/:, PUT global-parameters/:, DELETE global-parameters/:, PUT operator-policies/:/:,
    DELETE operator-policies/:/:, GET parameters, GET parameters/:, GET parameters/:/:, GET parameters/:/:/:,
    PUT parameters/:/:/:, DELETE parameters/:/:/:, GET permissions, GET permissions/:/:, PUT permissions/:/:,
    DELETE permissions/:/:, GET topic-permissions, GET topic-permissions/:/:, PUT topic-permissions/:/:,
    DELETE topic-permissions/:/:, DELETE topic-permissions/:/:/:, GET user-limits, GET user-limits/:, PUT user-limits/:/:,
    DELETE user-limits/:/:, GET users, GET users/:, PUT users/:, DELETE users/:, GET users/:/permissions,
    GET users/:/topic-permissions, GET vhost-limits, GET vhost-limits/:, PUT vhost-limits/:/:, DELETE vhost-limits/:/:,
    PUT vhosts/:, DELETE vhosts/:, GET vhosts/:/permissions, GET vhosts/:/topic-permissions`
    .split(',')
    .map((route) => route.trim()),
};

/** Which tags open what the key stands for. */
const OPENED_BY: Readonly<Record<Tag, readonly Tag[]>> = {
  management: TAGS,
  monitoring: ['administrator', 'monitoring'],
  policymaker: ['administrator', 'policymaker'],
  administrator: ['administrator'],
};
const refusal = {
  status: 401,
  body: { error: 'not_authorised', reason: 'User not authorised to access object' },
};

/** A request that fits a route, about something that is not there. */
function pathOf(route: string): readonly [method: string, path: string] {
  const [method = '', path = ''] = route.split(' ');
  return [method, path.replaceAll(/:/g, 'nothing')];
}

describe("RabbitMQ's tags", () => {
  it('every route is for somebody', () => {
    const routes = allRoutes({ context: { broker: {} }, users: {} } as unknown as Api);
    const known = routes.map(({ method, path }) => `${method} ${path.join('/')}`);
    expect(Object.values(ROUTES).flat().sort()).toEqual(known.sort());
  });

  it('who has none does not come in', async () => {
    expect(await as('nobody', 'GET', 'overview')).toMatchObject({ status: 401 });
  });

  describe.each(TAGS)('routes for %s', (least) => {
    it.each(ROUTES[least].map(pathOf))('%s %s', async (method, path) => {
      for (const tag of TAGS) {
        const answer = await as(tag, method, path, method === 'GET' ? undefined : {});
        if (OPENED_BY[least].includes(tag)) expect([tag, answer.status]).not.toEqual([tag, 401]);
        else expect([tag, answer]).toEqual([tag, refusal]);
      }
    });
  });

  it('connections, channels and consumers are shown to their own user; all of them to who monitors', async () => {
    for (const tag of TAGS) {
      const expected = OPENED_BY.monitoring.includes(tag) ? everybody : [tag];
      for (const path of ['connections', 'vhosts/%2F/connections', 'channels', 'vhosts/%2F/channels']) {
        expect([tag, path, (await list(tag, path)).map(({ user }) => user).sort()]).toEqual([
          tag,
          path,
          expected,
        ]);
      }
      for (const path of ['consumers', 'consumers/%2F']) {
        const tags = (await list(tag, path)).map(({ consumer_tag }) => consumer_tag).sort();
        expect([tag, path, tags]).toEqual([tag, path, expected]);
      }
      const others = (await list(tag, 'connections/username/administrator')).length;
      expect([tag, others]).toEqual([tag, OPENED_BY.monitoring.includes(tag) ? 1 : 0]);
    }
  });

  it("another user's connection and channel are refused to who does not monitor, and closed by administrators alone", async () => {
    const [administrators] = await list('administrator', 'connections/username/administrator');
    const name = encodeURIComponent(String(administrators?.['name']));
    const channel = encodeURIComponent(`${String(administrators?.['name'])} (1)`);
    for (const tag of TAGS) {
      for (const path of [`connections/${name}`, `connections/${name}/channels`, `channels/${channel}`]) {
        const answer = await as(tag, 'GET', path);
        if (OPENED_BY.monitoring.includes(tag)) expect([tag, path, answer.status]).toEqual([tag, path, 200]);
        else expect([tag, path, answer]).toEqual([tag, path, refusal]);
      }
      if (tag === 'administrator') continue;
      for (const path of [`connections/${name}`, 'connections/username/administrator']) {
        expect([tag, path, await as(tag, 'DELETE', path)]).toEqual([tag, path, refusal]);
      }
      const own = encodeURIComponent(String((await list(tag, `connections/username/${tag}`))[0]?.['name']));
      expect((await as(tag, 'GET', `connections/${own}`)).status).toBe(200);
    }
    expect(await list('administrator', 'connections')).toHaveLength(TAGS.length);
  });

  it('the overview counts what its reader may see, and describes the node to who monitors', async () => {
    for (const tag of TAGS) {
      const monitors = OPENED_BY.monitoring.includes(tag);
      const { body } = await as(tag, 'GET', 'overview');
      const count = monitors ? TAGS.length : 1;
      expect([tag, body]).toMatchObject([
        tag,
        {
          object_totals: { connections: count, channels: count, queues: TAGS.length, consumers: TAGS.length },
        },
      ]);
      for (const field of ['node', 'listeners', 'contexts']) {
        expect([tag, field, field in (body as object)]).toEqual([tag, field, monitors]);
      }
    }
  });
});
