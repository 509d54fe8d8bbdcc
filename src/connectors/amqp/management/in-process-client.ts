import type { Clock } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { Broker } from '../../../core/broker-api.js';
import type { LeaseToken } from '../../../core/queue/types.js';
import type { AccessPolicy, Identity } from '../access/access-policy.js';
import { AmqpChannel } from '../channel/amqp-channel.js';
import { Confirms } from '../channel/confirms.js';
import { operationOf, runBehindLetters } from '../channel/dispatch.js';
import type { Limits } from '../access/limits.js';
import type { ChannelHost, ClientCapabilities, SettleHow } from '../channel/host.js';
import { SETTLEMENTS } from '../channel/host.js';
import type { DirectReplies } from '../channel/direct-replies.js';
import { HeldBytes } from '../channel/transaction.js';
import type { AmqpConfig } from '../config.js';
import type { ConnectionContext } from '../connection/context.js';
import { Publisher } from '../connection/publisher.js';
import type { PublisherHost } from '../connection/publisher.js';
import { encodeRoute } from '../mapping/message-origin.js';
import type { Topology } from '../topology/topology.js';
import type { Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import { FrameWriter } from '../wire/frame-writer.js';
import type { Method, MethodArgs, MethodName } from '../wire/methods.js';
import type { Properties } from '../wire/properties.js';
import { encodeProperties } from '../wire/properties.js';
import type { ReplyError } from '../wire/reply.js';

const NO_CAPABILITIES: ClientCapabilities = {
  consumerCancelNotify: false,
  connectionBlocked: false,
  authenticationFailureClose: false,
};

const FRAME_MAX = 131_072;

/** What became of a message. */
export interface PublishOutcome {
  /** It reached a queue. */
  readonly routed: boolean;
  /** Every queue it reached took it. */
  readonly stored: boolean;
}

/**
 * A client without a connection: it calls the same operations as the clients on the wire, and so gets the same rules and
 * the same refusals. What would be written to it goes nowhere.
 */
export class InProcessClient implements ChannelHost, PublisherHost {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly config: AmqpConfig;
  readonly topology: Topology;
  readonly replies: DirectReplies;
  readonly access: AccessPolicy;
  readonly limits: Limits;
  readonly identity: Identity;
  readonly vhost: Vhost;
  readonly writer = new FrameWriter();
  readonly bufferedBytes = 0;
  /** No connection has this number, so nothing exclusive is its own. */
  readonly connectionId = 0;
  readonly frameMax = FRAME_MAX;
  readonly capabilities = NO_CAPABILITIES;
  readonly exclusiveQueues = new Set<Queue>();
  readonly heldBytes = new HeldBytes();
  readonly #context: ConnectionContext;
  readonly #publisher: Publisher;
  readonly #channel: AmqpChannel;

  constructor(context: ConnectionContext, vhost: Vhost, identity: Identity) {
    this.#context = context;
    this.broker = context.broker;
    this.clock = context.clock;
    this.ids = context.ids;
    this.config = context.config;
    this.topology = context.topology;
    this.replies = context.replies;
    this.access = context.access;
    this.limits = context.limits;
    this.vhost = vhost;
    this.identity = identity;
    this.#publisher = new Publisher(this);
    this.#channel = new AmqpChannel(1, this);
  }

  /** Carries out one method. Throws, or rejects with, the ReplyError a client would be closed with. */
  async call<N extends MethodName>(name: N, args: MethodArgs<N>): Promise<void> {
    // The pair is one of the union's; TypeScript cannot see that for a name that is a parameter.
    const method = { name, args } as unknown as Method;
    const operation = operationOf(method);
    if (operation !== undefined) await runBehindLetters(operation, this.#channel, method);
    this.writer.take();
  }

  /** Publishes one message, mandatory and confirmed. Throws what a publisher's channel would be closed with. */
  async publish(
    exchange: string,
    routingKey: string,
    properties: Properties,
    body: Buffer,
  ): Promise<PublishOutcome> {
    const { returned } = this.#publisher;
    const stored = new Promise<boolean>((resolve) => {
      this.#channel.confirms = new Confirms({ ack: () => resolve(true), nack: () => resolve(false) });
    });
    const args = { ticket: 0, exchange, routingKey, mandatory: true, immediate: false };
    const publish = { args, route: encodeRoute(exchange, routingKey) };
    this.#publisher.publish(this.#channel, publish, encodeProperties(properties), body);
    this.#publisher.flush();
    const outcome = { stored: await stored, routed: this.#publisher.returned === returned };
    this.writer.take();
    return outcome;
  }

  settle(token: LeaseToken, how: SettleHow): void {
    this.broker
      .settle({ tokens: [token], settlement: SETTLEMENTS[how] })
      .catch((error: unknown) => this.onFailure(error));
  }

  commit(): Promise<boolean> {
    return Promise.resolve(false);
  }

  flushSettlements(): void {
    // Each went out at once.
  }

  flushSoon(): void {
    // There is nobody to write to.
  }

  creditDue(): void {
    // It never consumes.
  }

  closeChannel(_channel: AmqpChannel, error: ReplyError): void {
    this.onFailure(error);
  }

  onBlocked(): void {
    // The publish waits, and its caller with it.
  }

  onUnblocked(): void {
    // Likewise.
  }

  onProgress(): void {
    // Nothing is read from anybody.
  }

  onFailure(error: unknown): void {
    this.#context.log.error('amqp: the broker failed', { error });
  }
}
