import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Client } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import type { GcpConfig } from './config.js';
import type { Extensions } from './extensions.js';
import type { MessageIds } from './message-ids.js';
import type { AllOperationFigures } from './operation-figures.js';
import type { Catalog } from './registry/catalog.js';
import type { Snapshots } from './registry/snapshots.js';
import type { Subscriptions } from './subscriber/subscriptions.js';

/** What happened since the start; plain numbers, read at scrape time. */
export interface GcpCounters {
  calls: number;
  errors: number;
  published: number;
  delivered: number;
  acknowledged: number;
}

/** What every operation of the connector works with. */
export interface GcpServices {
  readonly broker: Broker;
  /** Who asks, as the access rules see it; undefined when there are none. */
  readonly client: Client | undefined;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly config: GcpConfig;
  readonly catalog: Catalog;
  readonly snapshots: Snapshots;
  readonly extensions: Extensions;
  readonly subscriptions: Subscriptions;
  readonly messageIds: MessageIds;
  readonly counters: GcpCounters;
  readonly figures: AllOperationFigures;
}
