import type { Alias, Broker } from '../broker-api.js';
import type { ChannelName } from '../channel-name.js';
import { BrokerError } from '../errors.js';
import type {
  AppendResult,
  LogEvent,
  LogReadRequest,
  LogStats,
  LogSubscription,
  SubscribeRequest,
} from '../log/types.js';
import type { OutgoingMessage } from '../message.js';
import type {
  Consumer,
  ConsumeRequest,
  Delivery,
  LeaseToken,
  PeekedMessage,
  PurgeResult,
  PurgeScope,
  QueueSettings,
  QueueStats,
  ReceiveRequest,
  SendOptions,
  SendOutcome,
  SettleRequest,
  SettleResult,
} from '../queue/types.js';
import type { Change, RegistryView } from '../registry/types.js';
import { AllowedWaits } from './allowed-waits.js';
import { AuthorizedLive } from './authorized-live.js';
import type { GatedClient, PolicyGate } from './gatekeeper.js';
import type { Access, ResourceKind } from './resource.js';
import { AccessDenied } from './resource.js';

/**
 * The broker as one client may use it. It implements every method of `Broker`, so a new one does not compile before it is
 * decided here who may call it. Refusals are AccessDenied; nothing has happened then.
 */
export class AuthorizedBroker implements Broker {
  readonly #gate: PolicyGate;
  readonly #broker: Broker;
  readonly #client: GatedClient;
  readonly #waits: AllowedWaits;
  readonly live: AuthorizedLive;

  constructor(gate: PolicyGate, client: GatedClient) {
    this.#gate = gate;
    this.#broker = gate.broker;
    this.#client = client;
    this.#waits = new AllowedWaits(gate, client);
    this.live = new AuthorizedLive(gate, client);
  }

  #require(kind: ResourceKind, access: Access, channel: ChannelName): void {
    this.#client.require(kind, access, channel);
  }

  /** To know of it, any right to it will do. */
  #requireSight(kind: ResourceKind, channel: ChannelName): void {
    if (!this.#client.sees(kind, channel)) this.#require(kind, 'read', channel);
  }

  #requireTokens(tokens: readonly LeaseToken[]): void {
    let last: ChannelName | undefined;
    for (const { channel } of tokens) {
      if (channel === last) continue;
      this.#require('queue', 'read', channel);
      last = channel;
    }
  }

  // Queues ---------------------------------------------------------------------------------------------------

  async send(messages: readonly OutgoingMessage[], options?: SendOptions): Promise<readonly SendOutcome[]> {
    if (options?.acks !== undefined) this.#requireTokens(options.acks);
    if (options?.append !== undefined) this.#requireLogs(options.append);
    const refusals = this.#refusalsOf(messages);
    if (refusals === undefined) return this.#broker.send(messages, options);
    const [first] = refusals.values();
    if (first !== undefined && options?.allOrNothing === true) throw first;
    const allowed = messages.filter((_, place) => !refusals.has(place));
    const outcomes = allowed.length === 0 ? [] : await this.#broker.send(allowed, options);
    let next = 0;
    return messages.map((_, place) => {
      const error = refusals.get(place);
      return error === undefined ? (outcomes[next++] as SendOutcome) : { ok: false, error };
    });
  }

  /** What is refused, by place; undefined when nothing is. */
  #refusalsOf(messages: readonly OutgoingMessage[]): ReadonlyMap<number, AccessDenied> | undefined {
    let refusals: Map<number, AccessDenied> | undefined;
    let last: ChannelName | undefined;
    for (let place = 0; place < messages.length; place++) {
      const { channel, policy } = messages[place] as OutgoingMessage;
      const overflow = policy?.maxReceiveQueue;
      if (channel === last && overflow === undefined) continue;
      try {
        this.#require('queue', 'write', channel);
        last = channel;
        // Else a message could be sent where its sender may not write, by way of its own dead-letter rule.
        if (overflow !== undefined) this.#require('queue', 'write', overflow);
      } catch (caught) {
        if (!(caught instanceof AccessDenied)) throw caught;
        (refusals ??= new Map<number, AccessDenied>()).set(place, caught);
      }
    }
    return refusals;
  }

  async receive(request: ReceiveRequest): Promise<readonly Delivery[]> {
    this.#require('queue', 'read', request.channel);
    return request.waitMs > 0 ? this.#waits.receive(request) : this.#broker.receive(request);
  }

  consume(request: ConsumeRequest): Consumer {
    this.#require('queue', 'read', request.channel);
    return this.#waits.consume(request);
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    this.#requireTokens(request.tokens);
    const { settlement } = request;
    if (settlement.kind === 'move') this.#require('queue', 'write', settlement.channel);
    return this.#broker.settle(request);
  }

  remembers(channel: ChannelName, dedupId: string): boolean {
    this.#requireSight('queue', channel);
    return this.#broker.remembers(channel, dedupId);
  }

  holds(token: LeaseToken): boolean {
    this.#require('queue', 'read', token.channel);
    return this.#broker.holds(token);
  }

  async peek(channel: ChannelName, max: number): Promise<readonly PeekedMessage[]> {
    this.#require('queue', 'read', channel);
    return this.#broker.peek(channel, max);
  }

  async purge(channel: ChannelName, scope: PurgeScope): Promise<PurgeResult> {
    this.#require('queue', 'read', channel);
    return this.#broker.purge(channel, scope);
  }

  lettersInto(channel: ChannelName): Promise<void> | undefined {
    this.#requireSight('queue', channel);
    return this.#broker.lettersInto(channel);
  }

  queueStats(channel: ChannelName): QueueStats | undefined {
    this.#requireSight('queue', channel);
    return this.#broker.queueStats(channel);
  }

  queues(prefix: string): readonly ChannelName[] {
    return this.#broker.queues(prefix).filter((channel) => this.#client.sees('queue', channel));
  }

  // Logs -----------------------------------------------------------------------------------------------------

  async append(
    events: readonly OutgoingMessage[],
    options?: { readonly createMissing?: boolean },
  ): Promise<readonly AppendResult[]> {
    this.#requireLogs(events);
    return this.#broker.append(events, options);
  }

  #requireLogs(events: readonly OutgoingMessage[]): void {
    let last: ChannelName | undefined;
    for (const { channel } of events) {
      if (channel === last) continue;
      this.#require('log', 'write', channel);
      last = channel;
    }
  }

  subscribe(request: SubscribeRequest): LogSubscription {
    this.#require('log', 'read', request.channel);
    return this.#waits.subscribe(request);
  }

  async readLog(request: LogReadRequest): Promise<readonly LogEvent[]> {
    this.#require('log', 'read', request.channel);
    return this.#broker.readLog(request);
  }

  sequenceAt(channel: ChannelName, time: number): number {
    this.#require('log', 'read', channel);
    return this.#broker.sequenceAt(channel, time);
  }

  logStats(channel: ChannelName): LogStats | undefined {
    this.#requireSight('log', channel);
    return this.#broker.logStats(channel);
  }

  logs(prefix: string): readonly ChannelName[] {
    return this.#broker.logs(prefix).filter((channel) => this.#client.sees('log', channel));
  }

  setFanOut(): never {
    throw notForClients();
  }

  copiesLeft(): never {
    throw notForClients();
  }

  rewind(): never {
    throw notForClients();
  }

  // Registry and names ---------------------------------------------------------------------------------------

  /** Connectors read their resources here and decide themselves what a client hears of them. */
  get registry(): RegistryView {
    return this.#broker.registry;
  }

  async change(changes: readonly Change[]): Promise<readonly number[]> {
    for (const change of changes) this.#requireChange(change);
    return this.#broker.change(changes);
  }

  #requireChange(change: Change): void {
    switch (change.do) {
      case 'put':
      case 'remove': {
        const value = change.do === 'put' ? change.value : undefined;
        for (const { kind, access, channel } of this.#gate.requirementsOf(change.kind, change.key, value))
          this.#require(kind, access, channel);
        return;
      }
      case 'create-queue':
      case 'update-queue':
        this.#require('queue', 'write', change.channel);
        this.#requireDeadLetters(change.settings);
        return;
      case 'delete-queue':
        this.#require('queue', 'write', change.channel);
        return;
      case 'create-log':
      case 'update-log':
      case 'delete-log':
        this.#require('log', 'write', change.channel);
        return;
      case 'set-alias':
        this.#requireAll(change.alias);
        this.#requireAll(change.channel);
        return;
      case 'remove-alias':
        this.#requireAll(change.alias);
        return;
    }
  }

  #requireDeadLetters(settings: Partial<QueueSettings> | undefined): void {
    const target = settings?.deadLetter?.target;
    if (target !== undefined && 'channel' in target) this.#require('queue', 'write', target.channel);
  }

  /** Who gives a channel another name must own it. */
  #requireAll(channel: ChannelName): void {
    const kind = this.#broker.logStats(channel) === undefined ? 'queue' : 'log';
    this.#require(kind, 'read', channel);
    this.#require(kind, 'write', channel);
  }

  resolve(name: ChannelName): ChannelName {
    return this.#broker.resolve(name);
  }

  baseOf(name: ChannelName): ChannelName {
    return this.#broker.baseOf(name);
  }

  aliases(): readonly Alias[] {
    const sees = (channel: ChannelName): boolean =>
      this.#client.sees('queue', channel) || this.#client.sees('log', channel);
    return this.#broker.aliases().filter(({ channel }) => sees(channel));
  }

  // What connectors bring -------------------------------------------------------------------------------------

  registerTranslator(): never {
    throw notForClients();
  }

  registerRouter(): never {
    throw notForClients();
  }
}

function notForClients(): BrokerError {
  return new BrokerError('internal', 'this is for connectors, not for their clients');
}
