import { createSecretKey } from 'node:crypto';
import { once } from 'node:events';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ManualClock } from '../../../src/base/clock.js';
import { authenticationSettings } from '../../../src/ops/config/security.js';
import { TokenVerifier } from '../../../src/ops/security/token-verifier.js';
import { NativeClient } from '../../support/native-client.js';
import { Downstream } from '../../support/native-shapes.js';
import { pass, startNativeServer, until, type NativeServer } from './native-server.js';

const SECRET = 'a secret that is long enough for this algorithm: 0123456789';
const REFUSED = 'Error 421: authentication verification failed, ';
/** How far the issuer's clock may be from ours. */
const TOLERANCE_MS = 5_000;
/** Of clients that outwait their token. */
const PATIENCE_MS = 3_600_000;

let clock: ManualClock;
let server: NativeServer;
let clients: NativeClient[];
beforeEach(async () => {
  clients = [];
  clock = new ManualClock();
  const { jwtConfig } = authenticationSettings.parse({ enable: true, jwtConfig: { key: SECRET } });
  server = await startNativeServer({ clock, identity: new TokenVerifier(jwtConfig, clock) });
});
afterEach(async () => {
  for (const client of clients) client.close();
  let isStopped = false;
  const stopped = server.stop().finally(() => (isStopped = true));
  while (!isStopped) await pass(clock, 50);
  await stopped;
});

function token(seconds: number): Promise<string> {
  return new SignJWT({ ClientID: 'me', exp: Math.floor(clock.now() / 1000) + seconds })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(createSecretKey(Buffer.from(SECRET)));
}

async function client(seconds: number): Promise<NativeClient> {
  const made = new NativeClient(server.address, undefined, { token: await token(seconds) });
  clients.push(made);
  return made;
}

const text = (body: string) => Buffer.from(body);
const figures = () => server.broker.live.figures();
const openStreams = () => server.connector.status().counters['open_streams'];

describe('when a token ends', () => {
  it('subscriptions that began with it end, and others go on', async () => {
    const short = await client(60);
    const long = await client(3600);
    const ending = [
      short.listen({ Channel: 'e' }),
      short.subscribe({ Channel: 'stored', Group: 'g' }),
      short.serve({ Channel: 'q' }),
    ];
    const going = long.listen({ Channel: 'e' });
    await until(() => figures().subscribers === 3 && openStreams() === 4);
    await pass(clock, 60_000 + TOLERANCE_MS - 50);
    await long.sendEvent({ Channel: 'e', Body: text('1') });
    await ending[0]!.has(1);
    await going.has(1);
    expect(openStreams()).toBe(4);
    await pass(clock, 50);
    for (const stream of ending) expect(await stream.ended).toEqual({ code: 16, details: REFUSED });
    await until(() => openStreams() === 1);
    expect(figures().subscribers).toBe(1);
    await long.sendEvent({ Channel: 'e', Body: text('2') });
    await going.has(2);
    expect(ending[0]!.events).toHaveLength(1);
  });

  it('what a stream holds goes back to its queue', async () => {
    const short = await client(60);
    const long = await client(3600);
    await long.sendBatch(['1', '2'].map((n) => ({ Channel: 'q', Body: text(n) })));
    const downstream = short.downstream();
    expect((await downstream.get('q', { MaxItems: 1 })).Messages).toHaveLength(1);
    const older = short.streamQueueMessage();
    await older.request({ StreamRequestTypeData: 1, ClientID: 'c', Channel: 'q', VisibilitySeconds: 600 });
    const upstream = short.upstream();
    await upstream.request({ Messages: [{ Channel: 'other', Body: text('x') }] });
    expect(server.broker.queueStats('q' as never)).toMatchObject({ inFlight: 2, ready: 0 });
    await pass(clock, 60_000 + TOLERANCE_MS);
    for (const stream of [downstream, older, upstream]) {
      expect(await stream.ended).toEqual({ code: 16, details: REFUSED });
    }
    const { Messages } = await long.receive('q', { max: 2 });
    expect(Messages.map(({ Body }) => Body.toString()).sort()).toEqual(['1', '2']);
    await until(() => openStreams() === 0);
  });

  it('a Get that waits is gone: the next message is for others', async () => {
    const short = await client(60);
    const long = await client(3600);
    const downstream = short.downstream();
    downstream.write({
      RequestTypeData: Downstream.get,
      ClientID: 'c',
      Channel: 'q',
      MaxItems: 1,
      WaitTimeout: 3_000_000,
    });
    await until(() => server.broker.queueStats('q' as never)?.waiters === 1);
    await pass(clock, 60_000 + TOLERANCE_MS);
    expect((await downstream.ended).code).toBe(16);
    await until(() => server.broker.queueStats('q' as never)?.waiters === 0);
    await long.send({ Channel: 'q', Body: text('x') });
    expect((await long.receive('q')).Messages[0]!.Attributes.ReceiveCount).toBe(1);
  });

  it('a call that waits for messages is refused, and the next message is for others', async () => {
    const short = await client(60);
    const long = await client(3600);
    const receive = { ClientID: 'c', Channel: 'q', MaxNumberOfMessages: 1, WaitTimeSeconds: 3_000 };
    const overGrpc = short
      .call('ReceiveQueueMessages', receive, PATIENCE_MS)
      .catch((error: unknown) => error);
    const overRest = fetch(`${server.restUrl}/queue/receive`, {
      method: 'POST',
      headers: { authorization: await token(60) },
      body: JSON.stringify(receive),
    });
    await until(() => server.broker.queueStats('q' as never)?.waiters === 2);
    await pass(clock, 60_000 + TOLERANCE_MS - 50);
    expect(server.broker.queueStats('q' as never)?.waiters).toBe(2);
    await pass(clock, 50);
    expect(await overGrpc).toMatchObject({ code: 16, details: REFUSED });
    const answer = await overRest;
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { is_error: true, message: REFUSED, data: null },
    ]);
    expect(server.broker.queueStats('q' as never)?.waiters).toBe(0);
    await long.send({ Channel: 'q', Body: text('x') });
    expect((await long.receive('q')).Messages[0]!.Attributes.ReceiveCount).toBe(1);
  });

  it('a request that waits for its answer is refused', async () => {
    const short = await client(60);
    const long = await client(3600);
    const served = long.serve({ Channel: 'c', SubscribeTypeData: 3 });
    await until(() => figures().subscribers === 1);
    const ask = { ClientID: 'me', Channel: 'c', RequestTypeData: 1, Body: text('x'), Timeout: 600_000 };
    const asked = short.call('SendRequest', ask, PATIENCE_MS).catch((error: unknown) => error);
    await served.has(1);
    await pass(clock, 60_000 + TOLERANCE_MS);
    expect(await asked).toMatchObject({ code: 16, details: REFUSED });
  });

  it('calls that were answered in time leave nothing behind', async () => {
    const short = await client(60);
    await short.send({ Channel: 'q', Body: text('x') });
    const before = clock.pending;
    expect((await short.receive('q', { waitSeconds: 60 })).Messages).toHaveLength(1);
    expect(clock.pending).toBeLessThanOrEqual(before);
  });

  it('a WebSocket is told why, and closed', async () => {
    const socket = new WebSocket(
      `${server.restUrl.replace('http', 'ws')}/subscribe/events?subscribe_type=events&client_id=c&channel=e`,
      { headers: { authorization: await token(60) } },
    );
    const frames: unknown[] = [];
    socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())));
    const closed = once(socket, 'close');
    await once(socket, 'open');
    await until(() => figures().subscribers === 1);
    await pass(clock, 60_000 + TOLERANCE_MS);
    expect((await closed)[0]).toBe(1008);
    expect(frames).toEqual([{ is_error: true, message: REFUSED, data: null }]);
    expect(figures().subscribers).toBe(0);
  });

  it('nothing is left of streams that ended before', async () => {
    const short = await client(60);
    const before = clock.pending;
    const stream = short.listen({ Channel: 'e' });
    await until(() => figures().subscribers === 1);
    expect(clock.pending).toBeGreaterThan(before);
    stream.cancel();
    await until(() => openStreams() === 0);
    await stream.ended;
    await pass(clock, 2_000);
    expect(clock.pending).toBeLessThanOrEqual(before + 1);
  });
});
