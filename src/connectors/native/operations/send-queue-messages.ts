import type { OutgoingMessage } from '../../../core/message.js';
import type { BrokerError } from '../../../core/errors.js';
import { status } from '../../kit/grpc-status.js';
import { TEXTS } from '../error-texts.js';
import { CallFault } from '../errors.js';
import { outgoingQueueMessage, sendFailure, sendResult } from '../queue-message-mapping.js';
import { queueMessageFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type {
  QueueMessage,
  QueueMessagesBatchRequest,
  QueueMessagesBatchResponse,
  SendQueueMessageResult,
} from '../wire/messages.js';

/**
 * What all three ways of sending share: checks every message, stores the good ones as one batch and answers each at its
 * place. Missing queues are made. Rejects when the broker takes nothing now (`unavailable`, `draining`).
 */
export async function sendQueueMessages(
  service: NativeService,
  messages: readonly QueueMessage[],
): Promise<SendQueueMessageResult[]> {
  const results: SendQueueMessageResult[] = [];
  const outgoing: OutgoingMessage[] = [];
  const places: number[] = [];
  for (const [place, message] of messages.entries()) {
    const fault = queueMessageFault(message);
    if (fault === undefined) {
      outgoing.push(outgoingQueueMessage(message));
      places.push(place);
    } else {
      service.counters.requests_refused++;
      results[place] = sendFailure(message, fault);
    }
  }
  if (outgoing.length === 0) return results;
  const outcomes = await service.broker.send(outgoing, { createMissing: true });
  for (const [index, outcome] of outcomes.entries()) {
    const place = places[index];
    const message = place === undefined ? undefined : messages[place];
    if (place === undefined || message === undefined) continue;
    // A refusal that passes by itself is an answer to the call, so that clients send again.
    if (!outcome.ok && messages.length === 1 && isPassing(outcome.error)) throw outcome.error;
    if (outcome.ok) service.counters.messages_sent++;
    results[place] = sendResult(message, outcome);
  }
  return results;
}

function isPassing(error: BrokerError): boolean {
  return error.kind === 'unavailable' || error.kind === 'draining';
}

/** SendQueueMessage: faults of the message are in the answer, not in the status. */
export function sendQueueMessage(service: NativeService) {
  return async (message: QueueMessage): Promise<SendQueueMessageResult> => {
    const [result] = await sendQueueMessages(service, [message]);
    return result ?? {};
  };
}

/**
 * SendQueueMessagesBatch: results stand at their message's place. Only an empty batch fails as a call, with the code that
 * the contract's server gives it.
 */
export function sendQueueMessagesBatch(service: NativeService) {
  return async (request: QueueMessagesBatchRequest): Promise<QueueMessagesBatchResponse> => {
    if (request.messages.length === 0)
      throw new CallFault({ code: status.UNKNOWN, details: TEXTS.batchEmpty });
    const results = await sendQueueMessages(service, request.messages);
    return {
      batchId: request.batchId,
      results,
      haveErrors: results.some((result) => result.isError === true),
    };
  };
}
