import type { ChannelName } from '../../../core/channel-name.js';
import type { Settlement } from '../../../core/queue/types.js';
import { OWN_TEXTS, TEXTS } from '../error-texts.js';
import { nativeText } from '../errors.js';
import { NATIVE_LIMITS } from '../limits.js';
import { queueNameFault } from '../rules.js';
import type { NativeService } from '../service.js';
import { DownstreamType, type QueuesDownstreamRequest } from '../wire/messages.js';
import { makeMoveTarget } from './move-target.js';
import type { Taken, Transaction } from './transaction.js';

/** Request metadata that asks for an answer to a settlement that went well; clients of the contract expect none. */
export const CONFIRM_KEY = 'polymq.confirm';
/** Request metadata of a NAck: nobody gets the messages before so many milliseconds are over. The contract has no back-off. */
export const DELAY_KEY = 'polymq.delay-ms';

type Verb = 'ack' | 'nack' | 'requeue';

export interface Decision {
  readonly verb: Verb;
  readonly settlement: Settlement;
  /** Absent: all that is open. */
  readonly range: readonly number[] | undefined;
  readonly isConfirmed: boolean;
}

const VERBS = new Map<number, { readonly verb: Verb; readonly isRange: boolean }>([
  [DownstreamType.ackAll, { verb: 'ack', isRange: false }],
  [DownstreamType.ackRange, { verb: 'ack', isRange: true }],
  [DownstreamType.nackAll, { verb: 'nack', isRange: false }],
  [DownstreamType.nackRange, { verb: 'nack', isRange: true }],
  [DownstreamType.reQueueAll, { verb: 'requeue', isRange: false }],
  [DownstreamType.reQueueRange, { verb: 'requeue', isRange: true }],
]);

/** What a settling request decides, or the text of its fault. */
export function decisionOf(request: QueuesDownstreamRequest): Decision | string {
  const kind = VERBS.get(request.requestType);
  if (kind === undefined) return TEXTS.requestUnknown;
  const { verb, isRange } = kind;
  if (verb === 'requeue') {
    if (request.reQueueChannel === '') return TEXTS.requeueChannelEmpty;
    const fault = queueNameFault(request.reQueueChannel);
    if (fault !== undefined) return fault;
  }
  // The doubled "of" is the contract's.
  if (isRange && request.sequenceRange.length === 0) return `cannot ${verb} empty list of of offsets`;
  const delayMs = verb === 'nack' ? delayOf(request) : 0;
  if (delayMs === undefined) return OWN_TEXTS.nackDelay;
  return {
    verb,
    settlement: settlementOf(verb, { channel: request.reQueueChannel, delayMs }),
    range: isRange ? request.sequenceRange : undefined,
    isConfirmed: request.metadata.get(CONFIRM_KEY) === 'true',
  };
}

/** Undefined: it is no delay. */
function delayOf({ metadata }: QueuesDownstreamRequest): number | undefined {
  const text = metadata.get(DELAY_KEY) ?? '0';
  const delayMs = Number(text);
  return /^\d+$/.test(text) && delayMs <= NATIVE_LIMITS.delaySecondsMax * 1000 ? delayMs : undefined;
}

function settlementOf(verb: Verb, to: { readonly channel: string; readonly delayMs: number }): Settlement {
  switch (verb) {
    case 'ack':
      return { kind: 'ack' };
    case 'nack':
      return { kind: 'nack', to: 'tail', ...(to.delayMs > 0 && { delayMs: to.delayMs }) };
    case 'requeue':
      return { kind: 'move', channel: to.channel as ChannelName };
  }
}

/**
 * Settles a decision. Known sequences are settled even when others are not; the text names the first that was not. What the
 * broker could not settle now stays in the transaction. Messages leave the transaction before this returns its promise.
 */
export async function settle(
  service: NativeService,
  transaction: Transaction,
  decision: Decision,
): Promise<string | undefined> {
  const taken = transaction.take(decision.range);
  let unknown = taken.unknown[0];
  const [first] = taken.deliveries;
  if (first !== undefined) {
    const { settlement } = decision;
    try {
      if (settlement.kind === 'move') await makeMoveTarget(service, first.channel, settlement.channel);
      const { refused } = await service.broker.settle({
        tokens: taken.deliveries,
        settlement,
        durable: decision.isConfirmed,
      });
      service.counters.messages_settled += taken.deliveries.length - refused.length;
      unknown ??= refused[0] === undefined ? undefined : taken.sequences[refused[0]];
    } catch (caught) {
      transaction.putBack(taken);
      return failureText(decision.verb, taken, nativeText(caught));
    }
  }
  if (unknown === undefined) return undefined;
  // Requeue borrows the words of ack in the contract.
  return `invalid ${decision.verb === 'nack' ? 'nack' : 'ack'} sequence id ${unknown}`;
}

function failureText(verb: Verb, { sequences }: Taken, text: string): string {
  const sequence = sequences[0] ?? 0;
  switch (verb) {
    case 'ack':
      return text;
    case 'nack':
      return `nack message with seq ${sequence} failed, ${text}`;
    case 'requeue':
      return `re-queue message with seq ${sequence} failed, ${text}`;
  }
}
