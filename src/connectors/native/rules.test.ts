import { describe, expect, it } from 'vitest';
import { TEXTS } from './error-texts.js';
import {
  ackAllFault,
  eventFault,
  getFault,
  queueMessageFault,
  receiveFault,
  requestFault,
  responseFault,
  subscribeFault,
  streamRequestFault,
} from './rules.js';
import {
  AckAllQueueMessagesRequest,
  Event,
  EventsStoreType,
  QueueMessage,
  QueueMessagePolicy,
  QueuesDownstreamRequest,
  ReceiveQueueMessagesRequest,
  Request,
  Response,
  StreamQueueMessagesRequest,
  StreamRequestType,
  Subscribe,
} from './wire/messages.js';
import type { Decoded, Encodable, Fields, MessageType } from './wire/protobuf.js';

function made<F extends Fields>(type: MessageType<F>, value: Encodable<F>): Decoded<F> {
  return type.decode(type.encode(value));
}

const body = Buffer.from('x');

describe('events', () => {
  const good = { clientId: 'c', channel: 'a.b', body };

  it.each([
    [{ clientId: '' }, TEXTS.clientId],
    [{ clientId: '', channel: '' }, TEXTS.clientId],
    [{ channel: '' }, TEXTS.channelEmpty],
    [{ channel: 'a b.' }, TEXTS.trailingDot],
    [{ channel: 'a b*' }, TEXTS.whiteSpace],
    [{ channel: 'a\tb' }, TEXTS.whiteSpace],
    [{ channel: 'a.*' }, TEXTS.wildcards],
    [{ channel: 'a.>' }, TEXTS.wildcards],
    [{ channel: 'a;b' }, 'a channel name cannot contain white space, control characters, "*", ">" or ";"'],
    [{ body: Buffer.alloc(0) }, TEXTS.messageEmpty],
    [{ body: Buffer.alloc(0), tags: new Map([['k', 'v']]) }, TEXTS.messageEmpty],
    [{ body: Buffer.alloc(0), metadata: 'm' }, undefined],
    [{ channel: 'a/b:%2E' }, undefined],
    [{}, undefined],
  ])('%j', (change, text) => {
    expect(eventFault(made(Event, { ...good, ...change }))).toBe(text);
  });
});

describe('subscriptions to an Events Store channel', () => {
  const good = { clientId: 'c', channel: 'a', eventsStoreType: EventsStoreType.startFromFirst };

  it.each([
    [{ clientId: '' }, TEXTS.clientId],
    [{ channel: '' }, TEXTS.channelEmpty],
    [{ channel: 'a.>' }, TEXTS.wildcards],
    [{ eventsStoreType: 0 }, TEXTS.subscriptionType],
    [{ eventsStoreType: 7 }, TEXTS.subscriptionType],
    [{ eventsStoreType: EventsStoreType.startAtSequence }, TEXTS.startSequence],
    [{ eventsStoreType: EventsStoreType.startAtTime, eventsStoreValue: -1n }, TEXTS.startTime],
    [{ eventsStoreType: EventsStoreType.startAtTimeDelta }, TEXTS.startTimeDelta],
    [{ eventsStoreType: EventsStoreType.startAtTimeDelta, eventsStoreValue: 1n }, undefined],
    [{}, undefined],
  ])('%o', (change, text) => {
    expect(subscribeFault(made(Subscribe, { ...good, ...change, subscribeType: 2 }), [2])).toBe(text);
  });
});

describe('live subscriptions', () => {
  it.each<[Parameters<typeof Subscribe.encode>[0], string | undefined]>([
    [{ subscribeType: 1, channel: 'a.*' }, undefined],
    [{ subscribeType: 1, channel: '>' }, undefined],
    [{ subscribeType: 1, channel: 'a.>.b' }, 'wildcards must be whole tokens, and ">" the last one'],
    [{ subscribeType: 1, eventsStoreType: 1 }, TEXTS.notEventStore],
    [{ subscribeType: 1, clientId: '' }, TEXTS.clientId],
    [{ subscribeType: 3, channel: 'a.*' }, TEXTS.wildcards],
    [{ subscribeType: 4, channel: 'a b' }, TEXTS.whiteSpace],
    [{ subscribeType: 4, clientId: '' }, TEXTS.clientId],
    [{ subscribeType: 4 }, undefined],
    [{ subscribeType: 2 }, TEXTS.subscribeType],
    [{}, TEXTS.subscribeType],
  ])('%o', (change, text) => {
    const subscribe = made(Subscribe, { clientId: 'c', channel: 'a', ...change });
    expect(subscribeFault(subscribe, [1, 3, 4])).toBe(text);
  });
});

describe('requests', () => {
  const good = { requestType: 2, clientId: 'c', channel: 'a', body, timeoutMs: 1 };

  it.each<[Parameters<typeof Request.encode>[0], string | undefined]>([
    [{ requestType: 0 }, TEXTS.requestType],
    [{ requestType: 3, clientId: '' }, TEXTS.requestType],
    [{ clientId: '' }, TEXTS.clientId],
    [{ channel: '' }, TEXTS.channelEmpty],
    [{ channel: 'a.' }, TEXTS.trailingDot],
    [{ channel: 'a\tb' }, TEXTS.whiteSpace],
    [{ channel: 'a.*' }, TEXTS.wildcards],
    [{ body: undefined }, TEXTS.requestEmpty],
    [{ timeoutMs: 0 }, TEXTS.requestTimeoutValue],
    [{ timeoutMs: -1 }, TEXTS.requestTimeoutValue],
    [{ cacheKey: 'k' }, TEXTS.cacheTtl],
    [{ cacheKey: 'k', cacheTtlSeconds: 1 }, undefined],
    [{ requestType: 1, cacheKey: 'k' }, undefined],
    [{ body: undefined, metadata: 'm' }, undefined],
  ])('%o', (change, text) => {
    expect(requestFault(made(Request, { ...good, ...change }))).toBe(text);
  });

  it('are answered with a client, an address and an id', () => {
    const answer = { clientId: 'c', replyChannel: 'r', requestId: 'i' };
    const fault = (change: object) => responseFault(made(Response, { ...answer, ...change }));
    expect(fault({})).toBeUndefined();
    expect(fault({ clientId: '' })).toBe(TEXTS.clientId);
    expect(fault({ replyChannel: '' })).toBe(TEXTS.channelEmpty);
    expect(fault({ replyChannel: 'a >' })).toBe(TEXTS.whiteSpace);
    expect(fault({ requestId: '' })).toBe(TEXTS.requestId);
  });
});

describe('queue messages', () => {
  const good = { clientId: 'c', channel: 'a.b', body };

  it.each<[Parameters<typeof QueueMessage.encode>[0], string | undefined]>([
    [{ clientId: '' }, TEXTS.clientId],
    [{ channel: '' }, TEXTS.queueName],
    [{ channel: 'a.' }, TEXTS.queueName],
    [{ channel: 'a b' }, TEXTS.queueName],
    [{ channel: '*' }, TEXTS.queueName],
    [{ channel: 'x'.repeat(1025) }, TEXTS.queueName],
    [{ channel: 'a;b' }, TEXTS.queueName],
    [{ body: Buffer.alloc(0) }, TEXTS.messageEmpty],
    [{ policy: { expirationSeconds: 43_201 } }, TEXTS.expiration],
    [{ policy: { expirationSeconds: -1 } }, TEXTS.expiration],
    [{ policy: { delaySeconds: 43_201 } }, TEXTS.delay],
    [{ policy: { delaySeconds: -1 } }, TEXTS.delay],
    [{ policy: { maxReceiveCount: 1025 } }, TEXTS.maxReceiveCount],
    [{ policy: { maxReceiveCount: -1, delaySeconds: -1 } }, TEXTS.maxReceiveCount],
    [{ policy: { maxReceiveQueue: 'a b' } }, TEXTS.queueName],
    [{ policy: { delaySeconds: 43_200, expirationSeconds: 43_200, maxReceiveCount: 1024 } }, undefined],
    [{}, undefined],
  ])('%j', (change, text) => {
    expect(queueMessageFault(made(QueueMessage, { ...good, ...change }))).toBe(text);
  });

  it('may come without a policy', () => {
    expect(QueueMessagePolicy.decode(Buffer.alloc(0)).maxReceiveCount).toBe(0);
  });
});

describe('receiving', () => {
  const good = { clientId: 'c', channel: 'a', maxNumberOfMessages: 1 };

  it.each([
    [{ clientId: '' }, TEXTS.clientId],
    [{ channel: '' }, TEXTS.queueName],
    [{ maxNumberOfMessages: 0 }, TEXTS.maxMessages],
    [{ maxNumberOfMessages: 1025 }, TEXTS.maxMessages],
    [{ waitTimeSeconds: -1 }, TEXTS.waitTimeout],
    [{ waitTimeSeconds: 3601 }, TEXTS.waitTimeout],
    [{ waitTimeSeconds: 3600, maxNumberOfMessages: 1024 }, undefined],
  ])('%j', (change, text) => {
    expect(receiveFault(made(ReceiveQueueMessagesRequest, { ...good, ...change }))).toBe(text);
  });

  it('checks AckAll and Get alike', () => {
    expect(
      ackAllFault(made(AckAllQueueMessagesRequest, { clientId: 'c', channel: 'a', waitTimeSeconds: 3601 })),
    ).toBe(TEXTS.waitTimeout);
    expect(getFault(made(QueuesDownstreamRequest, { channel: 'a' }))).toBe(TEXTS.clientId);
    expect(getFault(made(QueuesDownstreamRequest, { clientId: 'c', channel: 'a*' }))).toBe(TEXTS.queueName);
  });
});

describe('requests of a StreamQueueMessage stream', () => {
  const clientId = 'c';

  it.each([
    [{ requestType: StreamRequestType.receiveMessage, channel: 'a', clientId: '' }, TEXTS.clientId],
    [{ requestType: 0 }, TEXTS.streamRequestType],
    [{ requestType: 7 }, TEXTS.streamRequestType],
    [{ requestType: StreamRequestType.receiveMessage, channel: 'a.' }, TEXTS.queueName],
    [
      { requestType: StreamRequestType.receiveMessage, channel: 'a', visibilitySeconds: 43_201 },
      TEXTS.visibility,
    ],
    [{ requestType: StreamRequestType.receiveMessage, channel: 'a', waitTimeSeconds: -1 }, TEXTS.waitTimeout],
    [{ requestType: StreamRequestType.ackMessage }, TEXTS.ackSequence],
    [{ requestType: StreamRequestType.rejectMessage }, TEXTS.ackSequence],
    [{ requestType: StreamRequestType.modifyVisibility, visibilitySeconds: -1 }, TEXTS.visibility],
    [{ requestType: StreamRequestType.resendMessage }, TEXTS.queueName],
    [{ requestType: StreamRequestType.sendModifiedMessage }, TEXTS.queueMessage],
    [
      { requestType: StreamRequestType.sendModifiedMessage, modifiedMessage: { clientId, channel: 'a' } },
      TEXTS.messageEmpty,
    ],
    [{ requestType: StreamRequestType.ackMessage, refSequence: 1 }, undefined],
    [{ requestType: StreamRequestType.ackMessage, refSequence: 1, clientId: '' }, undefined],
  ])('%j', (request, text) => {
    expect(streamRequestFault(made(StreamQueueMessagesRequest, { clientId, ...request }))).toBe(text);
  });
});
