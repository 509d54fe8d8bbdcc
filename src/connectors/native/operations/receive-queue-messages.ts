import type { ChannelName } from '../../../core/channel-name.js';
import type { Delivery, PeekedMessage } from '../../../core/queue/types.js';
import { nativeText } from '../errors.js';
import { NATIVE_LIMITS } from '../limits.js';
import { deliveredQueueMessages } from '../queue-message-mapping.js';
import { receiveFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { ReceiveQueueMessagesRequest, ReceiveQueueMessagesResponse } from '../wire/messages.js';
import type { Caller } from './calls.js';
import { channelNamer } from './channel-namer.js';

/**
 * ReceiveQueueMessages. Without IsPeek, messages are removed as they are handed out; the call waits until there is one. With
 * IsPeek it is a pure read of what is ready: no wait, no lock, no count. All faults are in the answer.
 */
export function receiveQueueMessages(service: NativeService) {
  return async (
    request: ReceiveQueueMessagesRequest,
    caller: Caller,
  ): Promise<ReceiveQueueMessagesResponse> => {
    const head = { requestId: request.requestId, isPeek: request.isPeek };
    const fault = receiveFault(request);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      return { ...head, isError: true, error: fault };
    }
    try {
      const seen = request.isPeek ? await peek(service, request) : await take(service, request, caller);
      const nameOf = channelNamer(service.broker, request.channel);
      const messages = deliveredQueueMessages<Delivery | PeekedMessage>(
        seen,
        ({ channel }) => nameOf(channel),
        ({ sequence }) => sequence,
      );
      return { ...head, messages, messagesReceived: messages.length };
    } catch (caught) {
      return { ...head, isError: true, error: nativeText(caught) };
    }
  };
}

async function peek(
  { broker }: NativeService,
  request: ReceiveQueueMessagesRequest,
): Promise<readonly PeekedMessage[]> {
  const channel = request.channel as ChannelName;
  if (broker.queueStats(channel) === undefined) return [];
  return broker.peek(channel, request.maxNumberOfMessages);
}

async function take(
  service: NativeService,
  request: ReceiveQueueMessagesRequest,
  caller: Caller,
): Promise<readonly Delivery[]> {
  const wait = new AbortController();
  const end = (): void => wait.abort();
  const leave = service.sessions.enter({ drain: end });
  caller.on('cancelled', end);
  try {
    const deliveries = await service.broker.receive({
      channel: request.channel as ChannelName,
      max: request.maxNumberOfMessages,
      maxBytes: NATIVE_LIMITS.responseBytes,
      waitMs: (request.waitTimeSeconds || NATIVE_LIMITS.waitSecondsDefault) * 1000,
      handOut: { kind: 'auto' },
      createMissing: true,
      signal: wait.signal,
    });
    service.counters.messages_delivered += deliveries.length;
    return deliveries;
  } finally {
    leave();
    caller.off('cancelled', end);
  }
}
