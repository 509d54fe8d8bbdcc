import { CommandsClient, EventsClient, QueriesClient, Utils, type Config } from 'kubemq-js';
import type { QueriesReceiveMessage } from 'kubemq-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNativeServer, until, type NativeServer } from './native-server.js';

/** The published client, unchanged: live events, commands and queries. */
let server: NativeServer;
const open: { close(): void }[] = [];
const options = (clientId: string): Config => ({ address: server.address, clientId, reconnectInterval: 0 });

beforeAll(async () => {
  server = await startNativeServer();
});
afterAll(async () => {
  for (const client of open) client.close();
  await server.stop();
});

function made<T extends { close(): void }>(client: T): T {
  open.push(client);
  return client;
}

const body = (text: string): Uint8Array => Utils.stringToBytes(text);
const textOf = (message: { body?: Uint8Array | string }): string =>
  Buffer.from(message.body as Uint8Array).toString();
const subscribers = (count: number) => until(() => server.broker.live.figures().subscribers === count);

describe('kubemq-js events', () => {
  it('send and stream to wildcards and groups, until they unsubscribe', async () => {
    const client = made(new EventsClient(options('events')));
    const seen: Record<string, string[]> = { all: [], one: [], two: [] };
    const take = (name: string) => (error: Error | null, event: { body: Uint8Array | string }) => {
      if (!error) seen[name]!.push(textOf(event));
    };
    const all = await client.subscribe({ channel: 'k.>' }, take('all'));
    const one = await client.subscribe({ channel: 'k.*', group: 'g' }, take('one'));
    const two = await client.subscribe({ channel: 'k.*', group: 'g' }, take('two'));
    await subscribers(3);
    expect(await client.send({ id: 'id', channel: 'k.1', body: body('1') })).toMatchObject({ sent: true });
    const stream = await client.stream(() => undefined);
    for (const text of ['2', '3', '4']) stream.write({ channel: 'k.1', body: body(text) });
    await until(() => seen['all']!.length === 4 && seen['one']!.length + seen['two']!.length === 4);
    expect(seen['all']).toEqual(['1', '2', '3', '4']);
    expect(seen['one']).toHaveLength(2);
    stream.end();
    for (const subscription of [all, one, two]) subscription.unsubscribe();
    await subscribers(0);
  });
});

describe('kubemq-js commands and queries', () => {
  it('are carried out or not, and tell why', async () => {
    const client = made(new CommandsClient(options('commands')));
    const seen: string[] = [];
    const subscription = await client.subscribe({ channel: 'k.c', group: 'g' }, (error, command) => {
      if (error) return;
      seen.push(textOf(command));
      const executed = textOf(command) === 'do';
      void client.response({
        id: command.id,
        replyChannel: command.replyChannel,
        clientId: 'commands',
        timestamp: Date.now(),
        executed,
        error: executed ? '' : 'no',
      });
    });
    await subscribers(1);
    const send = (text: string) => client.send({ channel: 'k.c', body: body(text), timeout: 5000 });
    expect(await send('do')).toMatchObject({ executed: true, error: '' });
    expect(await send('refuse')).toMatchObject({ executed: false, error: 'no' });
    expect(seen).toEqual(['do', 'refuse']);
    subscription.unsubscribe();
    await subscribers(0);
    await expect(client.send({ channel: 'k.c', body: body('late'), timeout: 100 })).rejects.toThrow(
      'Error 301: timeout for request message',
    );
  });

  it('give answers, from the cache while it holds them', async () => {
    const client = made(new QueriesClient(options('queries')));
    const seen: QueriesReceiveMessage[] = [];
    const subscription = await client.subscribe({ channel: 'k.q' }, (error, query) => {
      if (error) return;
      seen.push(query);
      void client.response({
        id: query.id,
        replyChannel: query.replyChannel,
        clientId: 'queries',
        timestamp: Date.now(),
        executed: true,
        error: '',
        metadata: 'answer',
        body: body(textOf(query).toUpperCase()),
      });
    });
    await subscribers(1);
    const query = {
      channel: 'k.q',
      metadata: 'm',
      body: body('hello'),
      timeout: 5000,
      cacheKey: 'k',
      cacheTTL: 60,
    };
    for (let i = 0; i < 2; i++) {
      const reply = await client.send(query);
      expect(reply).toMatchObject({ executed: true, metadata: 'answer' });
      expect(textOf(reply)).toBe('HELLO');
    }
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ channel: 'k.q', metadata: 'm' });
    subscription.unsubscribe();
    await subscribers(0);
  });
});
