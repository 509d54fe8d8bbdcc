import { afterEach, describe, expect, it } from 'vitest';
import { BrokerError } from '../../../src/core/errors.js';
import { OWN_TEXTS } from '../../../src/connectors/native/error-texts.js';
import { NATIVE_LIMITS } from '../../../src/connectors/native/limits.js';
import type { MemoryFaults } from '../../../src/journal/memory/index.js';
import type { NativeClient } from '../../support/native-client.js';
import { Downstream } from '../../support/native-shapes.js';
import { startNativeServer, until, type NativeServer, type NativeServerOptions } from './native-server.js';

const Body = Buffer.from('x');
const ClientID = 'c';
const servers: NativeServer[] = [];

async function start(options: NativeServerOptions = {}): Promise<NativeServer> {
  const server = await startNativeServer(options);
  servers.push(server);
  return server;
}

/** Resolves when a figure stands still while the server answers another client many times. */
async function still(figure: () => number, client: NativeClient): Promise<void> {
  let before = -1;
  while (figure() !== before) {
    before = figure();
    for (let round = 0; round < 100; round++) await client.queuesInfo('none');
  }
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

describe('a crash', () => {
  it('keeps what was confirmed: messages, settlements, counts and durable positions', async () => {
    const before = await start();
    const client = before.client('me');
    await client.sendBatch([1, 2, 3, 4].map((n) => ({ Channel: 'q', Body: Buffer.from(String(n)) })));
    const stream = client.downstream();
    const { TransactionId, Messages } = await stream.get('q', { MaxItems: 2 });
    const SequenceRange = [Messages[0]!.Attributes.Sequence];
    await stream.settle(Downstream.ackRange, TransactionId, { SequenceRange });
    for (const n of [1, 2, 3])
      await client.sendEvent({ Channel: 'log', Body: Buffer.from(String(n)), Store: true });
    const reader = client.subscribe({ Channel: 'log' });
    await reader.has(2);
    await until(() => before.connector.status().counters['events_delivered'] === 3);
    // Positions are written unforced: the next forced entry takes them along.
    await client.sendEvent({ Channel: 'log', Body: Buffer.from('4'), Store: true });
    await reader.has(4);
    await client.send({ Channel: 'q', Body: Buffer.from('5') });
    const after = await start({ image: before.journal.image() });
    const again = after.client('me');
    const reply = await again.receive('q', { max: 10 });
    expect(reply.Messages.map((message) => message.Body.toString()).sort()).toEqual(['2', '3', '4', '5']);
    const second = reply.Messages.find((message) => message.Body.toString() === '2')!;
    expect(second.Attributes.ReceiveCount).toBe(2);
    await again.sendEvent({ Channel: 'log', Body: Buffer.from('5'), Store: true });
    const resumed = again.subscribe({ Channel: 'log' });
    const events = await resumed.has(1);
    // At most the last events come again; none is passed over.
    expect(Number(events[0]!.Sequence)).toBeGreaterThanOrEqual(4);
    expect(Number(events[0]!.Sequence)).toBeLessThanOrEqual(5);
  });
});

describe('no space', () => {
  it('refuses sends in a way that clients try again; consuming goes on', async () => {
    const faults: MemoryFaults = {};
    const server = await start({ faults });
    const client = server.client();
    await client.send({ Channel: 'q', Body });
    faults.lowSpace = true;
    await until(() => server.broker.figures().shortage !== undefined);
    await expect(client.send({ Channel: 'q', Body })).rejects.toMatchObject({ code: 14 });
    await expect(client.sendEvent({ Channel: 'e', Body, Store: true })).rejects.toMatchObject({ code: 14 });
    const upstream = client.upstream();
    const reply = await upstream.request({ Messages: [{ ClientID, Channel: 'q', Body }] });
    expect(reply.IsError || reply.Results[0]!.IsError).toBe(true);
    upstream.end();
    const events = client.eventsStream();
    expect(await events.request({ ClientID, Channel: 'e', Body, Store: true }, 'EventID')).toMatchObject({
      Sent: false,
    });
    events.end();
    expect((await client.receive('q')).Messages).toHaveLength(1);
    faults.lowSpace = false;
    await until(() => server.broker.figures().shortage === undefined);
    expect(await client.send({ Channel: 'q', Body })).toMatchObject({ IsError: false });
  });
});

describe('a commit that fails', () => {
  it('is an error to its senders and no message', async () => {
    const faults: MemoryFaults = {};
    const server = await start({ faults });
    const client = server.client();
    await client.send({ Channel: 'q', Body });
    faults.failNextGroup = new BrokerError('unavailable', 'the disk is gone');
    await expect(client.send({ Channel: 'q', Body })).rejects.toMatchObject({ code: 14 });
    expect((await client.receive('q', { max: 10 })).Messages).toHaveLength(1);
  });
});

describe('limits', () => {
  it('a stream whose sends are not confirmed is not read from', async () => {
    const faults: MemoryFaults = {};
    const server = await start({ faults });
    const client = server.client();
    await client.send({ Channel: 'q', Body });
    faults.holdCommits = true;
    const stream = client.upstream();
    const total = NATIVE_LIMITS.unconfirmedPerStreamMax * 2;
    const Messages = Array.from({ length: 64 }, () => ({ ClientID, Channel: 'q', Body }));
    const replies = Array.from({ length: total / Messages.length }, () => stream.request({ Messages }));
    const taken = (): number => server.broker.queueStats('q' as never)?.lastSequence ?? 0;
    await until(() => taken() >= NATIVE_LIMITS.unconfirmedPerStreamMax);
    await still(taken, server.client());
    // Some requests were in the stream's own buffer already.
    expect(taken()).toBeLessThan(NATIVE_LIMITS.unconfirmedPerStreamMax * 1.5);
    faults.holdCommits = false;
    server.journal.commit();
    expect((await Promise.all(replies)).every((reply) => reply.Results.length === 64)).toBe(true);
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
  });

  it('a stream whose events are not confirmed is not read from', async () => {
    const faults: MemoryFaults = {};
    const server = await start({ faults });
    const client = server.client();
    await client.sendEvent({ Channel: 'e', Body, Store: true });
    faults.holdCommits = true;
    const stream = client.eventsStream();
    const total = NATIVE_LIMITS.unconfirmedPerStreamMax * 2;
    const results = Array.from({ length: total }, (_, place) => {
      const result = stream.request({ ClientID, Channel: 'e', Body, Store: true }, 'EventID');
      // Live ones wait for nothing once they have been read, and so tell how far that is.
      if (place % 64 === 63) stream.write({ ClientID, Channel: 'live', Body });
      return result;
    });
    const read = (): number => server.broker.live.figures().published * 64;
    await until(() => read() >= NATIVE_LIMITS.unconfirmedPerStreamMax);
    await still(read, server.client());
    // Besides what is gathered, the first batch waits for the disk, and some were in the stream's own buffer already.
    expect(read()).toBeLessThan(NATIVE_LIMITS.unconfirmedPerStreamMax * 1.5);
    faults.holdCommits = false;
    server.journal.commit();
    expect((await Promise.all(results)).every((result) => result.Sent)).toBe(true);
    await until(() => read() === total);
    stream.end();
    expect(await stream.ended).toMatchObject({ code: 0 });
  });

  it('so many Gets may wait on a stream; one more is refused and the others go on', async () => {
    const server = await start();
    const stream = server.client().downstream();
    const waiting = Array.from({ length: NATIVE_LIMITS.getsPerStreamMax }, () =>
      stream.get('q.many', { MaxItems: 1, WaitTimeout: 60_000 }).catch(() => undefined),
    );
    await until(
      () => server.broker.queueStats('q.many' as never)?.waiters === NATIVE_LIMITS.getsPerStreamMax,
    );
    expect(await stream.get('q.many')).toMatchObject({ IsError: true, Error: OWN_TEXTS.tooManyGets });
    await server.client().send({ Channel: 'q.many', Body });
    expect((await Promise.race(waiting))?.Messages).toHaveLength(1);
    stream.cancel();
    await until(() => server.broker.queueStats('q.many' as never)?.ready === 1);
  });
});

describe('channels', () => {
  it('a queue and an Events Store channel may have one name', async () => {
    const server = await start();
    const client = server.client();
    await client.send({ Channel: 'both', Body: Buffer.from('message') });
    await client.sendEvent({ Channel: 'both', Body: Buffer.from('event'), Store: true });
    expect((await client.receive('both')).Messages[0]!.Body.toString()).toBe('message');
    const [event] = await client.subscribe({ Channel: 'both' }).has(1);
    expect(event!.Body.toString()).toBe('event');
  });

  it('a family keeps its order when a message is given back', async () => {
    const server = await start();
    await server.broker.change([
      { do: 'create-queue', channel: 'sqs.t.fifo' as never, settings: { subChannelMarks: ['.g.'] } },
    ]);
    const client = server.client();
    await client.sendBatch(
      ['1', '2', '3'].map((text) => ({ Channel: 'sqs.t.fifo.g.a', Body: Buffer.from(text) })),
    );
    const stream = client.downstream();
    const first = await stream.get('sqs.t.fifo', { MaxItems: 1 });
    expect(first.Messages[0]!.Body.toString()).toBe('1');
    await stream.settle(Downstream.nackAll, first.TransactionId);
    const again = await stream.get('sqs.t.fifo', { MaxItems: 10 });
    expect(again.Messages.map((message) => message.Body.toString())).toEqual(['1', '2', '3']);
    expect(again.Messages[0]!.Attributes.ReceiveCount).toBe(2);
    stream.cancel();
  });
});
