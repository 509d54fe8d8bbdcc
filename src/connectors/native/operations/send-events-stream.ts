import { BrokerError } from '../../../core/errors.js';
import { FlowWriter, type BidiCall } from '../../kit/grpc-call.js';
import { nativeStatus, nativeText } from '../errors.js';
import { outgoingEvent } from '../event-mapping.js';
import { NATIVE_LIMITS } from '../limits.js';
import { eventFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { Event, Result } from '../wire/messages.js';
import { onOver } from './calls.js';
import { publishEvent } from './send-event.js';

type Call = BidiCall<Event, Result>;

export interface EventsStreamOptions {
  /** Live events get a Result each, too. gRPC clients expect none for those that went well. */
  readonly confirmLive: boolean;
}

/**
 * SendEventsStream: one Result for each stored event, found by its EventID, and for each that is bad; that does not end the
 * stream. Stored events that arrive together are stored together.
 */
export function sendEventsStream(service: NativeService, options: EventsStreamOptions) {
  return (call: Call): void => {
    new EventStream(service, call, options).start();
  };
}

class EventStream {
  readonly #service: NativeService;
  readonly #options: EventsStreamOptions;
  readonly #call: Call;
  readonly #writer: FlowWriter<Result>;
  #gathered: Event[] = [];
  #gatheredBytes = 0;
  #isStoring = false;
  #isReading = true;
  #isHalfClosed = false;

  constructor(service: NativeService, call: Call, options: EventsStreamOptions) {
    this.#service = service;
    this.#options = options;
    this.#call = call;
    this.#writer = new FlowWriter(call);
  }

  start(): void {
    onOver(this.#call, this.#service.sessions.enter(this));
    this.#call.on('data', (event: Event) => this.#take(event));
    this.#call.on('end', () => {
      this.#isHalfClosed = true;
      this.#endWhenDone();
    });
  }

  /** What was read is stored and answered. */
  drain(): void {
    this.#isHalfClosed = true;
    this.#pause();
    this.#endWhenDone();
  }

  #take(event: Event): void {
    const fault = eventFault(event);
    if (fault !== undefined) {
      this.#service.counters.requests_refused++;
      this.#writer.write({ eventId: event.eventId, sent: false, error: fault });
      return;
    }
    if (!event.store) {
      this.#publish(event);
      return;
    }
    this.#gathered.push(event);
    this.#gatheredBytes += event.body.byteLength;
    if (this.#isFull()) this.#pause();
    if (!this.#isStoring) void this.#storeAll();
  }

  #publish(event: Event): void {
    try {
      const result = publishEvent(this.#service, event);
      if (this.#options.confirmLive) this.#writer.write(result);
    } catch (caught) {
      this.#writer.write({ eventId: event.eventId, sent: false, error: nativeText(caught) });
    }
  }

  #isFull(): boolean {
    const { unconfirmedPerStreamMax, unconfirmedBytesPerStreamMax } = NATIVE_LIMITS;
    return (
      this.#gathered.length >= unconfirmedPerStreamMax || this.#gatheredBytes >= unconfirmedBytesPerStreamMax
    );
  }

  /** One batch at a time: what comes while one is stored is the next one, and results keep the order of events. */
  async #storeAll(): Promise<void> {
    this.#isStoring = true;
    // What the same read of the socket brings joins the first batch.
    await Promise.resolve();
    while (this.#gathered.length > 0) {
      const events = this.#gathered;
      this.#gathered = [];
      this.#gatheredBytes = 0;
      for (const result of await this.#store(events)) this.#writer.write(result);
      // A peer that does not read its results is not read from.
      if (!(await this.#writer.ready())) break;
      this.#resume();
    }
    this.#isStoring = false;
    this.#endWhenDone();
  }

  async #store(events: readonly Event[]): Promise<readonly Result[]> {
    try {
      const stored = await this.#service.broker.append(events.map(outgoingEvent), { createMissing: true });
      this.#service.counters.events_stored += events.length;
      return stored.map(({ id }, place) => ({ eventId: events[place]?.eventId || id, sent: true }));
    } catch (caught) {
      const [only] = events;
      if (only === undefined) return [];
      if (events.length === 1) return [{ eventId: only.eventId, sent: false, error: nativeText(caught) }];
      // One of them is at fault; the others must not suffer.
      const results: Result[] = [];
      for (const event of events) results.push(...(await this.#store([event])));
      return results;
    }
  }

  #pause(): void {
    if (!this.#isReading) return;
    this.#isReading = false;
    this.#call.pause();
  }

  #resume(): void {
    if (this.#isReading || this.#service.sessions.draining || this.#isFull()) return;
    this.#isReading = true;
    this.#call.resume();
  }

  #endWhenDone(): void {
    if (!this.#isHalfClosed || this.#isStoring) return;
    if (this.#service.sessions.draining) this.#writer.fail(nativeStatus(new BrokerError('draining', '')));
    else this.#writer.end();
  }
}
