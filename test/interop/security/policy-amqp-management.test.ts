import { describe, expect, it } from 'vitest';
import { urlOf } from '../../support/server.js';
import { right, useRuledServer } from './policy-cases.js';

const server = useRuledServer();

async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${urlOf(server().running, 'amqp-management')}/api/${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from('alice:x').toString('base64')}` },
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
});
