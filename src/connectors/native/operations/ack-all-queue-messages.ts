import type { ChannelName } from '../../../core/channel-name.js';
import { nativeText } from '../errors.js';
import { ackAllFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { AckAllQueueMessagesRequest, AckAllQueueMessagesResponse } from '../wire/messages.js';

/**
 * AckAllQueueMessages: drops everything that is ready or delayed, at once; the wait time is checked but there is nothing to
 * wait for. Messages that somebody holds stay theirs.
 */
export function ackAllQueueMessages(service: NativeService) {
  return async (request: AckAllQueueMessagesRequest): Promise<AckAllQueueMessagesResponse> => {
    const { requestId } = request;
    const fault = ackAllFault(request);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      return { requestId, isError: true, error: fault };
    }
    const channel = request.channel as ChannelName;
    try {
      if (service.broker.queueStats(channel) === undefined) return { requestId };
      const purged = await service.broker.purge(channel, { ready: true, delayed: true, inFlight: false });
      return { requestId, affectedMessages: purged.ready + purged.delayed };
    } catch (caught) {
      return { requestId, isError: true, error: nativeText(caught) };
    }
  };
}
