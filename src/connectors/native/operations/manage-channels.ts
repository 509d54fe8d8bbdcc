import type { ChannelName } from '../../../core/channel-name.js';
import { nativeText } from '../errors.js';
import { nanoseconds } from '../queue-message-mapping.js';
import { OWN_TEXTS } from '../error-texts.js';
import { channelFault, queueNameFault } from '../rules.js';
import type { NativeService } from '../service.js';
import type { OutgoingResponse, Request } from '../wire/messages.js';
import { ChannelLists } from './channel-lists.js';
import { CHANNEL_KIND, channelKey, KIND_OF, isChannelType, type ChannelType } from './channel-types.js';

/** Queries to this channel are answered by the broker itself. */
export const MANAGEMENT_CHANNEL = 'kubemq.cluster.internal.requests';

/** Channels that are part of a resource of another protocol are deleted there. */
const FOREIGN = /^(?:sqs|sns|gcp|amqp)\./;

/**
 * Channel management: `create-channel`, `delete-channel` and `list-channels` in the metadata, what of in the tags. Every
 * request is answered at once; what went wrong is Executed=false and a text. Creating twice and deleting what is not there
 * are fine. Live channels need not be created; those that were are listed before they are used.
 */
export function manageChannels(service: NativeService) {
  const lists = new ChannelLists(service);
  return async (request: Request): Promise<OutgoingResponse> => {
    try {
      const body = await run(service, lists, request);
      return answer(service, request, { executed: true, body });
    } catch (caught) {
      service.counters.requests_refused++;
      const error = caught instanceof ManagementFault ? caught.message : nativeText(caught);
      return answer(service, request, { executed: false, error });
    }
  };
}

/** A request that cannot be done as it is. */
class ManagementFault extends Error {}

type ManagementRequest = (
  service: NativeService,
  lists: ChannelLists,
  tags: ReadonlyMap<string, string>,
) => Promise<Uint8Array | undefined> | Uint8Array;

/** What the metadata of a request may be. */
const REQUESTS: Readonly<Record<string, ManagementRequest>> = {
  'create-channel': (service, _lists, tags) => create(service, typeOf(tags), tags.get('channel') ?? ''),
  'delete-channel': (service, _lists, tags) => remove(service, typeOf(tags), tags.get('channel') ?? ''),
  'list-channels': (_service, lists, tags) => {
    const list = lists.list(typeOf(tags), tags.get('channel_search') ?? '');
    if (typeof list === 'string') throw new ManagementFault(list);
    return Buffer.from(JSON.stringify(list));
  },
};
export const MANAGEMENT_REQUESTS: readonly string[] = Object.keys(REQUESTS);

async function run(
  service: NativeService,
  lists: ChannelLists,
  { metadata, tags }: Request,
): Promise<Uint8Array | undefined> {
  const request = Object.hasOwn(REQUESTS, metadata) ? REQUESTS[metadata] : undefined;
  if (request === undefined) throw new ManagementFault(OWN_TEXTS.managementUnknown);
  return request(service, lists, tags);
}

function typeOf(tags: ReadonlyMap<string, string>): ChannelType {
  const type = tags.get('channel_type') ?? '';
  if (isChannelType(type)) return type;
  throw new ManagementFault(OWN_TEXTS.channelType);
}

function check(type: ChannelType, channel: string): ChannelName {
  const fault = type === 'queues' ? queueNameFault(channel) : channelFault(channel);
  if (fault !== undefined) throw new ManagementFault(fault);
  return channel as ChannelName;
}

async function create(service: NativeService, type: ChannelType, name: string): Promise<undefined> {
  const { broker, client, clock } = service;
  const channel = check(type, name);
  switch (type) {
    case 'queues':
      await broker.change([{ do: 'create-queue', channel, ifMissing: true }]);
      return;
    case 'events_store':
      await broker.change([{ do: 'create-log', channel, ifMissing: true }]);
      return;
    default: {
      const key = channelKey(type, channel);
      // Also where it is there already: else anybody could find out.
      client.require(type, 'write', channel);
      if (broker.registry.get(CHANNEL_KIND, key) !== undefined) return;
      await broker.change([{ do: 'put', kind: CHANNEL_KIND, key, value: { createdAt: clock.now() } }]);
    }
  }
}

async function remove(
  { broker, client }: NativeService,
  type: ChannelType,
  name: string,
): Promise<undefined> {
  const channel = check(type, name);
  // First: what an alias stands for is told to who may delete it.
  client.require(KIND_OF[type], 'write', channel);
  if (FOREIGN.test(broker.resolve(channel))) throw new ManagementFault(OWN_TEXTS.foreignChannel(name));
  switch (type) {
    case 'queues':
      await broker.change([{ do: 'delete-queue', channel }]);
      return;
    case 'events_store':
      await broker.change([{ do: 'delete-log', channel }]);
      return;
    default: {
      const key = channelKey(type, channel);
      if (broker.registry.get(CHANNEL_KIND, key) !== undefined) {
        await broker.change([{ do: 'remove', kind: CHANNEL_KIND, key }]);
      }
      broker.live.forget(type, channel);
    }
  }
}

function answer(service: NativeService, request: Request, outcome: OutgoingResponse): OutgoingResponse {
  return {
    clientId: request.clientId,
    requestId: request.requestId === '' ? service.ids.uuid() : request.requestId,
    timestamp: nanoseconds(service.clock.now()),
    ...outcome,
  };
}
