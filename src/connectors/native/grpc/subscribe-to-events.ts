import type { ServerWritableStream } from '@grpc/grpc-js';
import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import { FlowWriter } from '../../kit/grpc-call.js';
import { OWN_TEXTS, TEXTS } from '../error-texts.js';
import { CallFault, nativeStatus } from '../errors.js';
import { eventReceive, startPosition } from '../event-mapping.js';
import type { GroupReaders, ReaderMember } from '../group-reader.js';
import { eventsSubscriptionFault, storeSubscriptionFault } from '../rules.js';
import type { NativeService } from '../service.js';
import { SubscribeType, type EventReceive, type Subscribe } from '../wire/messages.js';
import { onOver } from './calls.js';

type Call = ServerWritableStream<Subscribe, EventReceive>;

/**
 * SubscribeToEvents for Events Store channels. The position is kept on the broker, for (client, channel) or, with a group, for
 * (group, channel); once there is one, the start type is ignored. It moves on when the stream has taken an event, so a slow
 * reader slows itself down and misses nothing.
 */
export function subscribeToEvents(service: NativeService, groups: GroupReaders) {
  return (call: Call): void => {
    const writer = new FlowWriter<EventReceive>(call);
    try {
      subscribe(service, groups, call, writer);
    } catch (caught) {
      service.counters.requests_refused++;
      writer.fail(nativeStatus(caught));
    }
  };
}

function subscribe(
  service: NativeService,
  groups: GroupReaders,
  call: Call,
  writer: FlowWriter<EventReceive>,
): void {
  const request = call.request;
  check(request);
  const { channel, group, clientId } = request;
  const member: ReaderMember = {
    ready: () => writer.ready(),
    deliver: async (events) => {
      const accepted = await writer.deliver(events.map((event) => eventReceive(event, channel)));
      if (accepted) service.counters.events_delivered += events.length;
      return accepted;
    },
    fail: (caught) => writer.fail(nativeStatus(caught)),
  };
  const leaveReader = groups.join(
    {
      channel: channel as ChannelName,
      // Prefixes keep a client and a group of one name apart.
      durable: group === '' ? `client:${clientId}` : `group:${group}`,
      start: startPosition(request),
      isShared: group !== '',
      takenText: OWN_TEXTS.alreadySubscribed(clientId, channel),
    },
    member,
  );
  const leaveSessions = service.sessions.enter({
    drain: () => {
      leaveReader();
      writer.fail(nativeStatus(new BrokerError('draining', TEXTS.shutdown)));
    },
  });
  onOver(call, () => {
    leaveSessions();
    leaveReader();
  });
}

function check(request: Subscribe): void {
  switch (request.subscribeType) {
    case SubscribeType.eventsStore: {
      const fault = storeSubscriptionFault(request);
      if (fault !== undefined) throw CallFault.input(fault);
      return;
    }
    case SubscribeType.events:
      throw eventsFault(request);
    default:
      throw CallFault.input(TEXTS.subscribeType);
  }
}

function eventsFault(request: Subscribe): CallFault {
  const fault = eventsSubscriptionFault(request);
  return fault === undefined ? CallFault.unserved(OWN_TEXTS.liveSubscription) : CallFault.input(fault);
}
