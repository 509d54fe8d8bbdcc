import { channelNameFault } from '../../core/channel-name.js';
import { patternFault } from '../../core/live/subject-trie.js';
import { TEXTS } from './error-texts.js';
import { NATIVE_LIMITS } from './limits.js';
import { RequestType } from './live-mapping.js';
import {
  EventsStoreType,
  StreamRequestType,
  SubscribeType,
  type AckAllQueueMessagesRequest,
  type Event,
  type QueueMessage,
  type QueueMessagePolicy,
  type QueuesDownstreamRequest,
  type ReceiveQueueMessagesRequest,
  type Request,
  type Response,
  type StreamQueueMessagesRequest,
  type Subscribe,
} from './wire/messages.js';

/**
 * The contract's checks of what clients send. Each gives the text of the first fault, in the order the contract looks for
 * them, or undefined. Names are stricter than the contract in what no client uses: white space of every kind, control
 * characters and `;` are refused too.
 */
type Fault = string | undefined;

const within = (value: number, max: number): boolean => value >= 0 && value <= max;

function isEmpty(message: { readonly metadata: string; readonly body: Uint8Array }): boolean {
  return message.metadata === '' && message.body.byteLength === 0;
}

/** Events and requests have a text for each fault of a name. */
export function channelFault(name: string, wildcardsAllowed = false): Fault {
  if (name === '') return TEXTS.channelEmpty;
  if (name.endsWith('.')) return TEXTS.trailingDot;
  if (/\s/u.test(name)) return TEXTS.whiteSpace;
  if (/[*>]/.test(name)) return wildcardsAllowed ? patternFault(name) : TEXTS.wildcards;
  return channelNameFault(name);
}

/** Queues have one text for all of them. */
export function queueNameFault(name: string): Fault {
  return channelNameFault(name) === undefined ? undefined : TEXTS.queueName;
}

export function eventFault(event: Event): Fault {
  if (event.clientId === '') return TEXTS.clientId;
  const fault = channelFault(event.channel);
  if (fault !== undefined) return fault;
  return isEmpty(event) ? TEXTS.messageEmpty : undefined;
}

/** Every kind of subscription; what it means by its type comes first. */
export function subscribeFault(subscribe: Subscribe, types: readonly number[]): Fault {
  if (!types.includes(subscribe.subscribeType)) return TEXTS.subscribeType;
  switch (subscribe.subscribeType) {
    case SubscribeType.events:
      return eventsSubscriptionFault(subscribe);
    case SubscribeType.eventsStore:
      return storeSubscriptionFault(subscribe);
    default:
      return subscribe.clientId === '' ? TEXTS.clientId : channelFault(subscribe.channel);
  }
}

export function requestFault(request: Request): Fault {
  const { requestType } = request;
  if (requestType !== RequestType.command && requestType !== RequestType.query) return TEXTS.requestType;
  if (request.clientId === '') return TEXTS.clientId;
  const fault = channelFault(request.channel);
  if (fault !== undefined) return fault;
  if (isEmpty(request)) return TEXTS.requestEmpty;
  if (request.timeoutMs <= 0) return TEXTS.requestTimeoutValue;
  const isCached = requestType === RequestType.query && request.cacheKey !== '';
  return isCached && request.cacheTtlSeconds <= 0 ? TEXTS.cacheTtl : undefined;
}

export function responseFault(response: Response): Fault {
  if (response.clientId === '') return TEXTS.clientId;
  return channelFault(response.replyChannel) ?? (response.requestId === '' ? TEXTS.requestId : undefined);
}

function storeSubscriptionFault(subscribe: Subscribe): Fault {
  if (subscribe.clientId === '') return TEXTS.clientId;
  const fault = channelFault(subscribe.channel);
  if (fault !== undefined) return fault;
  const isPositive = subscribe.eventsStoreValue > 0n;
  switch (subscribe.eventsStoreType) {
    case EventsStoreType.startNewOnly:
    case EventsStoreType.startFromFirst:
    case EventsStoreType.startFromLast:
      return undefined;
    case EventsStoreType.startAtSequence:
      return isPositive ? undefined : TEXTS.startSequence;
    case EventsStoreType.startAtTime:
      return isPositive ? undefined : TEXTS.startTime;
    case EventsStoreType.startAtTimeDelta:
      return isPositive ? undefined : TEXTS.startTimeDelta;
    default:
      return TEXTS.subscriptionType;
  }
}

function eventsSubscriptionFault(subscribe: Subscribe): Fault {
  if (subscribe.clientId === '') return TEXTS.clientId;
  const fault = channelFault(subscribe.channel, true);
  if (fault !== undefined) return fault;
  return subscribe.eventsStoreType === EventsStoreType.undefined ? undefined : TEXTS.notEventStore;
}

export function queueMessageFault(message: QueueMessage): Fault {
  if (message.clientId === '') return TEXTS.clientId;
  const fault = queueNameFault(message.channel);
  if (fault !== undefined) return fault;
  if (isEmpty(message)) return TEXTS.messageEmpty;
  return message.policy === undefined ? undefined : policyFault(message.policy);
}

function policyFault(policy: QueueMessagePolicy): Fault {
  if (!within(policy.expirationSeconds, NATIVE_LIMITS.expirationSecondsMax)) return TEXTS.expiration;
  if (!within(policy.maxReceiveCount, NATIVE_LIMITS.receiveCountMax)) return TEXTS.maxReceiveCount;
  if (!within(policy.delaySeconds, NATIVE_LIMITS.delaySecondsMax)) return TEXTS.delay;
  return policy.maxReceiveQueue === '' ? undefined : queueNameFault(policy.maxReceiveQueue);
}

export function receiveFault(request: ReceiveQueueMessagesRequest): Fault {
  const fault = consumerFault(request);
  if (fault !== undefined) return fault;
  const count = request.maxNumberOfMessages;
  if (count < 1 || count > NATIVE_LIMITS.messagesPerReceiveMax) return TEXTS.maxMessages;
  return waitFault(request.waitTimeSeconds);
}

export function ackAllFault(request: AckAllQueueMessagesRequest): Fault {
  return consumerFault(request) ?? waitFault(request.waitTimeSeconds);
}

export function getFault(request: QueuesDownstreamRequest): Fault {
  return consumerFault(request);
}

/**
 * Checks of every request of a StreamQueueMessage stream; the state of the stream is looked at after them. Only receiving
 * asks for a client id: clients settle under the id of the message's sender, which other protocols may not have.
 */
export function streamRequestFault(request: StreamQueueMessagesRequest): Fault {
  switch (request.requestType) {
    case StreamRequestType.receiveMessage:
      return (
        consumerFault(request) ??
        visibilityFault(request.visibilitySeconds) ??
        waitFault(request.waitTimeSeconds)
      );
    case StreamRequestType.ackMessage:
    case StreamRequestType.rejectMessage:
      return request.refSequence === 0 ? TEXTS.ackSequence : undefined;
    case StreamRequestType.modifyVisibility:
      return visibilityFault(request.visibilitySeconds);
    case StreamRequestType.resendMessage:
      return queueNameFault(request.channel);
    case StreamRequestType.sendModifiedMessage:
      if (request.modifiedMessage === undefined) return TEXTS.queueMessage;
      return queueMessageFault(request.modifiedMessage);
    default:
      return TEXTS.streamRequestType;
  }
}

function consumerFault(request: { readonly clientId: string; readonly channel: string }): Fault {
  return request.clientId === '' ? TEXTS.clientId : queueNameFault(request.channel);
}

function waitFault(seconds: number): Fault {
  return within(seconds, NATIVE_LIMITS.waitSecondsMax) ? undefined : TEXTS.waitTimeout;
}

function visibilityFault(seconds: number): Fault {
  return within(seconds, NATIVE_LIMITS.visibilitySecondsMax) ? undefined : TEXTS.visibility;
}
