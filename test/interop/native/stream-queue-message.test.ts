import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import type { NativeClient } from '../../support/native-client.js';
import type { StreamRequest, StreamResponse } from '../../support/native-shapes.js';
import type { Stream } from '../../support/native-streams.js';
import { pass, startNativeServer, until, type NativeServer } from './native-server.js';

const Type = { receive: 1, ack: 2, reject: 3, visibility: 4, resend: 5, modified: 6 } as const;

let server: NativeServer;
let client: NativeClient;
const clock = new ManualClock();
beforeAll(async () => {
  server = await startNativeServer({ clock });
  client = server.client();
});
afterAll(() => server.stop());

const stats = (channel: string) => server.broker.queueStats(channel as never)!;

async function send(channel: string, text = 'x', Policy = {}): Promise<void> {
  expect(await client.send({ Channel: channel, Body: Buffer.from(text), Policy })).toMatchObject({
    IsError: false,
  });
}

function ask(
  stream: Stream<StreamRequest, StreamResponse>,
  type: number,
  request: Partial<StreamRequest> = {},
): Promise<StreamResponse> {
  return stream.request({ ClientID: 'c', StreamRequestTypeData: type, ...request });
}

async function held(channel: string, request: Partial<StreamRequest> = {}) {
  await send(channel);
  const stream = client.streamQueueMessage();
  const reply = await ask(stream, Type.receive, { Channel: channel, ...request });
  expect(reply.IsError).toBe(false);
  return { stream, RefSequence: reply.Message!.Attributes.Sequence, message: reply.Message! };
}

describe('a message on a stream of its own', () => {
  it('is acked; the stream ends', async () => {
    const { stream, RefSequence, message } = await held('s.ack');
    expect(message.Attributes.ReceiveCount).toBe(1);
    expect(await ask(stream, Type.ack, { RefSequence, ClientID: 'another' })).toMatchObject({
      IsError: false,
      StreamRequestTypeData: Type.ack,
    });
    expect(await stream.ended).toMatchObject({ code: 0 });
    expect(stats('s.ack')).toMatchObject({ ready: 0, inFlight: 0 });
  });

  it('is rejected: back to the tail, counted', async () => {
    const { stream, RefSequence } = await held('s.reject');
    expect(await ask(stream, Type.reject, { RefSequence })).toMatchObject({ IsError: false });
    expect(await stream.ended).toMatchObject({ code: 0 });
    const [again] = (await client.receive('s.reject')).Messages;
    expect(again!.Attributes.ReceiveCount).toBe(2);
  });

  it('is resent to another queue', async () => {
    const { stream, message } = await held('s.resend');
    expect(await ask(stream, Type.resend, { Channel: 's.target' })).toMatchObject({ IsError: false });
    expect(await stream.ended).toMatchObject({ code: 0 });
    const [moved] = (await client.receive('s.target')).Messages;
    expect(moved!.MessageID).toBe(message.MessageID);
    expect(moved!.Attributes.ReceiveCount).toBe(1);
  });

  it('is replaced by another message', async () => {
    const { stream } = await held('s.old');
    const ModifiedMessage = { ClientID: 'c', Channel: 's.new', Body: Buffer.from('new') };
    expect(await ask(stream, Type.modified, { ModifiedMessage })).toMatchObject({ IsError: false });
    expect(await stream.ended).toMatchObject({ code: 0 });
    expect(stats('s.old')).toMatchObject({ ready: 0, inFlight: 0 });
    expect((await client.receive('s.new')).Messages[0]!.Body.toString()).toBe('new');
  });
});

describe('every request has one answer', () => {
  it('when there is no message', async () => {
    const stream = client.streamQueueMessage();
    expect(await ask(stream, Type.ack, { RefSequence: 1 })).toMatchObject({
      IsError: true,
      Error: TEXTS.noMessageToAck,
    });
    expect(await ask(stream, Type.reject, { RefSequence: 1 })).toMatchObject({
      Error: TEXTS.noMessageToReject,
    });
    expect(await ask(stream, Type.resend, { Channel: 'x' })).toMatchObject({ Error: TEXTS.noMessageToSend });
    expect(await ask(stream, Type.visibility, { VisibilitySeconds: 1 })).toMatchObject({
      Error: TEXTS.noMessageToAck,
    });
    expect(await ask(stream, 9)).toMatchObject({ Error: TEXTS.streamRequestType });
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
  });

  it('when the sequence is wrong, or a second message is asked for', async () => {
    const { stream, RefSequence } = await held('s.twice');
    expect(await ask(stream, Type.ack, { RefSequence: 99 })).toMatchObject({ Error: TEXTS.ackSequence });
    expect(await ask(stream, Type.receive, { Channel: 's.twice' })).toMatchObject({
      Error: TEXTS.alreadyReceiving,
    });
    expect(await ask(stream, Type.ack, { RefSequence })).toMatchObject({ IsError: false });
  });

  it('when the queue stays empty: 138, and the end', async () => {
    const stream = client.streamQueueMessage();
    const reply = ask(stream, Type.receive, { Channel: 's.empty', WaitTimeSeconds: 2 });
    await until(() => server.broker.queueStats('s.empty' as never)?.waiters === 1);
    await pass(clock, 2000);
    expect(await reply).toMatchObject({ IsError: true, Error: TEXTS.noNewMessage });
    expect(await stream.ended).toMatchObject({ code: 0 });
  });
});

describe('the visibility timer', () => {
  it('gives the message back and says so', async () => {
    const { stream } = await held('s.timer', { VisibilitySeconds: 5 });
    await pass(clock, 4900);
    expect(stats('s.timer').inFlight).toBe(1);
    await pass(clock, 400);
    expect(await stream.next()).toMatchObject({ IsError: true, Error: TEXTS.visibilityExpired });
    expect(await stream.ended).toMatchObject({ code: 0 });
    const [again] = (await client.receive('s.timer')).Messages;
    expect(again!.Attributes.ReceiveCount).toBe(2);
  });

  it('starts again with ModifyVisibility', async () => {
    const { stream, RefSequence } = await held('s.extend', { VisibilitySeconds: 5 });
    await pass(clock, 4000);
    expect(await ask(stream, Type.visibility, { VisibilitySeconds: 10 })).toMatchObject({ IsError: false });
    await pass(clock, 9000);
    expect(stats('s.extend').inFlight).toBe(1);
    expect(await ask(stream, Type.ack, { RefSequence })).toMatchObject({ IsError: false });
  });

  it('is not needed when the client goes away', async () => {
    const { stream } = await held('s.gone', { VisibilitySeconds: 600 });
    stream.cancel();
    await until(() => stats('s.gone').ready === 1);
  });
});

describe('policies, by the clock', () => {
  it('a delayed message shows up when its time has come, to a waiting Get too', async () => {
    await send('s.delay', 'late', { DelaySeconds: 3 });
    expect(stats('s.delay')).toMatchObject({ ready: 0, delayed: 1 });
    const stream = client.downstream();
    const waiting = stream.get('s.delay', { WaitTimeout: 10_000 });
    await until(() => stats('s.delay').waiters === 1);
    await pass(clock, 2900);
    expect(stats('s.delay').delayed).toBe(1);
    await pass(clock, 200);
    const [message] = (await waiting).Messages;
    expect(message!.Body.toString()).toBe('late');
    expect(BigInt(message!.Attributes.DelayedTo)).toBeGreaterThan(0n);
    stream.cancel();
  });

  it('an expired message is gone', async () => {
    const sent = await client.send({
      Channel: 's.expire',
      Body: Buffer.from('x'),
      Policy: { ExpirationSeconds: 2 },
    });
    expect(BigInt(sent.ExpirationAt) - BigInt(sent.SentAt)).toBe(2_000_000_000n);
    await pass(clock, 2300);
    expect((await client.receive('s.expire', { isPeek: true })).Messages).toEqual([]);
    expect(stats('s.expire')).toMatchObject({ ready: 0, expired: 1 });
  });

  it('expiry counts from the end of the delay', async () => {
    const sent = await client.send({
      Channel: 's.both',
      Body: Buffer.from('x'),
      Policy: { ExpirationSeconds: 2, DelaySeconds: 3 },
    });
    expect(BigInt(sent.DelayedTo) - BigInt(sent.SentAt)).toBe(3_000_000_000n);
    expect(BigInt(sent.ExpirationAt) - BigInt(sent.SentAt)).toBe(5_000_000_000n);
  });
});
