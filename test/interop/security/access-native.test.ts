import { afterAll, describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { NativeClient } from '../../support/native-client.js';
import { denied, useSecuredServer } from './secured-server.js';

const server = useSecuredServer();

describe('the native API', () => {
  const clients: NativeClient[] = [];
  afterAll(() => clients.forEach((client) => client.close()));
  function native(bearer?: string, clientId?: string): NativeClient {
    const address = `127.0.0.1:${server().running.address('native-grpc').port}`;
    const client = new NativeClient(address, clientId, bearer === undefined ? {} : { token: bearer });
    clients.push(client);
    return client;
  }

  it('everybody may ping; anything else needs a token', async () => {
    await native().call('Ping', {});
    const refusals = [
      () => native().send({ Channel: 'native.orders', Body: Buffer.from('x') }),
      () => native('nonsense').receive('native.orders'),
    ];
    for (const refusal of refusals) {
      expect(await denied(refusal())).toMatchObject({
        code: 16,
        details: 'Error 421: authentication verification failed, ',
      });
    }
  });

  it('the ClientID in the token stands in the place of the one in the request', async () => {
    const client = native(`Bearer ${server().tokens.alice}`, 'root');
    await client.send({ Channel: 'native.orders', Body: Buffer.from('x') });
    const { Messages } = await client.receive('native.orders');
    expect(Messages[0]?.ClientID).toBe('alice');
    const upstream = client.upstream();
    const answer = await upstream.request({
      Messages: [{ ClientID: 'root', Channel: 'native.orders', Body: Buffer.from('y') }],
    });
    expect(answer.Results).toHaveLength(1);
    const second = await client.receive('native.orders');
    expect(second.Messages[0]?.ClientID).toBe('alice');
  });

  it('refuses with Error 412 where each kind of call reports errors', async () => {
    const text = 'Error 412: access denied to resource';
    const client = native(server().tokens.alice);
    const send = await client
      .send({ Channel: 'native.reports', Body: Buffer.from('x') })
      .catch((error: unknown) => ({ IsError: true, Error: (error as { details: string }).details }));
    expect(send).toMatchObject({ IsError: true, Error: text });
    expect(
      await denied(client.sendEvent({ Channel: 'native.reports', Store: true, Body: Buffer.from('x') })),
    ).toMatchObject({ code: 7, details: text });
    expect(
      await denied(client.sendEvent({ Channel: 'native.reports', Body: Buffer.from('x') })),
    ).toMatchObject({ code: 7, details: text });
    expect(
      await denied(client.ask({ Channel: 'native.reports', Body: Buffer.from('x'), Timeout: 500 })),
    ).toMatchObject({ code: 7, details: text });
    const downstream = client.downstream();
    expect(await downstream.get('native.reports')).toMatchObject({ IsError: true, Error: text });
  });

  it('is the same over REST', async () => {
    const { port } = server().running.address('native-rest');
    const send = async (channel: string, authorization?: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}/queue/send`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(authorization === undefined ? {} : { authorization }),
        },
        body: JSON.stringify({ ClientID: 'root', Channel: channel, Body: 'eA==' }),
      });
      return { status: answer.status, body: (await answer.json()) as { message: string; data: unknown } };
    };
    expect(await send('native.orders')).toMatchObject({
      status: 401,
      body: { message: 'Error 421: authentication verification failed, ' },
    });
    const basic = `Basic ${Buffer.from(`anybody:${server().tokens.alice}`).toString('base64')}`;
    for (const shown of [server().tokens.alice, `Bearer ${server().tokens.alice}`, basic]) {
      expect(await send('native.orders', shown)).toMatchObject({ status: 200, body: { message: 'OK' } });
    }
    expect(await send('native.reports', server().tokens.alice)).toMatchObject({
      body: { data: { IsError: true, Error: 'Error 412: access denied to resource' } },
    });
  });

  it('lists of channels leave out what a client has no right to, also channels that were only created', async () => {
    const root = native(server().tokens.root);
    const manage = (client: NativeClient, Metadata: string, Tags: Record<string, string>) =>
      client.ask({ Channel: 'kubemq.cluster.internal.requests', Metadata, Tags, Timeout: 5_000 });
    for (const channel_type of ['events', 'events_store', 'commands', 'queries', 'queues']) {
      for (const channel of ['native.orders-listed', 'native.secret-listed']) {
        expect(await manage(root, 'create-channel', { channel_type, channel })).toMatchObject({
          Executed: true,
        });
      }
      const alice = native(server().tokens.alice);
      const listed = await manage(alice, 'list-channels', { channel_type, channel_search: 'listed' });
      const names = (JSON.parse(listed.Body.toString()) as { name: string }[]).map(({ name }) => name);
      expect([channel_type, names]).toEqual([channel_type, ['native.orders-listed']]);
      const tags = { channel_type, channel: 'native.secret-listed' };
      for (const what of ['create-channel', 'delete-channel']) {
        const refused = await manage(alice, what, tags);
        expect(refused).toMatchObject({ Executed: false, Error: 'Error 412: access denied to resource' });
      }
    }
  });

  it('a message cannot be sent by way of its own dead-letter rule', async () => {
    const client = native(server().tokens.alice);
    const sent = await client.send({
      Channel: 'native.orders',
      Body: Buffer.from('x'),
      Policy: { MaxReceiveCount: 1, MaxReceiveQueue: 'native.reports' },
    });
    expect(sent.IsError).toBe(true);
  });

  it('an alias gives no right, and takes none', async () => {
    await server().running.broker.change([
      { do: 'create-queue', channel: 'native.secret' as ChannelName, ifMissing: true },
      {
        do: 'set-alias',
        alias: 'native.orders-alias' as ChannelName,
        channel: 'native.secret' as ChannelName,
      },
    ]);
    const sent = await native(server().tokens.alice).send({
      Channel: 'native.orders-alias',
      Body: Buffer.from('x'),
    });
    expect(sent).toMatchObject({ IsError: true });
  });
});
