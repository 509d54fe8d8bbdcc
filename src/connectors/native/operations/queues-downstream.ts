import type { ChannelName } from '../../../core/channel-name.js';
import type { Delivery } from '../../../core/queue/types.js';
import { FlowWriter, type BidiCall } from '../../kit/grpc-call.js';
import { OWN_TEXTS, TEXTS } from '../error-texts.js';
import { nativeText } from '../errors.js';
import { NATIVE_LIMITS } from '../limits.js';
import { deliveredQueueMessages } from '../queue-message-mapping.js';
import { getFault } from '../rules.js';
import type { NativeService } from '../service.js';
import {
  DownstreamType,
  type QueuesDownstreamRequest,
  type QueuesDownstreamResponse,
} from '../wire/messages.js';
import { onOver } from './calls.js';
import { channelNamer } from './channel-namer.js';
import { decisionOf, settle } from './downstream-settlement.js';
import { Transaction } from './transaction.js';

type Call = BidiCall<QueuesDownstreamRequest, QueuesDownstreamResponse>;

/**
 * QueuesDownstream: the consumer API. A stream holds many transactions, one a Get. Gets wait side by side; everything else
 * is done in the order it arrives. Messages have no timer here: they are the stream's until settled, and go back to their
 * queue, counted, as soon as the stream ends.
 */
export function queuesDownstream(service: NativeService) {
  return (call: Call): void => {
    new DownstreamSession(service, call).start();
  };
}

class DownstreamSession {
  readonly #service: NativeService;
  readonly #call: Call;
  readonly #writer: FlowWriter<QueuesDownstreamResponse>;
  readonly #transactions = new Map<string, Transaction>();
  readonly #waits = new Set<AbortController>();
  #settling = 0;
  /** The server goes away: nothing new is begun. */
  #isClosing = false;
  /** The client sends nothing more: nothing it holds can be settled any more. */
  #isHalfClosed = false;
  #isOver = false;

  constructor(service: NativeService, call: Call) {
    this.#service = service;
    this.#call = call;
    this.#writer = new FlowWriter(call);
  }

  start(): void {
    const leave = this.#service.sessions.enter(this);
    onOver(this.#call, () => {
      leave();
      this.#over();
    });
    this.#call.on('data', (request: QueuesDownstreamRequest) => this.#handle(request));
    this.#call.on('end', () => {
      this.#isClosing = true;
      this.#isHalfClosed = true;
      this.#stopWaiting();
      this.#release();
      this.#endWhenDone();
    });
  }

  /** Tells the client to go elsewhere; it may still settle what it holds. */
  drain(): void {
    this.#writer.write({ requestType: DownstreamType.closeByServer });
    this.#isClosing = true;
    this.#stopWaiting();
    this.#endWhenDone();
  }

  #handle(request: QueuesDownstreamRequest): void {
    switch (request.requestType) {
      case DownstreamType.get:
        void this.#get(request);
        return;
      case DownstreamType.ackAll:
      case DownstreamType.ackRange:
      case DownstreamType.nackAll:
      case DownstreamType.nackRange:
      case DownstreamType.reQueueAll:
      case DownstreamType.reQueueRange:
        void this.#settle(request);
        return;
      case DownstreamType.activeOffsets: {
        const transaction = this.#find(request);
        if (transaction !== undefined) this.#answer(request, { activeOffsets: transaction.sequences() });
        return;
      }
      case DownstreamType.transactionStatus:
        this.#answer(request, { transactionComplete: !this.#transactions.has(request.refTransactionId) });
        return;
      case DownstreamType.closeByClient:
        this.#close(request);
        return;
      default:
        this.#answer(request, {
          requestType: DownstreamType.unknown,
          isError: true,
          error: TEXTS.requestUnknown,
        });
    }
  }

  async #get(request: QueuesDownstreamRequest): Promise<void> {
    const id = this.#service.ids.uuid();
    const head = { transactionId: id, refRequestId: request.requestId, requestType: DownstreamType.get };
    const fault = getFault(request) ?? this.#refusal();
    if (fault !== undefined) {
      this.#service.counters.requests_refused++;
      this.#writer.write({ ...head, isError: true, error: fault });
      return;
    }
    const wait = new AbortController();
    this.#waits.add(wait);
    try {
      // A peer that does not read its answers is given no more of them.
      if (!(await this.#writer.ready())) return;
      const deliveries = await this.#receive(request, wait.signal);
      if (this.#isOver) this.#giveBack(deliveries, request.autoAck);
      else this.#writer.write({ ...head, ...this.#opened(id, request, deliveries) });
    } catch (caught) {
      this.#writer.write({ ...head, isError: true, error: nativeText(caught) });
    } finally {
      this.#waits.delete(wait);
      this.#endWhenDone();
    }
  }

  #refusal(): string | undefined {
    if (this.#service.sessions.draining) return TEXTS.shutdown;
    if (this.#waits.size >= NATIVE_LIMITS.getsPerStreamMax) return OWN_TEXTS.tooManyGets;
    return this.#transactions.size >= NATIVE_LIMITS.transactionsPerStreamMax
      ? OWN_TEXTS.tooManyTransactions
      : undefined;
  }

  #receive(request: QueuesDownstreamRequest, signal: AbortSignal): Promise<readonly Delivery[]> {
    const { getItemsMax, getWaitMsMin, getWaitMsMax, responseBytes } = NATIVE_LIMITS;
    return this.#service.broker.receive({
      channel: request.channel as ChannelName,
      max: request.maxItems > 0 ? Math.min(request.maxItems, getItemsMax) : getItemsMax,
      maxBytes: responseBytes,
      waitMs: Math.min(Math.max(request.waitTimeoutMs, getWaitMsMin), getWaitMsMax),
      handOut: request.autoAck ? { kind: 'auto' } : { kind: 'lease', leaseMs: 0 },
      createMissing: true,
      signal,
    });
  }

  /** Makes the transaction of a Get; one without messages, or with AutoAck, is complete at once. */
  #opened(
    id: string,
    request: QueuesDownstreamRequest,
    deliveries: readonly Delivery[],
  ): QueuesDownstreamResponse {
    const transaction = new Transaction(id);
    const nameOf = channelNamer(this.#service.broker, request.channel);
    const messages = deliveredQueueMessages(
      deliveries,
      ({ channel }) => nameOf(channel),
      (delivery) => transaction.add(delivery),
    );
    this.#service.counters.messages_delivered += messages.length;
    const isComplete = request.autoAck || transaction.isComplete;
    if (!isComplete) this.#transactions.set(id, transaction);
    return { messages, transactionComplete: isComplete };
  }

  async #settle(request: QueuesDownstreamRequest): Promise<void> {
    const transaction = this.#find(request);
    if (transaction === undefined) return;
    const decision = decisionOf(request);
    if (typeof decision === 'string') {
      this.#service.counters.requests_refused++;
      this.#answer(request, { isError: true, error: decision });
      return;
    }
    this.#settling++;
    const work = settle(this.#service, transaction, decision);
    // What is taken is gone from the transaction already: the next request sees it so.
    if (transaction.isComplete) this.#transactions.delete(transaction.id);
    const fault = await work;
    this.#settling--;
    if (!transaction.isComplete && !this.#isOver) this.#transactions.set(transaction.id, transaction);
    const transactionComplete = transaction.isComplete;
    if (fault !== undefined) this.#answer(request, { isError: true, error: fault, transactionComplete });
    else if (decision.isConfirmed) this.#answer(request, { transactionComplete });
    if (this.#isHalfClosed) this.#release();
    this.#endWhenDone();
  }

  /** The transaction a request speaks of; the answer is given when there is none. */
  #find(request: QueuesDownstreamRequest): Transaction | undefined {
    const transaction = this.#transactions.get(request.refTransactionId);
    if (transaction === undefined) this.#answer(request, { isError: true, error: TEXTS.transactionGone });
    return transaction;
  }

  /** Gives back what a transaction holds; without a name, what all hold. Never answered. */
  #close(request: QueuesDownstreamRequest): void {
    if (request.refTransactionId === '') this.#release();
    else {
      const transaction = this.#transactions.get(request.refTransactionId);
      this.#transactions.delete(request.refTransactionId);
      if (transaction !== undefined) this.#giveBack(transaction.take().deliveries, false);
    }
    this.#endWhenDone();
  }

  #answer(request: QueuesDownstreamRequest, answer: QueuesDownstreamResponse): void {
    this.#writer.write({
      transactionId: request.refTransactionId,
      refRequestId: request.requestId,
      requestType: request.requestType,
      ...answer,
    });
  }

  #stopWaiting(): void {
    for (const wait of this.#waits) wait.abort();
  }

  #over(): void {
    this.#isOver = true;
    this.#stopWaiting();
    this.#release();
  }

  /** All messages that are not settled go back to their queues, now. */
  #release(): void {
    const held = [...this.#transactions.values()].flatMap((transaction) => transaction.take().deliveries);
    this.#transactions.clear();
    this.#giveBack(held, false);
  }

  #giveBack(deliveries: readonly Delivery[], isRemoved: boolean): void {
    if (deliveries.length === 0 || isRemoved) return;
    const { ownBroker, log, sessions } = this.#service;
    sessions.supervise(
      ownBroker.settle({ tokens: deliveries, settlement: { kind: 'nack', to: 'tail' } }).then(
        () => undefined,
        (caught: unknown) => {
          log.warn('messages of a closed stream could not be given back', {
            messages: deliveries.length,
            error: nativeText(caught),
          });
        },
      ),
    );
  }

  #endWhenDone(): void {
    if (!this.#isClosing || this.#isOver || this.#settling > 0 || this.#waits.size > 0) return;
    if (this.#transactions.size === 0) this.#writer.end();
  }
}
