import { AccessDenied } from '../../../core/access/resource.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import type { Delivery, Settlement } from '../../../core/queue/types.js';
import type { Timer } from '../../../base/clock.js';
import { FlowWriter, type BidiCall } from '../../kit/grpc-call.js';
import { TEXTS } from '../error-texts.js';
import { nativeStatus, nativeText } from '../errors.js';
import { NATIVE_LIMITS } from '../limits.js';
import { deliveredQueueMessage, outgoingQueueMessage } from '../queue-message-mapping.js';
import { streamRequestFault } from '../rules.js';
import type { NativeService } from '../service.js';
import {
  StreamRequestType,
  type StreamQueueMessagesRequest,
  type StreamQueueMessagesResponse,
} from '../wire/messages.js';
import { onOver } from './calls.js';
import { channelNamer } from './channel-namer.js';
import { makeMoveTarget } from './move-target.js';

type Call = BidiCall<StreamQueueMessagesRequest, StreamQueueMessagesResponse>;

/**
 * StreamQueueMessage: one message a stream, received and settled on it, with a visibility timer at the server. Every request
 * has exactly one answer; the stream ends with the settlement, with an empty wait, or when the timer runs out.
 */
export function streamQueueMessage(service: NativeService) {
  return (call: Call): void => {
    new StreamSession(service, call).start();
  };
}

interface Held {
  readonly delivery: Delivery;
  readonly request: StreamQueueMessagesRequest;
  timer: Timer;
}

class StreamSession {
  readonly #service: NativeService;
  readonly #call: Call;
  readonly #writer: FlowWriter<StreamQueueMessagesResponse>;
  #wait: AbortController | undefined;
  #held: Held | undefined;
  #hasReceived = false;
  #settling: Promise<void> = Promise.resolve();
  #isEnded = false;

  constructor(service: NativeService, call: Call) {
    this.#service = service;
    this.#call = call;
    this.#writer = new FlowWriter(call);
  }

  start(): void {
    const leave = this.#service.sessions.enter(this);
    onOver(this.#call, () => {
      leave();
      this.#end(() => undefined);
    });
    this.#call.on('data', (request: StreamQueueMessagesRequest) => this.#handle(request));
    // A settlement that is under way is still answered.
    this.#call.on('end', () => void this.#settling.then(() => this.#end(() => this.#writer.end())));
  }

  /** A message that is held may still be settled. */
  drain(): void {
    if (this.#held === undefined) this.#end(() => this.#failDraining());
  }

  #handle(request: StreamQueueMessagesRequest): void {
    if (this.#isEnded) return;
    const fault = streamRequestFault(request) ?? this.#stateFault(request);
    if (fault !== undefined) {
      this.#service.counters.requests_refused++;
      this.#refuse(request, fault);
      return;
    }
    switch (request.requestType) {
      case StreamRequestType.receiveMessage:
        void this.#receive(request);
        return;
      case StreamRequestType.ackMessage:
        this.#settling = this.#settle(request, { kind: 'ack' }, TEXTS.ackFailed);
        return;
      case StreamRequestType.rejectMessage:
        this.#settling = this.#settle(request, { kind: 'nack', to: 'tail' }, TEXTS.ackFailed);
        return;
      case StreamRequestType.modifyVisibility:
        void this.#modifyVisibility(request);
        return;
      case StreamRequestType.resendMessage:
        this.#settling = this.#settle(
          request,
          { kind: 'move', channel: request.channel as ChannelName },
          TEXTS.sendFailed,
        );
        return;
      default:
        this.#settling = this.#sendModified(request);
    }
  }

  /** What the state of the stream says against a request. */
  #stateFault(request: StreamQueueMessagesRequest): string | undefined {
    const held = this.#held;
    switch (request.requestType) {
      case StreamRequestType.receiveMessage:
        return this.#hasReceived ? TEXTS.alreadyReceiving : undefined;
      case StreamRequestType.rejectMessage:
        if (held === undefined) return TEXTS.noMessageToReject;
        break;
      case StreamRequestType.resendMessage:
        return held === undefined ? TEXTS.noMessageToSend : undefined;
      case StreamRequestType.ackMessage:
        if (held === undefined) return TEXTS.noMessageToAck;
        break;
      default:
        return held === undefined ? TEXTS.noMessageToAck : undefined;
    }
    return request.refSequence === held.delivery.sequence ? undefined : TEXTS.ackSequence;
  }

  async #receive(request: StreamQueueMessagesRequest): Promise<void> {
    this.#hasReceived = true;
    const wait = new AbortController();
    this.#wait = wait;
    const visibilityMs = visibilityMsOf(request);
    try {
      const [delivery] = await this.#service.broker.receive({
        channel: request.channel as ChannelName,
        max: 1,
        waitMs: (request.waitTimeSeconds || NATIVE_LIMITS.waitSecondsDefault) * 1000,
        handOut: { kind: 'lease', leaseMs: visibilityMs },
        createMissing: true,
        signal: wait.signal,
      });
      this.#wait = undefined;
      if (delivery === undefined) {
        if (!this.#isEnded) this.#refuse(request, TEXTS.noNewMessage);
        this.#end(() => this.#writer.end());
      } else if (this.#isEnded) this.#giveBack(delivery);
      else this.#hold(request, delivery, visibilityMs);
    } catch (caught) {
      this.#wait = undefined;
      this.#refuse(request, nativeText(caught));
      this.#end(() => this.#writer.end());
    }
  }

  #hold(request: StreamQueueMessagesRequest, delivery: Delivery, visibilityMs: number): void {
    this.#held = { delivery, request, timer: this.#startTimer(visibilityMs) };
    this.#service.counters.messages_delivered++;
    const name = channelNamer(this.#service.broker, request.channel)(delivery.channel);
    this.#answer(request, { message: deliveredQueueMessage(delivery, name) });
  }

  #startTimer(visibilityMs: number): Timer {
    return this.#service.clock.after(visibilityMs, () => {
      const held = this.#held;
      if (held === undefined) return;
      this.#refuse(held.request, TEXTS.visibilityExpired);
      this.#end(() => this.#writer.end());
    });
  }

  async #modifyVisibility(request: StreamQueueMessagesRequest): Promise<void> {
    const held = this.#held;
    if (held === undefined) return;
    const leaseMs = visibilityMsOf(request);
    try {
      const extended = await this.#service.broker.settle({
        tokens: [held.delivery],
        settlement: { kind: 'extend', leaseMs },
      });
      if (extended.refused.length > 0) {
        this.#lost(request);
        return;
      }
      // Its settlement may have come meanwhile.
      if (this.#held === held) {
        held.timer.cancel();
        held.timer = this.#startTimer(leaseMs);
      }
      this.#answer(request, {});
    } catch (caught) {
      this.#refuse(request, nativeText(caught));
    }
  }

  async #settle(request: StreamQueueMessagesRequest, settlement: Settlement, failed: string): Promise<void> {
    const held = this.#takeHeld();
    if (held === undefined) return;
    try {
      if (settlement.kind === 'move')
        await makeMoveTarget(this.#service, held.delivery.channel, settlement.channel);
      const { refused } = await this.#service.broker.settle({
        tokens: [held.delivery],
        settlement,
        durable: true,
      });
      if (refused.length === 0) this.#settled(request);
      else this.#lost(request);
    } catch (caught) {
      this.#putBack(held);
      this.#refuse(request, failureText(caught, failed));
    }
  }

  /** The new message comes and the old one goes in one entry. */
  async #sendModified(request: StreamQueueMessagesRequest): Promise<void> {
    const held = this.#takeHeld();
    const message = request.modifiedMessage;
    if (held === undefined || message === undefined) return;
    try {
      const [outcome] = await this.#service.broker.send([outgoingQueueMessage(message)], {
        createMissing: true,
        acks: [held.delivery],
      });
      if (outcome?.ok === false) throw outcome.error;
      this.#service.counters.messages_sent++;
      this.#settled(request);
    } catch (caught) {
      this.#putBack(held);
      this.#refuse(request, failureText(caught, TEXTS.sendFailed));
    }
  }

  #settled(request: StreamQueueMessagesRequest): void {
    this.#service.counters.messages_settled++;
    this.#answer(request, {});
    this.#end(() => this.#writer.end());
  }

  /** The lease had run out before the request came. */
  #lost(request: StreamQueueMessagesRequest): void {
    this.#refuse(request, TEXTS.visibilityExpired);
    this.#end(() => this.#writer.end());
  }

  #takeHeld(): Held | undefined {
    const held = this.#held;
    this.#held = undefined;
    held?.timer.cancel();
    return held;
  }

  #putBack(held: Held): void {
    if (this.#isEnded) {
      this.#giveBack(held.delivery);
      return;
    }
    this.#held = held;
    held.timer = this.#startTimer(Math.max(0, (held.delivery.leaseEndsAt ?? 0) - this.#service.clock.now()));
  }

  #answer(request: StreamQueueMessagesRequest, answer: StreamQueueMessagesResponse): void {
    this.#writer.write({ requestId: request.requestId, requestType: request.requestType, ...answer });
  }

  #refuse(request: StreamQueueMessagesRequest, error: string): void {
    this.#answer(request, { isError: true, error });
  }

  /** Ends the stream once; what it still holds goes back to its queue. */
  #end(close: () => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#wait?.abort();
    const held = this.#takeHeld();
    if (held !== undefined) this.#giveBack(held.delivery);
    close();
  }

  #failDraining(): void {
    this.#writer.fail(nativeStatus(new BrokerError('draining', TEXTS.shutdown)));
  }

  #giveBack(delivery: Delivery): void {
    const { ownBroker, log, sessions } = this.#service;
    sessions.supervise(
      ownBroker.settle({ tokens: [delivery], settlement: { kind: 'nack', to: 'tail' } }).then(
        () => undefined,
        (caught: unknown) => {
          log.warn('message of a closed stream could not be given back', { error: nativeText(caught) });
        },
      ),
    );
  }
}

/** Why a message could not be settled or sent: that it is not allowed, or the contract's text. */
function failureText(caught: unknown, text: string): string {
  return caught instanceof AccessDenied ? nativeText(caught) : text;
}

function visibilityMsOf(request: StreamQueueMessagesRequest): number {
  return (request.visibilitySeconds || NATIVE_LIMITS.visibilitySecondsDefault) * 1000;
}
