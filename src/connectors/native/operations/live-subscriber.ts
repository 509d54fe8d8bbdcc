import { BrokerError } from '../../../core/errors.js';
import type { LiveMessage, LiveSink, LiveSubscription } from '../../../core/live/types.js';
import { FlowWriter, type WritableCall } from '../../kit/grpc-call.js';
import { TEXTS } from '../error-texts.js';
import { nativeStatus } from '../errors.js';
import type { NativeCounters, NativeService } from '../service.js';
import { onOver } from './calls.js';

export interface LiveSubscriberParts<T extends LiveMessage, Out> {
  readonly map: (message: T) => Out;
  readonly subscribe: (sink: LiveSink<T>) => LiveSubscription;
  readonly counter: keyof NativeCounters;
}

/** A stream of live messages, for as long as the stream lives. One that does not keep up is the broker's affair. */
export class LiveSubscriber<T extends LiveMessage, Out> implements LiveSink<T> {
  readonly #service: NativeService;
  readonly #call: WritableCall<Out>;
  readonly #parts: LiveSubscriberParts<T, Out>;
  readonly #writer: FlowWriter<Out>;
  #subscription: LiveSubscription | undefined;

  constructor(service: NativeService, call: WritableCall<Out>, parts: LiveSubscriberParts<T, Out>) {
    this.#service = service;
    this.#call = call;
    this.#parts = parts;
    this.#writer = new FlowWriter(call);
  }

  start(): void {
    const leave = this.#service.sessions.enter(this);
    onOver(this.#call, () => {
      leave();
      this.#leave();
    });
    this.#call.on('drain', () => this.#subscription?.resume());
    if (this.#writer.ended) return;
    try {
      this.#subscription = this.#parts.subscribe(this);
    } catch (caught) {
      this.#service.counters.requests_refused++;
      this.#writer.fail(nativeStatus(caught));
    }
  }

  get bufferMessages(): number {
    return this.#service.subscriberBuffer;
  }

  get open(): boolean {
    return this.#writer.open;
  }

  take(message: T): void {
    if (this.#writer.write(this.#parts.map(message))) this.#service.counters[this.#parts.counter]++;
  }

  end(error: BrokerError): void {
    this.#leave();
    this.#writer.fail(nativeStatus(error));
  }

  drain(): void {
    this.end(new BrokerError('draining', TEXTS.shutdown));
  }

  #leave(): void {
    this.#subscription?.cancel();
    this.#subscription = undefined;
  }
}
