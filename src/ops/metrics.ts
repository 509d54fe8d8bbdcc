import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { BrokerFigures } from '../core/broker.js';
import type { Broker } from '../core/broker-api.js';
import type { QueueStats } from '../core/queue/types.js';
import type { Journal } from '../core/ports/journal.js';
import type { ClusterStatus } from './cluster-status.js';
import { Exposition, type DefineGauge } from './exposition.js';
import { clusterGauges, processGauges } from './gauges.js';
import type { SecurityFigures } from './security/security.js';
import type { ConnectorStatus } from '../connectors/kit/connector.js';

/** Queues that get gauges of their own, deepest first; the totals always cover all. */
export const QUEUES_WITH_GAUGES_MAX = 200;

/** What is measured: plain counters that exist anyway, read when somebody asks. */
export interface MetricsSources {
  readonly broker: Pick<Broker, 'queues' | 'queueStats'>;
  readonly figures: () => BrokerFigures;
  readonly journal: Pick<Journal, 'shortage' | 'space' | 'stats'>;
  readonly connectors: () => readonly { readonly name: string; status(): ConnectorStatus }[];
  /** Absent: this broker runs alone. */
  readonly cluster?: (() => ClusterStatus) | undefined;
  readonly security: () => SecurityFigures;
  readonly version: string;
}

export interface Metrics {
  readonly contentType: string;
  /** The Prometheus text of this moment. */
  render(): string;
  stop(): void;
}

/** Defines what there is. Nothing is counted on the message path for it. */
export function createMetrics(sources: MetricsSources): Metrics {
  const exposition = new Exposition();
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let queues: readonly QueueStats[] = [];

  const { gauge } = exposition;
  queueGauges(gauge, () => queues);
  brokerGauges(gauge, sources.figures);
  journalGauges(gauge, sources.journal);
  connectorGauges(gauge, sources.connectors);
  securityGauges(gauge, sources.security);
  if (sources.cluster !== undefined) clusterGauges(gauge, sources.cluster);
  processGauges(gauge, delay, sources.version);

  return {
    contentType: exposition.contentType,
    render: () => {
      // Once a scrape: the gauges share it.
      queues = sources.broker
        .queues('')
        .map((name) => sources.broker.queueStats(name))
        .filter((stats) => stats !== undefined);
      const families = sources.connectors().flatMap((one) => one.status().families ?? []);
      const text = exposition.text(families);
      queues = [];
      delay.reset();
      return text;
    },
    stop: () => delay.disable(),
  };
}

const DEPTHS = ['ready', 'delayed', 'inFlight'] as const;
const DONE = ['sent', 'delivered', 'acknowledged', 'expired', 'deadLettered'] as const;

function queueGauges(gauge: DefineGauge, queues: () => readonly QueueStats[]): void {
  const sum = (read: (stats: QueueStats) => number): number =>
    queues().reduce((total, stats) => total + read(stats), 0);
  gauge('queues', 'Queues, families counted once.', () => [{ value: queues().length }]);
  gauge('messages', 'Stored messages of all queues by state.', () =>
    DEPTHS.map((state) => ({ labels: { state: snake(state) }, value: sum((stats) => stats[state]) })),
  );
  gauge('messages_bytes', 'Bytes of all stored messages.', () => [{ value: sum((stats) => stats.bytes) }]);
  gauge('messages_since_start', 'Messages of all present queues since the start, by what happened.', () =>
    DONE.map((event) => ({ labels: { event: snake(event) }, value: sum((stats) => stats[event]) })),
  );
  gauge('consumers', 'Consumers of all queues.', () => [{ value: sum((stats) => stats.consumers) }]);
  gauge('waiters', 'Receives that wait for a message.', () => [{ value: sum((stats) => stats.waiters) }]);
  const help = `Messages of one queue by state; the ${QUEUES_WITH_GAUGES_MAX} deepest queues.`;
  gauge('queue_messages', help, () =>
    [...queues()]
      .sort((a, b) => depth(b) - depth(a))
      .slice(0, QUEUES_WITH_GAUGES_MAX)
      .flatMap((stats) =>
        DEPTHS.map((state) => ({
          labels: { queue: stats.channel, state: snake(state) },
          value: stats[state],
        })),
      ),
  );
}

function depth(stats: QueueStats): number {
  return stats.ready + stats.delayed + stats.inFlight;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function brokerGauges(gauge: DefineGauge, figures: () => BrokerFigures): void {
  const one = (name: string, help: string, read: (now: BrokerFigures) => number): void =>
    gauge(name, help, () => [{ value: read(figures()) }]);
  one('sub_channels', 'Sub-channels of all families (FIFO groups, ordering keys).', (now) => now.subChannels);
  one('logs', 'Logs (Events Store channels, topics).', (now) => now.logs);
  one('memory_bytes', 'Messages and tables that are held in memory.', (now) => now.memoryBytes);
  const references = 'Bytes of stored messages and events; a body that n subscriptions share counts n times.';
  one('store_referenced_bytes', references, (now) => now.liveBytes);
  one('checkpoints', 'Checkpoints written since the start.', (now) => now.checkpoints);
  one('cleaned_bytes', 'Bytes the cleaner copied forward since the start.', (now) => now.cleanedBytes);
  one('sends_refused', '1 while sends are refused for want of space or memory.', (now) =>
    now.shortage === undefined ? 0 : 1,
  );
}

function journalGauges(gauge: DefineGauge, journal: MetricsSources['journal']): void {
  const one = (name: string, help: string, read: () => number): void =>
    gauge(name, help, () => [{ value: read() }]);
  one('journal_entries', 'Entries appended since the start.', () => journal.stats().entries);
  one('journal_appended_bytes', 'Bytes appended since the start.', () => journal.stats().bytes);
  one('journal_groups', 'Group commits since the start.', () => journal.stats().groups);
  one('journal_syncs', 'Disk syncs since the start.', () => journal.stats().syncs);
  one(
    'journal_commit_seconds',
    'Time spent in commits since the start.',
    () => journal.stats().commitMsTotal / 1000,
  );
  one(
    'journal_commit_seconds_max',
    'Longest commit since the start.',
    () => journal.stats().commitMsMax / 1000,
  );
  one('store_used_bytes', 'Bytes the store takes.', () => journal.space().usedBytes);
  one('store_free_bytes', 'Bytes free where the store is.', () => journal.space().freeBytes);
  one(
    'store_low',
    '1 while sends are refused because the store is nearly full, does not keep up or fails.',
    () => (journal.shortage === undefined ? 0 : 1),
  );
}

function connectorGauges(gauge: DefineGauge, connectors: MetricsSources['connectors']): void {
  gauge('connector_connections', 'Open connections.', () =>
    connectors().map((connector) => ({
      labels: { connector: connector.name },
      value: connector.status().connections,
    })),
  );
  gauge('connector_count', 'Counters of a connector since the start.', () =>
    connectors().flatMap((connector) =>
      Object.entries(connector.status().counters).map(([counter, value]) => ({
        labels: { connector: connector.name, counter },
        value,
      })),
    ),
  );
}

function securityGauges(gauge: DefineGauge, figures: () => SecurityFigures): void {
  gauge('access_refused', 'What no rule allowed, since the start.', () =>
    figures().refusals.map(({ kind, access, count }) => ({ labels: { kind, access }, value: count })),
  );
  gauge('tokens_refused', 'Tokens that were no good, since the start.', () => {
    const { tokensRefused } = figures();
    return tokensRefused === undefined ? [] : [{ value: tokensRefused }];
  });
}
