import { CallFault } from '../errors.js';
import { outgoingEvent } from '../event-mapping.js';
import { newEvent } from '../live-mapping.js';
import { eventFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { Event, Result } from '../wire/messages.js';

/**
 * SendEvent. With Store=true, Sent=true means that the event is on disk; without, that it was handed to whoever listens now,
 * be it nobody. Faults are the call's status.
 */
export function sendEvent(service: NativeService) {
  return async (event: Event): Promise<Result> => {
    const fault = eventFault(event);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      throw CallFault.input(fault);
    }
    if (!event.store) return publishEvent(service, event);
    const [stored] = await service.broker.append([outgoingEvent(event)], { createMissing: true });
    service.counters.events_stored++;
    return { eventId: stored?.id ?? event.eventId, sent: true };
  };
}

/** Hands a checked live event out. */
export function publishEvent(service: NativeService, event: Event): Result {
  if (event.eventId === '') event.eventId = service.ids.uuid();
  service.broker.live.publish(newEvent(event));
  service.counters.live_events_published++;
  return { eventId: event.eventId, sent: true };
}
