import type { Broker } from '../../../core/broker-api.js';
import type { OutgoingMessage } from '../../../core/message.js';
import type { LeaseToken, Settlement } from '../../../core/queue/types.js';
import type { Clock } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { AccessPolicy, Identity } from '../access/access-policy.js';
import type { Limits } from '../access/limits.js';
import type { AmqpConfig } from '../config.js';
import type { Topology } from '../topology/topology.js';
import type { Queue } from '../topology/types.js';
import type { Vhost } from '../topology/vhost.js';
import type { FrameWriter } from '../wire/frame-writer.js';
import type { ReplyError } from '../wire/reply.js';
import type { AmqpChannel } from './amqp-channel.js';
import type { Consumer } from './consumer.js';
import type { DirectReplies } from './direct-replies.js';
import type { HeldBytes } from './transaction.js';

/** What a client said it can do. */
export interface ClientCapabilities {
  readonly consumerCancelNotify: boolean;
  readonly connectionBlocked: boolean;
  readonly authenticationFailureClose: boolean;
}

/** What a channel needs of its connection. */
export interface ChannelHost {
  readonly broker: Broker;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly config: AmqpConfig;
  readonly topology: Topology;
  readonly vhost: Vhost;
  readonly writer: FrameWriter;
  readonly replies: DirectReplies;
  /** Bytes the socket has not taken yet. */
  readonly bufferedBytes: number;
  readonly connectionId: number;
  readonly frameMax: number;
  readonly identity: Identity;
  readonly access: AccessPolicy;
  readonly limits: Limits;
  readonly capabilities: ClientCapabilities;
  /** Queues that go with this connection. */
  readonly exclusiveQueues: Set<Queue>;
  /** Writes out what the writer holds at the end of this turn. */
  flushSoon(): void;
  /** Settles a delivery, with others of this turn in one call. */
  settle(token: LeaseToken, how: SettleHow): void;
  /** Hands `settle`d deliveries to the broker now. */
  flushSettlements(): void;
  /** Bodies in transactions of this connection. */
  readonly heldBytes: HeldBytes;
  /** Stores messages and acknowledges deliveries, both or neither; false when neither. */
  commit(
    messages: readonly OutgoingMessage[],
    events: readonly OutgoingMessage[],
    acks: readonly LeaseToken[],
  ): Promise<boolean>;
  /** Has the consumer's channel give credit back at the end of this turn, or when the socket has room. */
  creditDue(consumer: Consumer): void;
  /** Closes a channel for a reason of the broker's own. */
  closeChannel(channel: AmqpChannel, error: ReplyError): void;
}

export type SettleHow = 'ack' | 'requeue' | 'return-uncounted' | 'reject';

export const SETTLEMENTS: Readonly<Record<SettleHow, Settlement>> = {
  ack: { kind: 'ack' },
  requeue: { kind: 'nack', to: 'origin' },
  'return-uncounted': { kind: 'nack', to: 'origin', uncounted: true },
  reject: { kind: 'reject' },
};
