import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';

/** What rules are about. Connectors use these kinds for resources of their own, too, under a channel name that stands for them. */
export const RESOURCE_KINDS = ['queue', 'log', 'events', 'commands', 'queries'] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** `read`: receive, settle, subscribe, purge, serve. `write`: send, publish, request, create, change, delete. */
export const ACCESSES = ['read', 'write'] as const;
export type Access = (typeof ACCESSES)[number];

/** One thing that must be allowed. */
export interface Requirement {
  readonly kind: ResourceKind;
  readonly access: Access;
  readonly channel: ChannelName;
}

/** No rule allows it. `message` names the client, for logs; each connector answers in its own protocol's words. */
export class AccessDenied extends BrokerError {
  readonly clientId: string;
  readonly requirement: Requirement;

  constructor(clientId: string, requirement: Requirement) {
    const { kind, access, channel } = requirement;
    super('forbidden', `access denied: ${clientId} may not ${access} ${kind} ${channel}`);
    this.name = 'AccessDenied';
    this.clientId = clientId;
    this.requirement = requirement;
  }
}
