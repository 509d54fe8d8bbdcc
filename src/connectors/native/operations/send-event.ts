import { BrokerError } from '../../../core/errors.js';
import { FlowWriter, type BidiCall } from '../../kit/grpc-call.js';
import { OWN_TEXTS } from '../error-texts.js';
import { CallFault, nativeStatus, nativeText } from '../errors.js';
import { outgoingEvent } from '../event-mapping.js';
import { NATIVE_LIMITS } from '../limits.js';
import { eventFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { Event, Result } from '../wire/messages.js';
import { onOver } from './calls.js';

/** SendEvent: an event of an Events Store channel. Sent=true means that it is on disk. Faults are the call's status. */
export function sendEvent(service: NativeService) {
  return async (event: Event): Promise<Result> => {
    const fault = eventFault(event);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      throw CallFault.input(fault);
    }
    if (!event.store) throw CallFault.unserved(OWN_TEXTS.liveEvents);
    const [stored] = await service.broker.append([outgoingEvent(event)], { createMissing: true });
    service.counters.events_stored++;
    return { eventId: stored?.id ?? event.eventId, sent: true };
  };
}

type Call = BidiCall<Event, Result>;

/**
 * SendEventsStream: one Result for each stored event, found by its EventID; a bad event does not end the stream. Events that
 * arrive together are stored together.
 */
export function sendEventsStream(service: NativeService) {
  return (call: Call): void => {
    new EventStream(service, call).start();
  };
}

class EventStream {
  readonly #service: NativeService;
  readonly #call: Call;
  readonly #writer: FlowWriter<Result>;
  #gathered: Event[] = [];
  #gatheredBytes = 0;
  #isStoring = false;
  #isReading = true;
  #isHalfClosed = false;

  constructor(service: NativeService, call: Call) {
    this.#service = service;
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
    const fault = eventFault(event) ?? (event.store ? undefined : OWN_TEXTS.liveEvents);
    if (fault !== undefined) {
      this.#service.counters.requests_refused++;
      this.#writer.write({ eventId: event.eventId, sent: false, error: fault });
      return;
    }
    this.#gathered.push(event);
    this.#gatheredBytes += event.body.byteLength;
    if (this.#isFull()) this.#pause();
    if (!this.#isStoring) void this.#storeAll();
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
