import type { Clock } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { Broker } from '../../../core/broker-api.js';
import type { OutgoingMessage } from '../../../core/message.js';
import type { LeaseToken } from '../../../core/queue/types.js';
import type { AccessPolicy, Identity } from '../access/access-policy.js';
import type { Limits } from '../access/limits.js';
import type { AmqpChannel } from '../channel/amqp-channel.js';
import type { Consumer } from '../channel/consumer.js';
import type { ClientCapabilities, SettleHow } from '../channel/host.js';
import type { DirectReplies } from '../channel/direct-replies.js';
import { HeldBytes } from '../channel/transaction.js';
import type { AmqpConfig } from '../config.js';
import { AMQP_LIMITS } from '../config.js';
import { isPassing, replyErrorOf } from '../errors.js';
import type { Topology } from '../topology/topology.js';
import type { Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { FieldTable } from '../wire/field-table.js';
import type { FrameWriter } from '../wire/frame-writer.js';
import type { MethodName } from '../wire/methods.js';
import type { ReplyError } from '../wire/reply.js';
import type { ChannelsHost } from './channels.js';
import { Channels } from './channels.js';
import type { ConnectionContext } from './context.js';
import type { Session } from './handshake.js';
import type { Outbound } from './outbound.js';
import type { PublisherHost } from './publisher.js';
import { Publisher } from './publisher.js';
import type { ReadGate } from './read-gate.js';
import { Settlements } from './settlements.js';

/** The connection under an open session. */
export interface SessionLine {
  readonly context: ConnectionContext;
  readonly connectionId: number;
  readonly frameMax: number;
  readonly out: Outbound;
  readonly gate: ReadGate;
  /** False once the connection is being closed: then it is read to its end, and told nothing more. */
  readonly running: boolean;
  closeConnection(error: ReplyError, culprit: MethodName | undefined): void;
  onFailure(caught: unknown): void;
}

/** What a client has after connection.open: its channels, what it publishes and settles, and the queues that go with it. */
export class OpenSession implements ChannelsHost, PublisherHost {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly config: AmqpConfig;
  readonly topology: Topology;
  readonly replies: DirectReplies;
  readonly vhost: Vhost;
  readonly identity: Identity;
  readonly access: AccessPolicy;
  readonly limits: Limits;
  readonly capabilities: ClientCapabilities;
  readonly clientProperties: FieldTable;
  readonly mechanism: string;
  readonly channelMax: number;
  readonly connectionId: number;
  readonly frameMax: number;
  readonly writer: FrameWriter;
  readonly exclusiveQueues = new Set<Queue>();
  readonly heldBytes = new HeldBytes();
  readonly publisher: Publisher;
  readonly channels: Channels;
  readonly #line: SessionLine;
  readonly #settlements: Settlements;
  #blocked = false;
  #ended: Promise<void> | undefined;

  constructor(line: SessionLine, session: Session) {
    const { context } = line;
    this.#line = line;
    this.broker = context.broker;
    this.clock = context.clock;
    this.ids = context.ids;
    this.config = context.config;
    this.topology = context.topology;
    this.replies = context.replies;
    this.vhost = session.vhost;
    this.identity = session.identity;
    this.access = context.access;
    this.limits = context.limits;
    this.capabilities = session.capabilities;
    this.clientProperties = session.clientProperties;
    this.mechanism = session.mechanism;
    this.channelMax = session.channelMax;
    this.connectionId = line.connectionId;
    this.frameMax = line.frameMax;
    this.writer = line.out.writer;
    this.#settlements = new Settlements(context.broker, (caught) => line.onFailure(caught));
    this.publisher = new Publisher(this);
    this.channels = new Channels(this);
  }

  get bufferedBytes(): number {
    return this.#line.out.bufferedBytes;
  }

  settle(token: LeaseToken, how: SettleHow): void {
    this.#settlements.add(token, how);
  }

  flushSettlements(): void {
    this.#settlements.flush();
  }

  async commit(
    messages: readonly OutgoingMessage[],
    events: readonly OutgoingMessage[],
    acks: readonly LeaseToken[],
  ): Promise<boolean> {
    if (!(await this.publisher.commit(messages, events, acks))) return false;
    this.#settlements.settled += acks.length;
    return true;
  }

  creditDue(consumer: Consumer): void {
    this.#line.out.creditDue(consumer);
  }

  flushSoon(): void {
    this.#line.out.flushSoon();
  }

  /** Hands over what was gathered since the last call. */
  endOfTurn(): void {
    this.publisher.flush();
    this.#settlements.flush();
    this.flushSoon();
  }

  closeConnection(error: ReplyError, culprit: MethodName | undefined): void {
    this.#line.closeConnection(error, culprit);
  }

  closeChannel(channel: AmqpChannel, error: ReplyError): void {
    this.channels.refuse(channel, error);
  }

  onWaitingChanged(): void {
    this.updateReading();
  }

  onProgress(): void {
    if (!this.#line.gate.open) this.updateReading();
  }

  onBlocked(reason: string): void {
    this.#blocked = true;
    if (this.#line.running && this.capabilities.connectionBlocked) {
      this.writer.method(0, 'connection.blocked', { reason: shortReason(reason) });
      this.flushSoon();
    }
    this.updateReading();
  }

  onUnblocked(): void {
    this.#blocked = false;
    if (this.#line.running && this.capabilities.connectionBlocked) {
      this.writer.method(0, 'connection.unblocked', {});
      this.flushSoon();
    }
    this.updateReading();
  }

  onFailure(caught: unknown): void {
    this.#line.onFailure(caught);
  }

  /** Reads the client while there is room for what it sends. */
  updateReading(): void {
    if (!this.#line.running) return;
    this.#line.gate.set(
      !this.#blocked &&
        this.publisher.pendingBytes <= this.config.maxPendingBytes &&
        this.channels.waitingBytes <= AMQP_LIMITS.waitingCommandBytes,
    );
  }

  /** Gives back and deletes what was this connection's. Once. */
  end(): Promise<void> {
    this.#ended ??= this.#endOnce().catch((caught: unknown) => this.#onEndFailed(caught));
    return this.#ended;
  }

  /** A broker that goes deletes nothing more: what goes with a connection is in memory only, and goes with it. */
  #onEndFailed(caught: unknown): void {
    if (isPassing(replyErrorOf(caught))) return;
    this.#line.context.log.warn("amqp: what was a connection's could not be given back", { error: caught });
  }

  async #endOnce(): Promise<void> {
    await this.channels.endAll();
    for (const queue of this.exclusiveQueues) await this.topology.deleteQueue(this.vhost, queue);
  }

  /** The socket is gone: nothing more is sent, and the figures go to the connector's. */
  onSocketClosed(): void {
    this.publisher.flush();
    this.publisher.stop();
    const { counters } = this.#line.context;
    counters.settled_deliveries_total += this.#settlements.settled;
    counters.published_messages_total += this.publisher.published;
    counters.returned_messages_total += this.publisher.returned;
  }
}

function shortReason(reason: string): string {
  return reason.length <= 200 ? reason : reason.slice(0, 200);
}
