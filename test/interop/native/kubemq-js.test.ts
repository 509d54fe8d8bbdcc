import { EventStoreType, EventsStoreClient, QueuesClient, Utils, type Config } from 'kubemq-js';
import type { EventsStoreReceiveMessage, EventsStoreSendResult, QueueTransactionMessage } from 'kubemq-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNativeServer, until, type NativeServer } from './native-server.js';

/** The published client, unchanged: kubemq-js 1.2.3. It cannot send tags; those are tested with a client of our own. */
let server: NativeServer;
let queues: QueuesClient;
const open: { close(): void }[] = [];
const options = (clientId: string): Config => ({ address: server.address, clientId, reconnectInterval: 0 });

beforeAll(async () => {
  server = await startNativeServer();
  queues = new QueuesClient(options('queues'));
  open.push(queues);
});
afterAll(async () => {
  for (const client of open) client.close();
  await server.stop();
});

const stats = (channel: string) => server.broker.queueStats(channel as never)!;
const body = (text: string): Uint8Array => Utils.stringToBytes(text);
const textOf = (message: { body?: Uint8Array | string }): string =>
  Buffer.from(message.body as Uint8Array).toString();

describe('kubemq-js queues', () => {
  it('ping', async () => {
    expect(await queues.ping()).toMatchObject({ version: expect.stringMatching(/^3\./) as string });
  });

  it('send, pull, peek, batch and ackAll', async () => {
    const sent = await queues.send({ channel: 'k.q', metadata: 'm', body: body('one') });
    expect(sent).toMatchObject({ isError: false, error: '' });
    const batch = await queues.batch([
      { channel: 'k.q', body: body('two') },
      { channel: 'k.q', body: body('three') },
    ]);
    expect(batch.map((result) => result.isError)).toEqual([false, false]);
    const peeked = await queues.peek({ channel: 'k.q', maxNumberOfMessages: 10, waitTimeoutSeconds: 1 });
    expect(peeked.messages.map(textOf)).toEqual(['one', 'two', 'three']);
    const pulled = await queues.pull({ channel: 'k.q', maxNumberOfMessages: 1, waitTimeoutSeconds: 1 });
    expect(pulled).toMatchObject({ isError: false, messagesReceived: 1 });
    expect(pulled.messages[0]).toMatchObject({
      id: sent.id,
      clientId: 'queues',
      channel: 'k.q',
      metadata: 'm',
    });
    expect(pulled.messages[0]!.attributes).toMatchObject({ sequence: 1, receiveCount: 1, reRouted: false });
    expect((await queues.ackAll({ channel: 'k.q', waitTimeoutSeconds: 1 })).affectedMessages).toBe(2);
    const empty = await queues.pull({ channel: 'k.q', maxNumberOfMessages: 1, waitTimeoutSeconds: 1 });
    expect(empty).toMatchObject({ isError: false, messagesReceived: 0 });
  });

  it('policies and faults', async () => {
    const delayed = await queues.send({ channel: 'k.p', body: body('x'), policy: { delaySeconds: 60 } });
    expect(delayed.delayedTo).toBeGreaterThan(delayed.sentAt);
    const refused = await queues.send({ channel: 'k.p', body: body('x'), policy: { delaySeconds: 43_201 } });
    expect(refused).toMatchObject({
      isError: true,
      error: 'Error 135: invalid delay seconds, exceed max delay seconds setting in kubemq config',
    });
  });

  /** Runs one transaction; the client's promise resolves when the server ends the stream. */
  async function transaction(
    channel: string,
    act: (message: QueueTransactionMessage) => unknown,
  ): Promise<readonly string[]> {
    const errors: string[] = [];
    await queues.transaction(
      { channel, visibilitySeconds: 10, waitTimeoutSeconds: 1 },
      (error: Error | null, message: QueueTransactionMessage | null) => {
        if (error) errors.push(error.message);
        // The first call only says that the request was written.
        else if (message) void act(message);
      },
    );
    return errors;
  }

  it('transactions: ack, reject, extend, resend, replace', async () => {
    await queues.send({ channel: 'k.t', body: body('x') });
    const counts: (number | undefined)[] = [];
    await transaction('k.t', (message) => {
      counts.push(message.message.attributes?.receiveCount);
      return message.reject();
    });
    await transaction('k.t', async (message) => {
      counts.push(message.message.attributes?.receiveCount);
      await message.extendVisibility(20);
      await message.ack();
    });
    expect(counts).toEqual([1, 2]);
    expect(stats('k.t')).toMatchObject({ ready: 0, inFlight: 0 });

    await queues.send({ channel: 'k.t', body: body('move') });
    await transaction('k.t', (message) => message.resendToChannel('k.t2'));
    await transaction('k.t2', (message) => message.resendNewMessage({ channel: 'k.t3', body: body('new') }));
    const pulled = await queues.pull({ channel: 'k.t3', maxNumberOfMessages: 5, waitTimeoutSeconds: 1 });
    expect(pulled.messages.map(textOf)).toEqual(['new']);
    expect(stats('k.t2')).toMatchObject({ ready: 0, inFlight: 0 });
  });

  it('a transaction on an empty queue ends with Error 138', async () => {
    expect(await transaction('k.empty', () => undefined)).toEqual([
      'Error 138: no new message in queue, wait time expired',
    ]);
  });
});

describe('kubemq-js Events Store', () => {
  function client(clientId: string): EventsStoreClient {
    const made = new EventsStoreClient(options(clientId));
    open.push(made);
    return made;
  }

  it('send, stream, subscribe and resume', async () => {
    const sender = client('sender');
    const channel = 'k.events';
    expect(await sender.send({ channel, body: body('1'), metadata: 'm' })).toMatchObject({ sent: true });

    const results: boolean[] = [];
    const stream = await sender.stream((error: Error | null, result: EventsStoreSendResult | null) => {
      if (!error && result) results.push(result.sent);
    });
    for (const text of ['2', '3']) stream.write({ channel, body: body(text) });
    await until(() => results.length === 2);
    stream.end();
    expect(results).toEqual([true, true]);

    const seen: EventsStoreReceiveMessage[] = [];
    const reader = client('reader');
    const subscription = await reader.subscribe(
      { channel, clientId: 'reader', requestType: EventStoreType.StartFromFirst },
      (error, event) => {
        if (!error) seen.push(event);
      },
    );
    await until(() => seen.length === 3);
    expect(seen.map(textOf)).toEqual(['1', '2', '3']);
    expect(seen.map((event) => event.sequence)).toEqual([1, 2, 3]);
    expect(seen[0]).toMatchObject({ channel, metadata: 'm' });
    subscription.unsubscribe();
    // The client cancels the stream up to two seconds later.
    await until(() => server.broker.logStats(channel as never)?.subscriptions === 0);

    await sender.send({ channel, body: body('4') });
    const again: string[] = [];
    const second = await reader.subscribe(
      { channel, clientId: 'reader', requestType: EventStoreType.StartFromFirst },
      (error, event) => {
        if (!error) again.push(textOf(event));
      },
    );
    await until(() => again.length === 1);
    expect(again).toEqual(['4']);
    second.unsubscribe();
  });

  it('refused input is the call’s error, in the contract’s words', async () => {
    const sender = client('sender');
    await expect(sender.send({ channel: 'a b', body: body('x') })).rejects.toMatchObject({
      code: 13,
      details: 'Error 108: invalid channel value, no white spaces are allowed',
    });
  });
});
