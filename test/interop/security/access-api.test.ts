import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { POLICY, useSecuredServer } from './secured-server.js';

const server = useSecuredServer();

describe('the admin API', () => {
  const ask = (path: string, bearer?: string, init: RequestInit = {}): Promise<Response> => {
    const headers = {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      'content-type': 'application/json',
    };
    return fetch(`http://127.0.0.1:${server().running.address('api').port}${path}`, { ...init, headers });
  };

  it('shows health and figures to everybody, and the rest to who has a token', async () => {
    for (const path of ['/health', '/ready', '/metrics']) expect((await ask(path)).status).toBe(200);
    expect((await ask('/api/v1/queues')).status).toBe(401);
    expect((await ask('/api/v1/queues', server().tokens.root)).status).toBe(200);
  });

  it('asks for a token on every route that changes or shows something, and has none that shows the configuration', async () => {
    const changing = [
      ['POST', '/api/v1/aliases'],
      ['DELETE', '/api/v1/aliases/a'],
      ['POST', '/api/v1/events/e'],
      ['POST', '/api/v1/logs/l/events'],
      ...['messages', 'receive', 'purge', 'move'].map((what) => ['POST', `/api/v1/queues/q/${what}`]),
    ] as const;
    for (const [method = '', path = ''] of changing) {
      const body = method === 'POST' ? { body: '{}' } : {};
      expect((await ask(path, undefined, { method, ...body })).status, path).toBe(401);
    }
    const showing = ['channels', 'logs', 'queues/q/messages', 'aliases', 'events/e', 'logs/l/events'];
    for (const path of showing.map((name) => `/api/v1/${name}`)) {
      expect((await ask(path)).status, path).toBe(401);
    }
    for (const path of ['/config', '/api/config']) {
      expect((await ask(path, server().tokens.root)).status, path).toBe(404);
    }
  });

  it('counts what was refused', async () => {
    const figure = async (series: string): Promise<number> => {
      const text = await (await ask('/metrics')).text();
      const line = text.split('\n').find((one) => one.startsWith(`polymq_${series} `));
      return Number(line?.split(' ').at(-1));
    };
    const purges = 'access_refused{kind="queue",access="read"}';
    const [tokensBefore, purgesBefore] = [await figure('tokens_refused'), await figure(purges)];
    await server().running.broker.change([
      { do: 'create-queue', channel: 'native.orders' as ChannelName, ifMissing: true },
    ]);
    expect((await ask('/api/v1/queues', 'nonsense')).status).toBe(401);
    const purge = { method: 'POST', body: '{}' };
    expect((await ask('/api/v1/queues/native.orders/purge', server().tokens.bob, purge)).status).toBe(403);
    expect(await figure('tokens_refused')).toBe(tokensBefore + 1);
    expect(await figure(purges)).toBe(purgesBefore + 1);
  });

  it('streams live events by the rules, and ends a stream that they allow no longer', async () => {
    expect((await ask('/api/v1/events/native.orders', server().tokens.bob)).status).toBe(403);
    const reports = await ask('/api/v1/events/native.reports', server().tokens.bob);
    const all = await ask('/api/v1/events/native.*', server().tokens.root);
    const lines = all.body!.pipeThrough(new TextDecoderStream()).getReader();
    const send = (channel: string): Promise<Response> =>
      ask(`/api/v1/events/${channel}`, server().tokens.root, {
        method: 'POST',
        body: JSON.stringify({ messages: [{ body: 'x' }] }),
      });
    expect(await (await send('native.reports')).json()).toEqual({ subscribers: 2 });
    expect(JSON.parse((await lines.read()).value ?? '')).toMatchObject({
      channel: 'native.reports',
      body: 'x',
    });
    server().replacePolicy([POLICY[0]]);
    const [event, end] = (await reports.text()).trimEnd().split('\n');
    expect(JSON.parse(event ?? '')).toMatchObject({ body: 'x' });
    expect(JSON.parse(end ?? '')).toMatchObject({ error: 'forbidden' });
    server().replacePolicy(POLICY);
    await lines.cancel();
  });

  it('shows and does only what the rules allow', async () => {
    await server().running.broker.change([
      { do: 'create-queue', channel: 'native.orders' as ChannelName, ifMissing: true },
      { do: 'create-queue', channel: 'native.reports' as ChannelName, ifMissing: true },
    ]);
    const { queues } = (await (await ask('/api/v1/queues', server().tokens.bob)).json()) as {
      queues: { channel: string }[];
    };
    expect(queues.every(({ channel }) => channel.endsWith('reports'))).toBe(true);
    const purge = { method: 'POST', body: '{}' };
    expect((await ask('/api/v1/queues/native.orders/purge', server().tokens.bob, purge)).status).toBe(403);
    const alias = {
      method: 'POST',
      body: JSON.stringify({ alias: 'native.x-reports', channel: 'native.reports' }),
    };
    expect((await ask('/api/v1/aliases', server().tokens.bob, alias)).status).toBe(403);
    expect((await ask('/api/v1/aliases', server().tokens.root, alias)).status).toBe(201);
  });
});
