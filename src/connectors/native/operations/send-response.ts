import { nextTurn } from '../../../base/turn.js';
import { CallFault } from '../errors.js';
import { liveReply } from '../live-mapping.js';
import { responseFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { Response } from '../wire/messages.js';

/** SendResponse: answers a request by its ReplyChannel. An answer nobody waits for any more is dropped without a word. */
export function sendResponse(service: NativeService) {
  return async (response: Response): Promise<Record<string, never>> => {
    const fault = responseFault(response);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      throw CallFault.input(fault);
    }
    service.broker.live.reply(response.replyChannel, liveReply(response));
    service.counters.responses_sent++;
    // Who asked waits for the answer; who gave it waits for nothing, and comes second.
    await nextTurn();
    return {};
  };
}
