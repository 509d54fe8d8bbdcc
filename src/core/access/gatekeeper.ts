import type { Broker } from '../broker-api.js';
import type { ChannelName } from '../channel-name.js';
import { AuthorizedBroker } from './authorized-broker.js';
import type { AccessPolicy, ClientGrants } from './policy.js';
import { grantBit } from './policy.js';
import {
  ACCESSES,
  AccessDenied,
  RESOURCE_KINDS,
  type Access,
  type Requirement,
  type ResourceKind,
} from './resource.js';

/** A client as the rules see it: what it may do, and the broker that lets it do no more. */
export interface Client {
  readonly clientId: string;
  /** Every operation is checked. */
  readonly broker: Broker;
  may(requirement: Requirement): boolean;
  /** Throws AccessDenied. For what no call of the broker stands for, such as publishing to a topic without a channel. */
  require(kind: ResourceKind, access: Access, channel: ChannelName): void;
  /** Whether it may do anything with it: then it may know of it. */
  sees(kind: ResourceKind, channel: ChannelName): boolean;
  /**
   * Calls `end` once, when this is allowed no longer, for what a connector does over time on the client's behalf with a broker of its
   * own; what `broker` began ends by itself. Gives the way to forget it.
   */
  whileAllowed(requirement: Requirement, end: (refusal: AccessDenied) => void): () => void;
}

/** What a connector asks of the rules for writing (`value`) or removing (undefined) one of its registry entries. */
export type RegistryRule = (key: string, value: unknown, current: unknown) => readonly Requirement[];

/** Where connectors get the broker for one of their clients. */
export interface Gatekeeper {
  /** False: everybody may do everything, and nothing is looked at. */
  readonly enabled: boolean;
  /** The same object for the same id, for a while. */
  clientOf(clientId: string): Client;
  /**
   * Says what the rules must allow to change entries of a registry kind, or of all kinds that begin so (`gcp.`). An entry of a kind that nobody described is a
   * queue named `{kind}.{key}` to the rules.
   */
  describe(registryKind: string, rule: RegistryRule): void;
}

/** How often an access was refused. */
export interface Refusals {
  readonly kind: ResourceKind;
  readonly access: Access;
  count: number;
}

/** Something long-lived that was allowed when it began. */
export interface Tracked {
  readonly requirement: Requirement;
  readonly end: (reason: AccessDenied) => void;
}

/** Clients kept; the oldest goes first, and comes back when it is asked for. */
const CLIENTS_MAX = 10_000;

/** Lets everybody do everything. */
export class OpenGate implements Gatekeeper {
  readonly enabled = false;
  readonly #broker: Broker;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  clientOf(clientId: string): Client {
    return {
      clientId,
      broker: this.#broker,
      may: () => true,
      require: () => undefined,
      sees: () => true,
      whileAllowed: () => () => undefined,
    };
  }

  describe(): void {
    // Nothing is asked.
  }
}

/** Enforces a policy that may be replaced at any time. */
export class PolicyGate implements Gatekeeper {
  readonly enabled = true;
  readonly broker: Broker;
  readonly #rules = new Map<string, RegistryRule>();
  readonly #clients = new Map<string, GatedClient>();
  /** What runs on behalf of each client and has to end when its right does. */
  readonly #tracked = new Map<Tracked, GatedClient>();
  #policy: AccessPolicy;
  readonly #refusals: Refusals[] = RESOURCE_KINDS.flatMap((kind) =>
    ACCESSES.map((access) => ({ kind, access, count: 0 })),
  );

  constructor(broker: Broker, policy: AccessPolicy) {
    this.broker = broker;
    this.#policy = policy;
  }

  get policy(): AccessPolicy {
    return this.#policy;
  }

  /** How often each access was refused since the start. */
  get refusals(): readonly Readonly<Refusals>[] {
    return this.#refusals;
  }

  /** Counts a refusal, and gives it. */
  refused(clientId: string, requirement: Requirement): AccessDenied {
    const { kind, access } = requirement;
    const counted = this.#refusals.find((one) => one.kind === kind && one.access === access);
    if (counted !== undefined) counted.count++;
    return new AccessDenied(clientId, requirement);
  }

  clientOf(clientId: string): Client {
    const known = this.#clients.get(clientId);
    if (known !== undefined) return known;
    if (this.#clients.size >= CLIENTS_MAX) {
      const [oldest] = this.#clients.keys();
      if (oldest !== undefined) this.#clients.delete(oldest);
    }
    const client = new GatedClient(this, clientId);
    this.#clients.set(clientId, client);
    return client;
  }

  describe(registryKind: string, rule: RegistryRule): void {
    this.#rules.set(registryKind, rule);
  }

  /** From now on this is the policy; what runs and is no longer allowed ends. */
  replace(policy: AccessPolicy): void {
    this.#policy = policy;
    for (const [tracked, client] of [...this.#tracked]) {
      if (client.may(tracked.requirement)) continue;
      this.#tracked.delete(tracked);
      tracked.end(this.refused(client.clientId, tracked.requirement));
    }
  }

  /** Ends `tracked` when the client loses the right; gives the way to forget it. */
  track(client: GatedClient, tracked: Tracked): () => void {
    this.#tracked.set(tracked, client);
    return () => void this.#tracked.delete(tracked);
  }

  /** What changing a registry entry asks for. */
  requirementsOf(kind: string, key: string, value: unknown): readonly Requirement[] {
    const rule = this.#rules.get(kind) ?? this.#rules.get(kind.slice(0, kind.indexOf('.') + 1));
    if (rule === undefined)
      return [{ kind: 'queue', access: 'write', channel: `${kind}.${key}` as ChannelName }];
    return rule(key, value, this.broker.registry.get(kind, key)?.value);
  }
}

/** One client behind a policy. */
export class GatedClient implements Client {
  readonly clientId: string;
  readonly broker: Broker;
  readonly #gate: PolicyGate;
  #policy: AccessPolicy;
  #grants: ClientGrants;

  constructor(gate: PolicyGate, clientId: string) {
    this.#gate = gate;
    this.clientId = clientId;
    this.#policy = gate.policy;
    this.#grants = gate.policy.grantsOf(clientId);
    this.broker = new AuthorizedBroker(gate, this);
  }

  may({ kind, access, channel }: Requirement): boolean {
    return (this.#grantsOn(channel) & grantBit(kind, access)) !== 0;
  }

  require(kind: ResourceKind, access: Access, channel: ChannelName): void {
    if ((this.#grantsOn(channel) & grantBit(kind, access)) !== 0) return;
    throw this.#gate.refused(this.clientId, { kind, access, channel });
  }

  sees(kind: ResourceKind, channel: ChannelName): boolean {
    return (this.#grantsOn(channel) & (grantBit(kind, 'read') | grantBit(kind, 'write'))) !== 0;
  }

  whileAllowed(requirement: Requirement, end: (refusal: AccessDenied) => void): () => void {
    return this.#gate.track(this, { requirement, end });
  }

  /** Rules are about real channels: an alias gives no right, and a sub-channel is its queue. */
  #grantsOn(channel: ChannelName): number {
    const gate = this.#gate;
    if (this.#policy !== gate.policy) {
      this.#policy = gate.policy;
      this.#grants = gate.policy.grantsOf(this.clientId);
    }
    return this.#grants.of(gate.broker.baseOf(channel));
  }
}
