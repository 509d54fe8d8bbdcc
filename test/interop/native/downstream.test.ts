import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { TEXTS } from '../../../src/connectors/native/error-texts.js';
import { NATIVE_LIMITS } from '../../../src/connectors/native/limits.js';
import { NativeClient } from '../../support/native-client.js';
import { Downstream } from '../../support/native-shapes.js';
import { lineTo } from './line.js';
import { pass, startNativeServer, until, type NativeServer } from './native-server.js';

let server: NativeServer;
let client: NativeClient;
beforeAll(async () => {
  server = await startNativeServer();
  client = server.client();
});
afterAll(() => server.stop());

async function fill(channel: string, count: number, policy?: object): Promise<void> {
  const messages = Array.from({ length: count }, (_, i) => ({
    Channel: channel,
    Body: Buffer.from(String(i)),
    ...(policy === undefined ? undefined : { Policy: policy }),
  }));
  expect((await client.sendBatch(messages)).HaveErrors).toBe(false);
}

const texts = (messages: { Body: Buffer }[]): string[] => messages.map((message) => message.Body.toString());
const sequences = (messages: { Attributes: { Sequence: string } }[]): string[] =>
  messages.map((message) => message.Attributes.Sequence);
const stats = (channel: string) => server.broker.queueStats(channel as never)!;

describe('Get', () => {
  it('opens a transaction with what is there, without waiting for more', async () => {
    await fill('d.get', 3);
    const stream = client.downstream();
    // Longer than any test may take: whoever waits for more never answers.
    const reply = await stream.get('d.get', { MaxItems: 10, WaitTimeout: 3_000_000 });
    expect(reply.IsError).toBe(false);
    expect(reply.TransactionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(texts(reply.Messages)).toEqual(['0', '1', '2']);
    expect(reply.TransactionComplete).toBe(false);
    stream.cancel();
  });

  it('of an empty queue answers on time, complete: a second at least, whatever was asked', async () => {
    const clock = new ManualClock();
    const own = await startNativeServer({ clock });
    try {
      const stream = own.client().downstream();
      const reply = stream.get('d.empty', { WaitTimeout: 10 });
      const waiters = () => own.broker.queueStats('d.empty' as never)?.waiters;
      await until(() => waiters() === 1);
      await pass(clock, NATIVE_LIMITS.getWaitMsMin - 50);
      expect(waiters()).toBe(1);
      await pass(clock, 100);
      expect(await reply).toMatchObject({ IsError: false, Messages: [], TransactionComplete: true });
      stream.end();
      expect(await stream.ended).toMatchObject({ code: 0 });
    } finally {
      await own.stop();
    }
  });

  it('with AutoAck removes what it gives', async () => {
    await fill('d.auto', 2);
    const stream = client.downstream();
    const reply = await stream.get('d.auto', { AutoAck: true });
    expect(reply).toMatchObject({ TransactionComplete: true });
    expect(reply.Messages).toHaveLength(2);
    expect(stats('d.auto')).toMatchObject({ ready: 0, inFlight: 0 });
    const gone = await stream.settle(Downstream.ackAll, reply.TransactionId);
    expect(gone).toMatchObject({
      IsError: true,
      Error: TEXTS.transactionGone,
      RequestTypeData: Downstream.ackAll,
    });
    stream.end();
  });

  it('waits beside others and beside settlements', async () => {
    await fill('d.side', 1);
    const stream = client.downstream();
    const held = await stream.get('d.side');
    const waiting = [
      stream.get('d.side.a', { WaitTimeout: 30_000 }),
      stream.get('d.side.b', { WaitTimeout: 30_000 }),
    ];
    expect(await stream.settle(Downstream.ackAll, held.TransactionId)).toMatchObject({
      TransactionComplete: true,
    });
    await fill('d.side.b', 1);
    expect((await waiting[1]!).Messages).toHaveLength(1);
    await fill('d.side.a', 1);
    expect((await waiting[0]!).Messages).toHaveLength(1);
    stream.cancel();
  });

  it('refuses bad input in the answer; the stream goes on', async () => {
    const stream = client.downstream();
    expect(await stream.get('a b')).toMatchObject({ IsError: true, Error: TEXTS.queueName });
    expect(await stream.get('a', { ClientID: '' })).toMatchObject({ IsError: true, Error: TEXTS.clientId });
    expect(await stream.request({ RequestTypeData: 0 })).toMatchObject({
      IsError: true,
      Error: TEXTS.requestUnknown,
    });
    expect(await stream.get('d.go-on')).toMatchObject({ IsError: false });
    stream.end();
  });
});

describe('settling', () => {
  it('acks all, ranges, and says what is left', async () => {
    await fill('d.ack', 5);
    const stream = client.downstream();
    const { TransactionId: id, Messages } = await stream.get('d.ack');
    const [a, b, c, d, e] = sequences(Messages);
    expect(await stream.settle(Downstream.ackRange, id, { SequenceRange: [a!, c!] })).toMatchObject({
      IsError: false,
      TransactionComplete: false,
    });
    const active = await stream.request({ RequestTypeData: Downstream.activeOffsets, RefTransactionId: id });
    expect(active.ActiveOffsets).toEqual([b, d, e]);
    const status = await stream.request({
      RequestTypeData: Downstream.transactionStatus,
      RefTransactionId: id,
    });
    expect(status).toMatchObject({ IsError: false, TransactionComplete: false });
    expect(await stream.settle(Downstream.ackAll, id)).toMatchObject({
      IsError: false,
      TransactionComplete: true,
    });
    expect(stats('d.ack')).toMatchObject({ ready: 0, inFlight: 0 });
    expect(
      await stream.request({ RequestTypeData: Downstream.transactionStatus, RefTransactionId: id }),
    ).toMatchObject({ TransactionComplete: true });
    stream.end();
  });

  it('names the first unknown sequence and settles the others', async () => {
    await fill('d.unknown', 2);
    const stream = client.downstream();
    const { TransactionId: id, Messages } = await stream.get('d.unknown');
    const [a] = sequences(Messages);
    expect(await stream.settle(Downstream.ackRange, id, { SequenceRange: [a!, 777] })).toMatchObject({
      IsError: true,
      Error: 'invalid ack sequence id 777',
    });
    expect(await stream.settle(Downstream.nackRange, id, { SequenceRange: [a!] })).toMatchObject({
      Error: `invalid nack sequence id ${a!}`,
    });
    expect(await stream.settle(Downstream.ackRange, id)).toMatchObject({
      Error: 'cannot ack empty list of of offsets',
    });
    expect(await stream.settle(Downstream.ackAll, id)).toMatchObject({ TransactionComplete: true });
    stream.end();
  });

  it('is silent about success unless asked', async () => {
    await fill('d.silent', 1);
    const stream = client.downstream();
    const { TransactionId } = await stream.get('d.silent');
    stream.write({ RequestID: 'r', RequestTypeData: Downstream.ackAll, RefTransactionId: TransactionId });
    await until(() => stats('d.silent').inFlight === 0);
    await stream.get('d.silent');
    expect(stream.unsolicited).toEqual([]);
    stream.end();
  });

  it('nack puts messages behind all others, counted, with a new sequence', async () => {
    await fill('d.nack', 2);
    const stream = client.downstream();
    const first = await stream.get('d.nack', { MaxItems: 1 });
    expect(await stream.settle(Downstream.nackAll, first.TransactionId)).toMatchObject({ IsError: false });
    const again = await stream.get('d.nack');
    expect(texts(again.Messages)).toEqual(['1', '0']);
    expect(again.Messages[1]!.MessageID).toBe(first.Messages[0]!.MessageID);
    expect(again.Messages.map((message) => message.Attributes.ReceiveCount)).toEqual([1, 2]);
    expect(Number(again.Messages[1]!.Attributes.Sequence)).toBeGreaterThan(2);
    stream.cancel();
  });

  it('requeue moves to another queue, with its origin and a fresh count', async () => {
    await fill('d.from', 3);
    const stream = client.downstream();
    const { TransactionId: id, Messages } = await stream.get('d.from');
    expect(await stream.settle(Downstream.reQueueAll, id)).toMatchObject({
      Error: TEXTS.requeueChannelEmpty,
    });
    expect(await stream.settle(Downstream.reQueueAll, id, { ReQueueChannel: 'a b' })).toMatchObject({
      Error: TEXTS.queueName,
    });
    const [a] = sequences(Messages);
    const range = await stream.settle(Downstream.reQueueRange, id, {
      ReQueueChannel: 'd.to',
      SequenceRange: [a!],
    });
    expect(range).toMatchObject({ IsError: false, TransactionComplete: false });
    await stream.settle(Downstream.reQueueAll, id, { ReQueueChannel: 'd.to' });
    const moved = await stream.get('d.to');
    expect(texts(moved.Messages)).toEqual(['0', '1', '2']);
    expect(moved.Messages[0]!.Attributes).toMatchObject({
      ReRouted: true,
      ReRoutedFromQueue: 'd.from',
      ReceiveCount: 1,
    });
    expect(stats('d.from')).toMatchObject({ ready: 0, inFlight: 0 });
    stream.cancel();
  });

  it('after three nacks the dead-letter queue has the message', async () => {
    await fill('d.dead', 1, { MaxReceiveCount: 3, MaxReceiveQueue: 'd.letters' });
    const stream = client.downstream();
    for (let count = 1; count <= 3; count++) {
      const { TransactionId, Messages } = await stream.get('d.dead');
      expect(Messages[0]!.Attributes.ReceiveCount).toBe(count);
      await stream.settle(Downstream.nackAll, TransactionId);
    }
    expect(stats('d.dead')).toMatchObject({ ready: 0, inFlight: 0 });
    const { Messages } = await stream.get('d.letters');
    expect(Messages[0]).toMatchObject({
      Attributes: { ReRouted: true, ReRoutedFromQueue: 'd.dead', ReceiveCount: 1 },
      Policy: { MaxReceiveCount: 0, MaxReceiveQueue: '' },
    });
    expect(texts(Messages)).toEqual(['0']);
    stream.cancel();
  });

  it('drops a message over its count that has no dead-letter queue', async () => {
    await fill('d.drop', 1, { MaxReceiveCount: 1 });
    const stream = client.downstream();
    const { TransactionId } = await stream.get('d.drop');
    await stream.settle(Downstream.nackAll, TransactionId);
    expect(stats('d.drop')).toMatchObject({ ready: 0, inFlight: 0 });
    stream.end();
  });
});

describe('the end of a stream', () => {
  it.each(['end', 'cancel'] as const)('%s gives everything back at once, counted', async (how) => {
    const channel = `d.over.${how}`;
    await fill(channel, 3);
    const stream = client.downstream();
    await stream.get(channel, { MaxItems: 2 });
    await stream.get(channel);
    stream[how]();
    await stream.ended;
    await until(() => stats(channel).ready === 3);
    const again = await client.receive(channel, { max: 10 });
    expect(again.Messages.map((message) => message.Attributes.ReceiveCount)).toEqual([2, 2, 2]);
  });

  it('lost connection, likewise', async () => {
    await fill('d.lost', 1);
    const line = await lineTo(server.port);
    const lost = new NativeClient(line.address);
    await lost.downstream().get('d.lost');
    line.cut();
    await until(() => stats('d.lost').ready === 1);
    lost.close();
  });

  it('nack, close and end in one burst are all done', async () => {
    await fill('d.burst', 2);
    const stream = client.downstream();
    const { TransactionId, Messages } = await stream.get('d.burst');
    stream.write({
      RequestTypeData: Downstream.ackRange,
      RefTransactionId: TransactionId,
      SequenceRange: [sequences(Messages)[0]!],
    });
    stream.write({ RequestTypeData: Downstream.closeByClient, RefTransactionId: TransactionId });
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
    expect(texts((await client.receive('d.burst', { max: 10 })).Messages)).toEqual(['1']);
  });

  it('CloseByClient gives back one transaction and keeps the others', async () => {
    await fill('d.close', 2);
    const stream = client.downstream();
    const one = await stream.get('d.close', { MaxItems: 1 });
    const two = await stream.get('d.close', { MaxItems: 1 });
    stream.write({ RequestTypeData: Downstream.closeByClient, RefTransactionId: one.TransactionId });
    await until(() => stats('d.close').ready === 1);
    expect(await stream.settle(Downstream.ackAll, two.TransactionId)).toMatchObject({ IsError: false });
    stream.end();
  });

  it('a waiting Get whose stream is cancelled leaves no trace', async () => {
    const stream = client.downstream();
    void stream.get('d.trace', { WaitTimeout: 60_000 }).catch(() => undefined);
    await until(() => server.broker.queueStats('d.trace' as never)?.waiters === 1);
    stream.cancel();
    await until(() => stats('d.trace').waiters === 0);
    await fill('d.trace', 1);
    expect((await client.receive('d.trace')).Messages[0]!.Attributes.ReceiveCount).toBe(1);
  });
});

describe('families', () => {
  it('are consumed through their base; each message can be settled though sub-channels count for themselves', async () => {
    await server.broker.change([
      { do: 'create-queue', channel: 'f.base' as never, settings: { subChannelMarks: ['.k.'] } },
    ]);
    await fill('f.base.k.one', 1);
    await fill('f.base.k.two', 1);
    const stream = client.downstream();
    const { TransactionId: id, Messages } = await stream.get('f.base');
    expect(Messages.map((message) => message.Channel).sort()).toEqual(['f.base.k.one', 'f.base.k.two']);
    const [a, b] = sequences(Messages);
    expect(a).not.toBe(b);
    expect(await stream.settle(Downstream.ackRange, id, { SequenceRange: [b!] })).toMatchObject({
      IsError: false,
      TransactionComplete: false,
    });
    expect(await stream.settle(Downstream.ackAll, id)).toMatchObject({ TransactionComplete: true });
    expect(stats('f.base')).toMatchObject({ ready: 0, inFlight: 0 });
    stream.end();
  });
});
