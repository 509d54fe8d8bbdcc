import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { ForwardedConnections } from '../../cluster/connections.js';
import type { TlsSource } from '../../connectors/kit/tls-gate.js';
import type { ClusterStatus } from '../../ops/cluster-status.js';
import type { Config } from '../settings.js';
import type { Doors } from './doors.js';

export const STANDBY_LIMITS = {
  /** Open connections of one listener. */
  connectionsMax: 10_000,
  /** How long a client waits for an owner until it is told to come again. */
  holdMs: 3_000,
} as const;

export interface StandbyOptions {
  readonly config: Config;
  readonly tls: TlsSource | undefined;
  readonly connections: ForwardedConnections;
  readonly doors: Doors;
  readonly status: () => ClusterStatus;
  /** Whether there is an owner now. */
  readonly hasOwner: () => Promise<boolean>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}
