import type { Clock } from '../../../base/clock.js';
import type { IdSource } from '../../../base/ids.js';
import type { Log } from '../../../base/log.js';
import type { Broker } from '../../../core/broker-api.js';
import type { TlsSource } from '../../kit/tls-gate.js';
import type { AccessPolicy } from '../access/access-policy.js';
import type { Limits } from '../access/limits.js';
import type { DirectReplies } from '../channel/direct-replies.js';
import type { AmqpConfig } from '../config.js';
import type { AmqpConnection } from './connection.js';
import type { Topology } from '../topology/topology.js';

/** What all connections share. */
export interface ConnectionContext {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly config: AmqpConfig;
  readonly version: string;
  readonly topology: Topology;
  readonly access: AccessPolicy;
  readonly limits: Limits;
  readonly tls: TlsSource | undefined;
  readonly replies: DirectReplies;
  /** Counters of the connector; connections add to them when they end. */
  readonly counters: AmqpCounters;
  /** Those that are open, by number. */
  readonly connections: Map<number, AmqpConnection>;
  /** Work that goes on after a socket has closed. */
  readonly supervise: (work: Promise<void>) => void;
}

/** Figures of the connector, since it started. */
export interface AmqpCounters {
  published_messages_total: number;
  returned_messages_total: number;
  settled_deliveries_total: number;
  refused_commands_total: number;
}
