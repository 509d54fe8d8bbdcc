import type { IntervalHistogram } from 'node:perf_hooks';
import type { ClusterStatus } from './cluster-status.js';
import type { DefineGauge } from './exposition.js';

export function clusterGauges(gauge: DefineGauge, status: () => ClusterStatus): void {
  gauge('cluster_members', 'Members of the cluster by role.', () =>
    ['owner', 'standby', 'unknown'].map((role) => ({
      labels: { role },
      value: status().members.filter((member) => member.role === role).length,
    })),
  );
  gauge('cluster_owner', '1 when this node is the owner.', () => [
    { value: status().leaseLeftMs === undefined ? 0 : 1 },
  ]);
  gauge(
    'cluster_lease_left_seconds',
    'How long the lease of this owner lasts without another renewal.',
    () => [{ value: (status().leaseLeftMs ?? 0) / 1000 }],
  );
  gauge('cluster_epoch', 'Epoch of the claim of this owner.', () => {
    const { node, members } = status();
    return [{ value: members.find(({ id }) => id === node)?.epoch ?? 0 }];
  });
  const help = 'Messages of the journal that a standby has not read yet.';
  gauge('cluster_lag_messages', help, () =>
    status()
      .members.filter(({ role }) => role === 'standby')
      .map(({ id, host, lag }) => ({ labels: { member: id, host }, value: lag })),
  );
}

export function processGauges(gauge: DefineGauge, delay: IntervalHistogram, version: string): void {
  const seconds = (ns: number): number => (Number.isFinite(ns) ? ns / 1e9 : 0);
  gauge('event_loop_delay_seconds', 'Event-loop delay since the last scrape.', () => [
    { labels: { quantile: '0.5' }, value: seconds(delay.percentile(50)) },
    { labels: { quantile: '0.99' }, value: seconds(delay.percentile(99)) },
    { labels: { quantile: '1' }, value: seconds(delay.max) },
  ]);
  gauge('process_cpu_seconds', 'Processor time since the start.', () => {
    const { user, system } = process.cpuUsage();
    return [{ value: (user + system) / 1e6 }];
  });
  gauge('process_memory_bytes', 'Memory of the process.', () => {
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
    return Object.entries({ rss, heap_used: heapUsed, external, array_buffers: arrayBuffers }).map(
      ([kind, value]) => ({
        labels: { kind },
        value,
      }),
    );
  });
  gauge('process_uptime_seconds', 'Time since the start.', () => [{ value: process.uptime() }]);
  gauge('build_info', 'Always 1; the version is a label.', () => [
    { labels: { version, node: process.versions.node }, value: 1 },
  ]);
}
