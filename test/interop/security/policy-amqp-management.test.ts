import { describe, expect, it } from 'vitest';
import { urlOf } from '../../support/server.js';
import { RawAmqp } from '../../support/raw-amqp.js';
import { exchange, queue } from './amqp-calls.js';
import { right, useRuledServer } from './policy-cases.js';

const server = useRuledServer();

async function ask(
  method: string,
  path: string,
  body?: object,
  user = 'alice',
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${urlOf(server().running, 'amqp-management')}/api/${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(`${user}:x`).toString('base64')}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
}

const names = (list: unknown): readonly string[] =>
  (list as readonly { readonly name: string }[])
    .map(({ name }) => name)
    .filter((name) => !/^(amq\.|$)/.test(name));

describe("AMQP's management API", () => {
  it('shows queues, exchanges and bindings that a client has a right to, and no others', async () => {
    server().allowAll();
    for (const name of ['seen', 'unseen']) {
      await ask('PUT', `queues/%2F/${name}`, {});
      await ask('PUT', `exchanges/%2F/${name}-x`, { type: 'fanout' });
      await ask('POST', `bindings/%2F/e/${name}-x/q/${name}`, {});
    }
    server().allow([
      right('Queues', 'Read', 'amqp.default.seen'),
      right('Queues', 'Write', 'amqp.default.seen-x'),
    ]);
    for (const path of ['queues', 'queues/%2F']) {
      expect(names((await ask('GET', path)).body)).toEqual(['seen']);
    }
    for (const path of ['exchanges', 'exchanges/%2F']) {
      expect(names((await ask('GET', path)).body)).toEqual(['seen-x']);
    }
    for (const path of ['bindings', 'bindings/%2F']) {
      const { body } = await ask('GET', path);
      const ends = (body as readonly { source: string; destination: string }[]).map(
        ({ source, destination }) => `${source}>${destination}`,
      );
      expect(ends).toEqual(['>seen', 'seen-x>seen']);
    }
    expect((await ask('GET', 'queues/%2F/seen')).status).toBe(200);
    for (const path of ['queues/%2F/unseen', 'queues/%2F/unseen/bindings', 'exchanges/%2F/unseen-x']) {
      expect([path, (await ask('GET', path)).status]).toEqual([path, 404]);
    }
  });

  it('ends of bindings are not shown, nor bound or unbound, to who may not know of them', async () => {
    server().allowAll();
    await ask('PUT', 'exchanges/%2F/seen-y', { type: 'fanout' });
    await ask('POST', 'bindings/%2F/e/seen-y/q/unseen', {});
    await ask('POST', 'bindings/%2F/e/seen-y/e/unseen-x', {});
    await ask('POST', 'bindings/%2F/e/unseen-x/e/seen-y', {});
    server().allow([exchange('seen-y', 'Read'), exchange('seen-y', 'Write')]);
    const before = server().state.now();
    for (const path of [
      'bindings/%2F/e/seen-y/q/unseen',
      'bindings/%2F/e/seen-y/q/nothing',
      'bindings/%2F/e/seen-y/e/unseen-x',
      'bindings/%2F/e/unseen-x/e/seen-y',
      'bindings/%2F/e/seen-y/q/unseen/~',
    ]) {
      expect([path, (await ask('GET', path)).status]).toEqual([path, 404]);
    }
    for (const path of ['bindings/%2F/e/seen-y/q/unseen', 'bindings/%2F/e/seen-y/q/nothing']) {
      expect([path, (await ask('POST', path, {})).status]).toEqual([path, 404]);
    }
    expect((await ask('DELETE', 'bindings/%2F/e/seen-y/q/unseen/~')).status).toBe(404);
    for (const side of ['source', 'destination']) {
      expect((await ask('GET', `exchanges/%2F/seen-y/bindings/${side}`)).body).toEqual([]);
    }
    expect((await ask('GET', 'exchanges/%2F/amq.default/bindings/source')).body).toEqual([]);
    expect(server().state.now()).toEqual(before);
  });

  it('refuses what its operation on the wire refuses, and changes nothing', async () => {
    server().allowAll();
    await ask('PUT', 'queues/%2F/looked-at', {});
    await ask('POST', 'exchanges/%2F/amq.default/publish', {
      properties: {},
      routing_key: 'looked-at',
      payload: 'x',
      payload_encoding: 'string',
    });
    server().allow([queue('looked-at', 'Write'), exchange('aliveness-test', 'Write')]);
    const before = server().state.now();
    const taking = { count: 1, ackmode: 'ack_requeue_false', encoding: 'auto' };
    const refusals: readonly (readonly [string, string, object?])[] = [
      ['POST', 'queues/%2F/looked-at/get', taking],
      ['DELETE', 'queues/%2F/looked-at/contents'],
      ['PUT', 'queues/%2F/mine', {}],
      ['PUT', 'exchanges/%2F/mine', { type: 'fanout' }],
      ['GET', 'aliveness-test/%2F'],
    ];
    for (const [method, path, body] of refusals) {
      const answer = await ask(method, path, body);
      expect([path, answer]).toMatchObject([path, { status: 401, body: { error: 'not_authorised' } }]);
    }
    server().allow([queue('looked-at', 'Read')]);
    expect((await ask('DELETE', 'queues/%2F/looked-at')).status).toBe(401);
    expect(server().state.now()).toEqual(before);
  });

  it('counts in the overview what its reader may see', async () => {
    server().allowAll();
    await ask('PUT', 'queues/%2F/counted', {});
    server().allow([queue('counted', 'Read')]);
    const bob = await RawAmqp.open(server().running.address('amqp').port, { user: ['bob', 'x'] });
    const { body } = await ask('GET', 'overview');
    // The default exchange, and the system's, are there for everybody.
    expect(body).toMatchObject({
      object_totals: { queues: 1, connections: 0, channels: 0, consumers: 0, exchanges: 7 },
    });
    expect((await ask('GET', 'connections')).body).toEqual([]);
    expect((await ask('GET', 'overview', undefined, 'bob')).body).toMatchObject({
      object_totals: { connections: 1 },
    });
    await bob.close();
  });

  it('is administered by who has both rights to `amqp`', async () => {
    server().allow([right('Queues', 'Read', 'amqp'), right('Queues', 'Write', 'amqp')]);
    expect((await ask('GET', 'whoami')).body).toMatchObject({ tags: ['administrator'] });
    expect((await ask('PUT', 'vhosts/ruled', {})).status).toBe(201);
    expect((await ask('GET', 'users')).status).toBe(200);
    server().allow([right('Queues', 'Write', 'amqp'), right('Queues', 'Read', 'amqp.default.any')]);
    expect((await ask('GET', 'whoami')).body).toMatchObject({ tags: ['management'] });
    const before = server().state.now();
    for (const [method, path, body] of [
      ['DELETE', 'vhosts/ruled', undefined],
      ['PUT', 'users/mallory', { password: 'p', tags: 'administrator' }],
      ['PUT', 'policies/%2F/p', { pattern: '.*', definition: { 'message-ttl': 1 } }],
      ['POST', 'definitions/%2F', { queues: [{ name: 'mine' }] }],
      ['GET', 'definitions/%2F', undefined],
      ['GET', 'nodes', undefined],
    ] as const) {
      expect([path, (await ask(method, path, body)).status]).toEqual([path, 401]);
    }
    expect(server().state.now()).toEqual(before);
  });
});
