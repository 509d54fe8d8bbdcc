import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry } from 'prom-client';
import type { ClusterStatus } from './cluster-status.js';
import { clusterGauges, gaugesOf, processGauges } from './gauges.js';
import type { Metrics } from './metrics.js';

export interface StandbyMetricsSources {
  readonly cluster: () => ClusterStatus;
  /** Connections that this node forwards now, and since the start: those that got there and those that did not. */
  readonly forwarded: () => { readonly open: number; readonly total: number; readonly refused: number };
  readonly version: string;
}

/** What a node measures that owns nothing: itself, the cluster, and what it forwards. */
export function createStandbyMetrics(sources: StandbyMetricsSources): Metrics {
  const registry = new Registry();
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const gauge = gaugesOf(registry);
  clusterGauges(gauge, sources.cluster);
  const one = (
    name: string,
    help: string,
    read: keyof ReturnType<StandbyMetricsSources['forwarded']>,
  ): void => gauge(name, help, [], () => [{ value: sources.forwarded()[read] }]);
  one('forwarded_connections', 'Connections that this node forwards to the owner.', 'open');
  one('forwarded_connections_since_start', 'Connections forwarded since the start.', 'total');
  one('forwarded_connections_refused', 'Connections for which no owner was found in time.', 'refused');
  processGauges(gauge, delay, sources.version);
  return {
    contentType: registry.contentType,
    render: async () => {
      const text = await registry.metrics();
      delay.reset();
      return text;
    },
    stop: () => delay.disable(),
  };
}
