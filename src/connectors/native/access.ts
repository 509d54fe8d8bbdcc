import type { Client } from '../../core/access/gatekeeper.js';
import type { ChannelName } from '../../core/channel-name.js';
import { SubscribeType, type Subscribe } from './wire/messages.js';

/** A request of the contract, with every place in it where a client id may stand. */
interface Stampable {
  clientId?: string;
  messages?: { clientId?: string }[];
  modifiedMessage?: { clientId?: string };
}

/** The client id that a request claims to come from; '' when it claims none. */
export function claimedClientId(request: unknown): string {
  const { clientId, messages } = request as Stampable;
  return clientId ?? messages?.[0]?.clientId ?? '';
}

/** Puts the client id that was shown in the place of every claimed one. The request was decoded for this call alone. */
export function stampClientId(request: unknown, clientId: string): void {
  const stampable = request as Stampable;
  if (stampable.clientId !== undefined) stampable.clientId = clientId;
  for (const message of stampable.messages ?? []) message.clientId = clientId;
  if (stampable.modifiedMessage !== undefined) stampable.modifiedMessage.clientId = clientId;
}

/** The members of a group read through one subscription, which was asked for by the first: so each of them is asked here. */
export function requireAccess(client: Client, method: string, request: unknown): void {
  if (method !== 'SubscribeToEvents') return;
  const { subscribeType, channel } = request as Subscribe;
  if (subscribeType === SubscribeType.eventsStore) client.require('log', 'read', channel as ChannelName);
}
