import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ManualClock } from '../../../src/base/clock.js';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import { NATIVE_LIMITS } from '../../../src/connectors/native/limits.js';
import { startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
beforeEach(async () => {
  server = await startNativeServer();
});
afterEach(() => server.stop());

const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Frame = Record<string, unknown>;

/** A WebSocket and the frames that came over it. */
class Peer {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly texts: string[] = [];
  readonly closed: Promise<number>;

  constructor(path: string) {
    this.socket = new WebSocket(server.restUrl.replace('http', 'ws') + path);
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => resolve(code)));
    this.socket.on('error', () => undefined);
    this.socket.on('message', (data: Buffer) => {
      this.texts.push(data.toString());
      this.frames.push(JSON.parse(data.toString()) as Frame);
    });
  }

  async opened(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  send(value: unknown): void {
    this.socket.send(typeof value === 'string' ? value : JSON.stringify(value));
  }

  async has(count: number): Promise<Frame[]> {
    while (this.frames.length < count) await once(this.socket, 'message');
    return this.frames;
  }
}

/** The HTTP answer to a WebSocket that is refused. */
async function refusal(path: string): Promise<{ status: number; body: Frame }> {
  const { socket } = new Peer(path);
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    NodeJS.ReadableStream & { statusCode: number },
  ];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, body: JSON.parse(text) as Frame };
}

const subscribers = (count: number) => until(() => server.broker.live.figures().subscribers === count);

describe('subscriptions', () => {
  it('give live events, stored ones, commands and queries as they are', async () => {
    const client = server.client();
    const live = await new Peer('/subscribe/events?subscribe_type=events&client_id=c&channel=e.*').opened();
    const queries = await new Peer(
      '/subscribe/requests?subscribe_type=queries&client_id=c&channel=q&group=g',
    ).opened();
    await subscribers(2);
    await client.sendEvent({
      EventID: 'id',
      Channel: 'e.1',
      Metadata: 'm',
      Body: Buffer.from('x'),
      Tags: { a: 'b' },
    });
    expect((await live.has(1))[0]).toEqual({
      EventID: 'id',
      Channel: 'e.1',
      Metadata: 'm',
      Body: base64('x'),
      Timestamp: expect.any(Number) as number,
      Tags: { a: 'b' },
    });
    expect(live.texts[0]).toMatch(/"Timestamp":\d{19},/);
    const asked = client.ask({ Channel: 'q', Body: Buffer.from('?') });
    const [request] = await queries.has(1);
    expect(request).toMatchObject({ RequestTypeData: 2, Channel: 'q', Body: base64('?'), Timeout: 5000 });
    await fetch(`${server.restUrl}/send/response`, {
      method: 'POST',
      body: JSON.stringify({ ...request, ClientID: 'r', Executed: true, Body: base64('!') }),
    });
    expect(await asked).toMatchObject({ Executed: true, Body: Buffer.from('!') });
    for (const n of [1, 2, 3])
      await client.sendEvent({ Channel: 's', Body: Buffer.from(String(n)), Store: true });
    const path = '/subscribe/events?subscribe_type=events_store&client_id=c&channel=s';
    const stored = new Peer(`${path}&events_store_type_data=4&events_store_type_value=2`);
    expect((await stored.has(2)).map(({ Sequence, Body }) => [Sequence, Body])).toEqual([
      [2, base64('2')],
      [3, base64('3')],
    ]);
    for (const peer of [live, queries, stored]) peer.socket.close();
    await subscribers(0);
    await until(() => server.broker.logStats('s' as never)?.subscriptions === 0);
  });

  it.each([
    ['/subscribe/events?client_id=c&channel=e', TEXTS.subscribeType],
    ['/subscribe/events?subscribe_type=commands&client_id=c&channel=e', TEXTS.subscribeType],
    ['/subscribe/events?subscribe_type=events&channel=e', TEXTS.clientId],
    ['/subscribe/events?subscribe_type=events&client_id=c&channel=a%20b', TEXTS.whiteSpace],
    ['/subscribe/events?subscribe_type=events_store&client_id=c&channel=e', TEXTS.subscriptionType],
    [
      '/subscribe/events?subscribe_type=events_store&client_id=c&channel=e&events_store_type_data=x',
      'EventsStoreTypeData must be a 32-bit integer',
    ],
    ['/subscribe/requests?subscribe_type=events&client_id=c&channel=e', TEXTS.subscribeType],
    ['/subscribe/requests?subscribe_type=queries&client_id=c&channel=a.*', TEXTS.wildcards],
  ])('that are no good are refused before they begin: %s', async (path, message) => {
    expect(await refusal(path)).toEqual({ status: 400, body: { is_error: true, message, data: null } });
    expect(server.connector.status().counters['open_streams']).toBe(0);
  });

  it('of a position that is taken end with the reason', async () => {
    const path =
      '/subscribe/events?subscribe_type=events_store&client_id=c&channel=s&events_store_type_data=2';
    await new Peer(path).opened();
    await until(() => server.broker.logStats('s' as never)?.subscriptions === 1);
    const second = await new Peer(path).opened();
    const [frame] = await second.has(1);
    expect(frame).toMatchObject({
      is_error: true,
      message: expect.stringContaining('already subscribed') as string,
    });
    expect(await second.closed).toBe(1011);
  });

  it('end at shutdown with the reason', async () => {
    const peer = await new Peer('/subscribe/events?subscribe_type=events&client_id=c&channel=e').opened();
    await subscribers(1);
    const drained = server.connector.drain(5000);
    expect((await peer.has(1))[0]).toMatchObject({ is_error: true, message: TEXTS.webSocketClosed });
    expect(await peer.closed).toBe(1001);
    await drained;
  });

  it('hold a slow reader back', async () => {
    const peer = await new Peer('/subscribe/events?subscribe_type=events&client_id=c&channel=e').opened();
    await subscribers(1);
    peer.socket.pause();
    const client = server.client();
    const stream = client.eventsStream();
    for (let i = 0; i < 90; i++) stream.write({ ClientID: 'c', Channel: 'e', Body: Buffer.alloc(100_000) });
    stream.end();
    await stream.ended;
    expect(server.connector.status().counters['live_events_delivered']).toBeLessThan(90);
    peer.socket.resume();
    await peer.has(90);
  });
});

describe('streams', () => {
  it('of events answer each, plain ones too', async () => {
    const peer = await new Peer('/send/stream').opened();
    peer.send({ EventID: '1', ClientID: 'c', Channel: 'e', Body: base64('x') });
    expect((await peer.has(1))[0]).toEqual({ EventID: '1', Sent: true });
    peer.send({ EventID: '2', ClientID: 'c', Channel: 'e', Body: base64('x'), Store: true });
    expect((await peer.has(2))[1]).toEqual({ EventID: '2', Sent: true });
    peer.send({ EventID: '3', Channel: 'e', Body: base64('x') });
    expect((await peer.has(3))[2]).toEqual({ EventID: '3', Error: TEXTS.clientId });
    peer.send('{');
    expect((await peer.has(4))[3]).toEqual({ Error: 'the body is not valid JSON' });
    peer.socket.send(Buffer.from('{}'), { binary: true });
    peer.send({ EventID: '5', ClientID: 'c', Channel: 'e', Body: base64('x') });
    expect((await peer.has(5))[4]).toEqual({ EventID: '5', Sent: true });
    peer.socket.close();
  });

  it('of a queue settle one message, and close behind it', async () => {
    await server.client().send({ Channel: 'q', Body: Buffer.from('x'), Tags: { a: 'b' } });
    const peer = await new Peer('/queue/stream?client_id=c&channel=q').opened();
    peer.send({
      RequestID: '1',
      ClientID: 'c',
      StreamRequestTypeData: 1,
      Channel: 'q',
      VisibilitySeconds: 60,
    });
    const [received] = await peer.has(1);
    expect(received).toMatchObject({
      RequestID: '1',
      StreamRequestTypeData: 1,
      Message: {
        Channel: 'q',
        Body: base64('x'),
        Tags: { a: 'b' },
        Attributes: { Sequence: 1, ReceiveCount: 1 },
      },
    });
    peer.send('nonsense');
    expect((await peer.has(2))[1]).toEqual({ IsError: true, Error: 'the body is not valid JSON' });
    peer.send({ RequestID: '2', ClientID: 'c', StreamRequestTypeData: 2, RefSequence: 1 });
    expect((await peer.has(3))[2]).toEqual({ RequestID: '2', StreamRequestTypeData: 2 });
    expect(await peer.closed).toBe(1000);
    expect(server.broker.queueStats('q' as never)).toMatchObject({ ready: 0, inFlight: 0 });
  });

  it('of a queue give back what a peer that is gone held', async () => {
    await server.client().send({ Channel: 'q', Body: Buffer.from('x') });
    const peer = await new Peer('/queue/stream').opened();
    peer.send({ ClientID: 'c', StreamRequestTypeData: 1, Channel: 'q' });
    await peer.has(1);
    peer.socket.terminate();
    await until(() => server.broker.queueStats('q' as never)?.ready === 1);
  });
});

describe('a peer that is silent', () => {
  it('is asked whether it is there, and cut', async () => {
    await server.stop();
    const clock = new ManualClock();
    server = await startNativeServer({ clock });
    const there = await new Peer('/send/stream').opened();
    const silent = await new Peer('/send/stream').opened();
    // It reads nothing, so it answers nothing.
    silent.socket.pause();
    const pinged = once(there.socket, 'ping');
    clock.advance(NATIVE_LIMITS.webSocketPingMs);
    await pinged;
    // Its answer to the ping is behind that, and before this.
    there.send({ ClientID: 'c', Channel: 'e', Metadata: 'x' });
    await there.has(1);
    clock.advance(NATIVE_LIMITS.webSocketPingMs);
    silent.socket.resume();
    expect(await silent.closed).toBe(1006);
    expect(there.socket.readyState).toBe(WebSocket.OPEN);
    there.socket.terminate();
  });
});
