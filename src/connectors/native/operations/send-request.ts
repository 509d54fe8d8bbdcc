import { BrokerError } from '../../../core/errors.js';
import { TEXTS } from '../error-texts.js';
import { CallFault } from '../errors.js';
import { newRequest, outgoingResponse } from '../live-mapping.js';
import { requestFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { OutgoingResponse, Request } from '../wire/messages.js';
import type { Caller } from './calls.js';
import { MANAGEMENT_CHANNEL, manageChannels } from './manage-channels.js';

/**
 * SendRequest: a command or query, and its first answer. Nobody there, and no answer in time, are the same: Error 301, when
 * the time is over. An answer that says Executed=false is an answer. The broker itself answers on the management channel.
 */
export function sendRequest(service: NativeService) {
  const manage = manageChannels(service);
  return async (request: Request, caller: Caller): Promise<OutgoingResponse> => {
    const fault = requestFault(request);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      throw CallFault.input(fault);
    }
    if (request.channel === MANAGEMENT_CHANNEL) return manage(request);
    if (request.requestId === '') request.requestId = service.ids.uuid();
    service.counters.requests_sent++;
    const pending = service.broker.live.request(newRequest(request));
    const wait = { isCancelled: false };
    const end = (): void => {
      wait.isCancelled = true;
      pending.cancel();
    };
    const leave = service.sessions.enter({ drain: end });
    caller.on('cancelled', end);
    try {
      const reply = await pending.reply;
      if (reply !== undefined) return outgoingResponse(reply, request.requestId);
      if (service.sessions.draining) throw new BrokerError('draining', TEXTS.shutdown);
      if (!wait.isCancelled) service.counters.requests_timed_out++;
      throw CallFault.input(TEXTS.requestTimeout);
    } finally {
      leave();
      caller.off('cancelled', end);
    }
  };
}
