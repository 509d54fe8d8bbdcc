import type { ChannelName } from '../../../core/channel-name.js';
import type { LiveMessage } from '../../../core/live/types.js';
import type { ServerStreamCall } from '../../kit/grpc-call.js';
import { CallFault } from '../errors.js';
import { liveEventReceive } from '../live-mapping.js';
import { subscribeFault } from '../rules.js';
import type { NativeService } from '../service.js';
import { SubscribeType, type EventReceive, type Subscribe } from '../wire/messages.js';
import type { GroupReaders } from './group-reader.js';
import { LiveSubscriber } from './live-subscriber.js';
import { StoreSubscriber } from './store-subscriber.js';

type Call = ServerStreamCall<Subscribe, EventReceive>;

/** What is wrong with a subscription to events, or undefined. */
export function eventsSubscribeFault(request: Subscribe): string | undefined {
  return subscribeFault(request, [SubscribeType.events, SubscribeType.eventsStore]);
}

/** SubscribeToEvents: live ones, or those of an Events Store channel. */
export function subscribeToEvents(service: NativeService, groups: GroupReaders) {
  return (call: Call): void => {
    const { request } = call;
    const fault = eventsSubscribeFault(request);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      call.fail(CallFault.input(fault).status);
    } else if (request.subscribeType === SubscribeType.eventsStore) {
      new StoreSubscriber(service, groups, call).start();
    } else subscribeLive(service, call);
  };
}

function subscribeLive(service: NativeService, call: Call): void {
  const { channel: pattern, group } = call.request;
  // Who listens under an alias hears that name; what a wildcard finds comes under its own.
  const real = service.broker.resolve(pattern as ChannelName);
  const map = shared((message: LiveMessage) =>
    liveEventReceive(message, message.channel === real ? pattern : message.channel),
  );
  new LiveSubscriber<LiveMessage, EventReceive>(service, call, {
    map: real === pattern ? asItIs : map,
    subscribe: (sink) => service.broker.live.subscribe({ pattern, group, sink }),
    counter: 'live_events_delivered',
  }).start();
}

/** An event goes to its subscribers one after the other: they share what is made of it, and its bytes. */
const asItIs = shared((message: LiveMessage) => liveEventReceive(message, message.channel));

function shared(map: (message: LiveMessage) => EventReceive): (message: LiveMessage) => EventReceive {
  let last: LiveMessage | undefined;
  let mapped: EventReceive = {};
  return (message) => {
    if (message !== last) {
      mapped = map(message);
      last = message;
    }
    return mapped;
  };
}
