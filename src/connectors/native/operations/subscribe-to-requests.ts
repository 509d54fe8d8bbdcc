import type { ChannelName } from '../../../core/channel-name.js';
import type { LiveRequest } from '../../../core/live/types.js';
import type { ServerStreamCall } from '../../kit/grpc-call.js';
import { CallFault } from '../errors.js';
import { outgoingRequest } from '../live-mapping.js';
import { subscribeFault } from '../rules.js';
import type { NativeService } from '../service.js';
import { SubscribeType, type OutgoingRequest, type Subscribe } from '../wire/messages.js';
import { LiveSubscriber } from './live-subscriber.js';

/** What is wrong with a subscription to requests, or undefined. */
export function requestsSubscribeFault(request: Subscribe): string | undefined {
  return subscribeFault(request, [SubscribeType.commands, SubscribeType.queries]);
}

/** SubscribeToRequests: commands or queries as they come; SendResponse answers them, over whatever connection. */
export function subscribeToRequests(service: NativeService) {
  return (call: ServerStreamCall<Subscribe, OutgoingRequest>): void => {
    const { request } = call;
    const fault = requestsSubscribeFault(request);
    if (fault !== undefined) {
      service.counters.requests_refused++;
      call.fail(CallFault.input(fault).status);
      return;
    }
    const kind = request.subscribeType === SubscribeType.commands ? 'commands' : 'queries';
    const channel = request.channel as ChannelName;
    new LiveSubscriber<LiveRequest, OutgoingRequest>(service, call, {
      map: (message) => outgoingRequest(message, request.channel),
      subscribe: (sink) => service.broker.live.serve({ kind, channel, group: request.group, sink }),
      counter: 'requests_delivered',
    }).start();
  };
}
