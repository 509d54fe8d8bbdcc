import { describe, expect, it } from 'vitest';
import { TEXTS } from './error-texts.js';
import {
  ackAllFault,
  eventFault,
  eventsSubscriptionFault,
  getFault,
  queueMessageFault,
  receiveFault,
  storeSubscriptionFault,
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
    expect(storeSubscriptionFault(made(Subscribe, { ...good, ...change }))).toBe(text);
  });
});

describe('subscriptions to live events', () => {
  it('take wildcards but no start type', () => {
    expect(eventsSubscriptionFault(made(Subscribe, { clientId: 'c', channel: 'a.*' }))).toBeUndefined();
    expect(
      eventsSubscriptionFault(made(Subscribe, { clientId: 'c', channel: 'a', eventsStoreType: 1 })),
    ).toBe(TEXTS.notEventStore);
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
