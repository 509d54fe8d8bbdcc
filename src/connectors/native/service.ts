import type { Client, Gatekeeper } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import type { Identity } from '../kit/identity.js';
import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Sessions } from './sessions.js';

/** Figures of the native API since the start of the process. */
export interface NativeCounters {
  messages_sent: number;
  messages_delivered: number;
  messages_settled: number;
  events_stored: number;
  events_delivered: number;
  live_events_published: number;
  live_events_delivered: number;
  requests_sent: number;
  requests_timed_out: number;
  requests_delivered: number;
  responses_sent: number;
  requests_refused: number;
}

export function newCounters(): NativeCounters {
  return {
    messages_sent: 0,
    messages_delivered: 0,
    messages_settled: 0,
    events_stored: 0,
    events_delivered: 0,
    live_events_published: 0,
    live_events_delivered: 0,
    requests_sent: 0,
    requests_timed_out: 0,
    requests_delivered: 0,
    responses_sent: 0,
    requests_refused: 0,
  };
}

/** What every operation of the native API works with. */
export interface NativeService {
  /** Whom this serves. */
  readonly client: Client;
  /** The client's. */
  readonly broker: Broker;
  /** The connector's own: what a client held is given back whatever it may do by then. */
  readonly ownBroker: Broker;
  readonly gate: Gatekeeper;
  readonly identity: Identity;
  /** Whether a client certificate says who a client is. */
  readonly certificates: boolean;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly sessions: Sessions;
  readonly counters: NativeCounters;
  /** Live messages that wait for one subscriber without condition. */
  readonly subscriberBuffer: number;
  /** Name of this machine, and what Ping says of the product. */
  readonly hostName: string;
  readonly version: string;
  /** Unix ms. */
  readonly startedAt: number;
}
