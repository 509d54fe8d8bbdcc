import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ClusterStatus } from './cluster-status.js';
import { Exposition } from './exposition.js';
import { clusterGauges, processGauges } from './gauges.js';
import type { Metrics } from './metrics.js';

export interface StandbyMetricsSources {
  readonly cluster: () => ClusterStatus;
  /** Connections that this node forwards now, and since the start: those that got there and those that did not. */
  readonly forwarded: () => { readonly open: number; readonly total: number; readonly refused: number };
  readonly version: string;
}

/** What a node measures that owns nothing: itself, the cluster, and what it forwards. */
export function createStandbyMetrics(sources: StandbyMetricsSources): Metrics {
  const exposition = new Exposition();
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const { gauge } = exposition;
  clusterGauges(gauge, sources.cluster);
  const one = (
    name: string,
    help: string,
    read: keyof ReturnType<StandbyMetricsSources['forwarded']>,
  ): void => gauge(name, help, () => [{ value: sources.forwarded()[read] }]);
  one('forwarded_connections', 'Connections that this node forwards to the owner.', 'open');
  one('forwarded_connections_since_start', 'Connections forwarded since the start.', 'total');
  one('forwarded_connections_refused', 'Connections for which no owner was found in time.', 'refused');
  processGauges(gauge, delay, sources.version);
  return {
    contentType: exposition.contentType,
    render: () => {
      const text = exposition.text();
      delay.reset();
      return text;
    },
    stop: () => delay.disable(),
  };
}
