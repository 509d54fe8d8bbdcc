import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import type { LogEvent, LogSubscription } from '../../../core/log/types.js';
import type { Consumer, Delivery } from '../../../core/queue/types.js';

export interface StreamReaderOptions {
  readonly channel: ChannelName;
  /** The first event to read. */
  readonly sequence: number;
  readonly credit: number;
  readonly creditBytes: number;
  readonly onDeliveries: (deliveries: readonly Delivery[]) => void;
  /** The stream went away; nothing follows. */
  readonly onCancel: (reason: BrokerError) => void;
}

/** Events asked for at once. */
const READ_EVENTS_MAX = 64;

/**
 * A consumer of a stream: reads its log from a place on, as fast as acknowledgements and the socket give credit. Looks to its
 * channel like a consumer of a queue.
 */
export class StreamReader implements Consumer {
  readonly #options: StreamReaderOptions;
  readonly #subscription: LogSubscription;
  #credit: number;
  #creditBytes: number;
  #reading = false;
  #cancelled = false;

  /** Throws `not-found` when there is no such log. */
  constructor(broker: Broker, options: StreamReaderOptions) {
    this.#options = options;
    this.#credit = options.credit;
    this.#creditBytes = options.creditBytes;
    const { channel, sequence } = options;
    this.#subscription = broker.subscribe({ channel, start: { from: 'sequence', sequence } });
    this.#read();
  }

  grant(messages: number, bytes = 0): void {
    this.#credit += messages;
    this.#creditBytes += bytes;
    this.#read();
  }

  cancel(): void {
    this.#cancelled = true;
    this.#subscription.close();
  }

  #read(): void {
    if (this.#reading || this.#cancelled || this.#credit <= 0 || this.#creditBytes <= 0) return;
    this.#reading = true;
    this.#subscription.next(Math.min(this.#credit, READ_EVENTS_MAX)).then(
      (events) => this.#onEvents(events),
      (caught: unknown) => this.#onFailure(caught),
    );
  }

  #onEvents(events: readonly LogEvent[]): void {
    this.#reading = false;
    // Nothing: it was closed, by its consumer or because the broker shuts down.
    if (this.#cancelled || events.length === 0) return;
    this.#credit -= events.length;
    for (const event of events) this.#creditBytes -= event.message.body.length;
    this.#options.onDeliveries(events.map(deliveryOf));
    this.#read();
  }

  #onFailure(caught: unknown): void {
    this.#reading = false;
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#options.onCancel(BrokerError.from(caught));
  }
}

function deliveryOf({ channel, sequence, storedAt, message }: LogEvent): Delivery {
  return {
    channel,
    sequence,
    attempt: 1,
    message,
    enqueuedAt: storedAt,
    receiveCount: 1,
    redelivered: false,
    firstReceivedAt: storedAt,
    expiresAt: 0,
    delayedTo: 0,
    reRoutedFrom: '',
    leaseEndsAt: 0,
  };
}
