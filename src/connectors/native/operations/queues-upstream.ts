import { FlowWriter, type BidiCall } from '../../kit/grpc-call.js';
import { BrokerError } from '../../../core/errors.js';
import { TEXTS } from '../error-texts.js';
import { nativeStatus, nativeText } from '../errors.js';
import { NATIVE_LIMITS } from '../limits.js';
import type { NativeService } from '../service.js';
import type { QueuesUpstreamRequest, QueuesUpstreamResponse } from '../wire/messages.js';
import { onOver } from './calls.js';
import { sendQueueMessages } from './send-queue-messages.js';

type Call = BidiCall<QueuesUpstreamRequest, QueuesUpstreamResponse>;

/**
 * QueuesUpstream: each request is one batch with one answer. Requests of a stream run side by side and may be answered out
 * of order. IsError speaks of the whole request only; each message has a result of its own.
 */
export function queuesUpstream(service: NativeService) {
  return (call: Call): void => {
    new UpstreamSession(service, call).start();
  };
}

class UpstreamSession {
  readonly #service: NativeService;
  readonly #call: Call;
  readonly #writer: FlowWriter<QueuesUpstreamResponse>;
  #messages = 0;
  #bytes = 0;
  #requests = 0;
  #isReading = true;
  #isAwaitingRoom = false;
  #isHalfClosed = false;

  constructor(service: NativeService, call: Call) {
    this.#service = service;
    this.#call = call;
    this.#writer = new FlowWriter(call);
  }

  start(): void {
    const leave = this.#service.sessions.enter(this);
    onOver(this.#call, leave);
    this.#call.on('data', (request: QueuesUpstreamRequest) => void this.#handle(request));
    this.#call.on('end', () => {
      this.#isHalfClosed = true;
      this.#endWhenDone();
    });
  }

  /** What was accepted is answered; then the stream ends in a way that makes clients open another, elsewhere. */
  drain(): void {
    this.#isHalfClosed = true;
    this.#call.pause();
    this.#isReading = false;
    this.#endWhenDone();
  }

  async #handle(request: QueuesUpstreamRequest): Promise<void> {
    const bytes = request.messages.reduce((total, message) => total + message.body.byteLength, 0);
    this.#account(1, request.messages.length, bytes);
    let response: QueuesUpstreamResponse;
    try {
      response =
        request.messages.length === 0
          ? { refRequestId: request.requestId, isError: true, error: TEXTS.upstreamEmpty }
          : {
              refRequestId: request.requestId,
              results: await sendQueueMessages(this.#service, request.messages),
            };
    } catch (caught) {
      response = { refRequestId: request.requestId, isError: true, error: nativeText(caught) };
    }
    this.#writer.write(response);
    this.#account(-1, -request.messages.length, -bytes);
    this.#endWhenDone();
  }

  #account(requests: number, messages: number, bytes: number): void {
    this.#requests += requests;
    this.#messages += messages;
    this.#bytes += bytes;
    this.#regulate();
  }

  /** A peer that sends faster than the disk takes, or that reads no answers, is not read from. */
  #regulate(): void {
    const { unconfirmedPerStreamMax, unconfirmedBytesPerStreamMax } = NATIVE_LIMITS;
    const share = Math.max(
      this.#messages / unconfirmedPerStreamMax,
      this.#bytes / unconfirmedBytesPerStreamMax,
    );
    if (this.#isReading) {
      if (share < 1 && this.#writer.open) return;
      this.#isReading = false;
      this.#call.pause();
    }
    if (!this.#writer.open) this.#awaitRoom();
    else if (share <= 0.5 && !this.#service.sessions.draining) {
      this.#isReading = true;
      this.#call.resume();
    }
  }

  #awaitRoom(): void {
    if (this.#isAwaitingRoom) return;
    this.#isAwaitingRoom = true;
    void this.#writer.ready().then((isOpen) => {
      this.#isAwaitingRoom = false;
      if (isOpen) this.#regulate();
    });
  }

  #endWhenDone(): void {
    if (!this.#isHalfClosed || this.#requests > 0 || this.#writer.ended) return;
    if (this.#service.sessions.draining) this.#writer.fail(nativeStatus(new BrokerError('draining', '')));
    else this.#writer.end();
  }
}
