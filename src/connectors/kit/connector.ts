import type { Socket } from 'node:net';
import type { Gatekeeper } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Identity } from './identity.js';
import type { TlsSource } from './tls-gate.js';

/** A bound listener: what the `ready` line and the health page show. */
export interface Address {
  /** e.g. `aws`, `amqp`, `gcp`, `native-grpc`, `native-rest`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

export interface MetricSample {
  /** Behind the family's name, as histograms have it: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Figures under a name of their own, labelled: what a scrape shows of them besides the counters. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

/** Live figures of one connector; counters are plain numbers, named in snake_case with the unit last. */
export interface ConnectorStatus {
  readonly connections: number;
  readonly counters: Readonly<Record<string, number>>;
  readonly families?: readonly MetricFamily[];
}

/** A protocol front end. Start, drain and stop are symmetric and idempotent; they are called in this order. */
export interface Connector {
  readonly name: string;
  /** Restores what it keeps in the registry, then listens. Resolves when every port is bound. */
  start(): Promise<readonly Address[]>;
  /** Serves a connection that another node accepted on its listener of that name, behind its TLS. Unknown names are closed. */
  admit(listener: string, socket: Socket): void;
  /** Stops accepting, tells peers, lets running calls end; resolves at the latest after `graceMs`. */
  drain(graceMs: number): Promise<void>;
  /** Closes everything left, at once. */
  stop(): Promise<void>;
  status(): ConnectorStatus;
}

/** What every connector gets from the composition root. */
export interface ConnectorContext {
  /** For the connector's own work; what its clients ask for goes to the broker that `gate` has for them. */
  readonly broker: Broker;
  readonly gate: Gatekeeper;
  readonly identity: Identity;
  /** Absent: listeners speak in the clear. */
  readonly tls: TlsSource | undefined;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  /** Address listeners bind to; default `0.0.0.0` in the product, `127.0.0.1` in tests. */
  readonly host: string;
  /** Version of the product, for greetings. */
  readonly version: string;
}
