import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawAmqp } from '../../support/raw-amqp.js';
import { startAmqpServer } from './amqp-server.js';
import { rabbitMqInstalled, startRabbitMq } from './rabbitmq.js';

/** Where a broker and its management API are. */
interface Target {
  readonly port: number;
  readonly managementPort: number;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const VHOST = 'lists';
/** RabbitMQ's figures of connections are some seconds old. */
const FIGURES_MS = 20_000;

async function ours(): Promise<Target> {
  const server = await startAmqpServer({
    config: { users: [{ name: 'guest', password: 'guest' }], managementEnable: true, managementPort: 0 },
  });
  return {
    port: server.port,
    managementPort: server.ports.get('amqp-management') ?? 0,
    stop: async () => {
      await server.stop();
      expect(server.logged).toEqual([]);
    },
  };
}

describe.each([
  { broker: 'ours', start: ours, installed: true },
  { broker: 'RabbitMQ', start: startRabbitMq, installed: rabbitMqInstalled },
])('lists of the management API, $broker', ({ start, installed }) => {
  let target: Target;
  const clients: RawAmqp[] = [];

  const call = async (method: string, path: string, input?: unknown): Promise<Answer> => {
    const answer = await fetch(`http://127.0.0.1:${String(target.managementPort)}/api/${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}`,
        'content-type': 'application/json',
      },
      ...(input === undefined ? {} : { body: JSON.stringify(input) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const get = async (path: string): Promise<unknown> => (await call('GET', path)).body;
  /** The names in a list, or on a page of it. */
  const names = async (path: string): Promise<readonly unknown[]> => {
    const body = await get(path);
    const items = (Array.isArray(body) ? body : (body as { items: unknown[] }).items) as { name: unknown }[];
    return items.map(({ name }) => name);
  };

  beforeAll(async () => {
    if (!installed) return;
    target = await start();
    await call('PUT', `vhosts/${VHOST}`, {});
    await call('PUT', `permissions/${VHOST}/guest`, { configure: '.*', write: '.*', read: '.*' });
    for (let i = 0; i < 2; i++) clients.push(await RawAmqp.open(target.port, { vhost: VHOST }));
    const [one, two] = clients as [RawAmqp, RawAmqp];
    await two.call(2, 'channel.open', { reserved1: '' });
    for (const [i, queue] of ['b.one', 'a.Two', 'c-three', 'zz'].entries()) {
      await one.declare(queue, { durable: i % 2 === 0 });
      await one.bind(queue, 'amq.topic', queue);
    }
    await one.consume('zz', 'tag');
    await call('PUT', `policies/${VHOST}/capped`, { pattern: '^b', definition: { 'max-length': 5 } });
    for (let i = 0; i < FIGURES_MS / 100; i++) {
      const seen = [await names(`vhosts/${VHOST}/channels`), await names('connections')];
      if (seen[0]?.length === 3 && seen[1]?.length === 2) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }, 120_000);

  afterAll(async () => {
    for (const client of clients) await client.close();
    if (installed) await target.stop();
  });

  it.skipIf(!installed)('queues: pages, filters, order and columns', async () => {
    const queues = `queues/${VHOST}`;
    expect(await get(`${queues}?page=1&page_size=2&columns=name`)).toEqual({
      filtered_count: 4,
      item_count: 2,
      items: [{ name: 'a.Two' }, { name: 'b.one' }],
      page: 1,
      page_count: 2,
      page_size: 2,
      total_count: 4,
    });
    expect(await names(`${queues}?page=2&page_size=2`)).toEqual(['c-three', 'zz']);
    expect(await names(`${queues}?page=1&name=T`)).toEqual(['a.Two', 'c-three']);
    expect(await names(`${queues}?page=1&name=t&use_regex=true`)).toEqual(['a.Two', 'c-three']);
    expect(await names(`${queues}?page=1&name=%5E[AB]&use_regex=true`)).toEqual(['a.Two', 'b.one']);
    expect(await names(`${queues}?page=1&name=%5E[AB]&use_regex=1`)).toEqual([]);
    expect(await names(`${queues}?name=T`)).toHaveLength(4);
    expect(await names(`${queues}?sort=name&sort_reverse=true`)).toEqual(['zz', 'c-three', 'b.one', 'a.Two']);
    expect(await names(`${queues}?sort=durable`)).toEqual(['a.Two', 'zz', 'b.one', 'c-three']);
    expect(await names(`${queues}?sort=nothing`)).toEqual(['a.Two', 'b.one', 'c-three', 'zz']);
    expect(await names(`${queues}?page=3&page_size=2`)).toEqual([]);
    expect(await get(`${queues}?page=1&name=nomatch`)).toMatchObject({ filtered_count: 0, page_count: 0 });
    expect(await get(`${queues}?columns=nothing`)).toEqual([[], [], [], []]);
    expect(await get(`${queues}?columns=nothing&page=1&page_size=1`)).toMatchObject({ items: [[]] });
    expect(await get(`bindings/${VHOST}?columns=name,none.of.these`)).toEqual(Array(8).fill([]));
    expect(await get(`${queues}?columns=name,durable&sort=durable&page=1&page_size=1`)).toMatchObject({
      items: [{ name: 'a.Two', durable: false }],
    });
  });

  const number = 'Pagination parameters are invalid';
  it.skipIf(!installed).each([
    ['page=9', 'page_out_of_range', 'Page out of range, page: 9 page size: 100, len: 4'],
    ['page=2&page_size=2&name=no', 'page_out_of_range', 'Page out of range, page: 2 page size: 2, len: 0'],
    [
      'page=0',
      'invalid_pagination_parameters',
      'Invalid pagination parameters: page number 0, page size undefined',
    ],
    [
      'page=1&page_size=501',
      'invalid_pagination_parameters',
      'Invalid pagination parameters: page number 1, page size 501',
    ],
    ['page=x', 'bad_request', number],
    ['page=&page_size=', 'bad_request', number],
    ['page=1&page_size=x', 'bad_request', number],
    ['page=1&name=(&use_regex=true', 'bad_request', number],
  ])('queues: %s is refused', async (query, error, reason) => {
    expect(await call('GET', `queues/${VHOST}?${query}`)).toEqual({ status: 400, body: { error, reason } });
  });

  it
    .skipIf(!installed)
    .each([
      'connections',
      'channels',
      'exchanges',
      `exchanges/${VHOST}`,
      'vhosts',
      'queues',
      'connections/username/guest',
    ])('%s has pages', async (path) => {
    const all = await names(path);
    expect(await names(`${path}?page=2&page_size=1`)).toEqual([all[1]]);
    const inOrder = await names(`${path}?sort=name`);
    expect(await names(`${path}?page=1&sort=name&sort_reverse=true`)).toEqual([...inOrder].reverse());
    expect((await call('GET', `${path}?page=99`)).status).toBe(400);
  });

  it
    .skipIf(!installed)
    .each([
      `vhosts/${VHOST}/connections`,
      `vhosts/${VHOST}/channels`,
      `vhosts/${VHOST}/permissions`,
      `vhosts/${VHOST}/topic-permissions`,
      `consumers/${VHOST}`,
      'consumers',
      `bindings/${VHOST}`,
      'bindings',
      `bindings/${VHOST}/e/amq.topic/q/zz`,
      `queues/${VHOST}/zz/bindings`,
      `exchanges/${VHOST}/amq.topic/bindings/source`,
      `exchanges/${VHOST}/amq.topic/bindings/destination`,
      `policies/${VHOST}`,
      'policies',
      `operator-policies/${VHOST}`,
      `parameters/policy/${VHOST}`,
      'parameters',
      'users',
      'permissions',
      'users/guest/permissions',
      'nodes',
    ])('%s has none: page is not looked at', async (path) => {
    const all = (await get(path)) as unknown[];
    expect(Array.isArray(all)).toBe(true);
    expect(await get(`${path}?page=9&page_size=1&name=nobody&columns=name`)).toHaveLength(all.length);
  });

  it.skipIf(!installed)('those without pages have an order and columns, too', async () => {
    const keys = async (path: string): Promise<readonly unknown[]> =>
      (
        (await get(
          `${path}${path.includes('?') ? '&' : '?'}columns=vhost,source,destination,routing_key`,
        )) as object[]
      ).map((one) => (one as { routing_key: unknown }).routing_key);
    const bound = ['a.Two', 'b.one', 'c-three', 'zz'];
    expect(await keys(`exchanges/${VHOST}/amq.topic/bindings/source`)).toEqual(bound);
    expect(await keys(`bindings/${VHOST}`)).toEqual([...bound, ...bound]);
    expect(await keys(`bindings/${VHOST}?sort=routing_key&sort_reverse=true`)).toEqual(
      bound.flatMap((key) => [key, key]).reverse(),
    );
    expect(await get(`vhosts/${VHOST}/connections?columns=user,vhost`)).toEqual([
      { user: 'guest', vhost: VHOST },
      { user: 'guest', vhost: VHOST },
    ]);
    const inOrder = await names(`vhosts/${VHOST}/channels`);
    expect(inOrder).toEqual([...inOrder].sort());
    expect(await names(`vhosts/${VHOST}/channels?sort=name&sort_reverse=true`)).toEqual(
      [...inOrder].reverse(),
    );
    expect(await get(`parameters/policy/${VHOST}?columns=name,component`)).toEqual([
      { name: 'capped', component: 'policy' },
    ]);
  });
});
