import { afterEach, describe, expect, it } from 'vitest';
import { channelName, type ChannelName } from '../core/channel-name.js';
import { DEFAULT_QUEUE_SETTINGS, type QueueStats } from '../core/queue/types.js';
import { createMetrics, QUEUES_WITH_GAUGES_MAX, type Metrics } from './metrics.js';

function stats(channel: ChannelName, ready: number): QueueStats {
  return {
    channel,
    settings: DEFAULT_QUEUE_SETTINGS,
    ready,
    delayed: 1,
    inFlight: 2,
    bytes: 10,
    subChannels: 0,
    consumers: 1,
    waiters: 0,
    firstSequence: 1,
    lastSequence: 9,
    sent: 9,
    delivered: 4,
    acknowledged: 3,
    expired: 0,
    deadLettered: 1,
  };
}

describe('metrics', () => {
  const opened: Metrics[] = [];
  afterEach(() => {
    for (const metrics of opened.splice(0)) metrics.stop();
  });

  function metricsOf(depths: ReadonlyMap<string, number>): Metrics {
    const metrics = createMetrics({
      broker: {
        queues: () => [...depths.keys()].map(channelName),
        queueStats: (channel) => stats(channel, depths.get(channel) ?? 0),
      },
      figures: () => ({
        queues: 1,
        subChannels: 2,
        logs: 3,
        messages: 4,
        memoryBytes: 5,
        liveBytes: 6,
        checkpoints: 7,
        cleanedBytes: 8,
        shortage: 'the disk is nearly full',
      }),
      journal: {
        shortage: 'the disk is nearly full',
        space: () => ({ freeBytes: 5, usedBytes: 6 }),
        stats: () => ({ entries: 1, bytes: 2, groups: 3, syncs: 4, commitMsMax: 5, commitMsTotal: 6 }),
      },
      connectors: () => [
        {
          name: 'aws',
          status: () => ({
            connections: 2,
            counters: { requests: 8 },
            families: [
              {
                name: 'own_seconds',
                help: 'Seconds.',
                type: 'histogram',
                samples: [{ suffix: '_bucket', labels: { le: '1' }, value: 3 }],
              },
            ],
          }),
        },
      ],
      security: () => ({ tokensRefused: 6, refusals: [{ kind: 'queue', access: 'read', count: 7 }] }),
      version: '1.2.3',
    });
    opened.push(metrics);
    return metrics;
  }

  const valueOf = (text: string, series: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')
        .at(-1),
    );

  it('adds the queues up and shows each', () => {
    const text = metricsOf(
      new Map([
        ['sqs.a', 3],
        ['sqs.b', 4],
      ]),
    ).render();
    expect(valueOf(text, 'polymq_queues')).toBe(2);
    expect(valueOf(text, 'polymq_messages{state="ready"}')).toBe(7);
    expect(valueOf(text, 'polymq_messages{state="in_flight"}')).toBe(4);
    expect(valueOf(text, 'polymq_messages_bytes')).toBe(20);
    expect(valueOf(text, 'polymq_messages_since_start{event="dead_lettered"}')).toBe(2);
    expect(valueOf(text, 'polymq_queue_messages{queue="sqs.b",state="ready"}')).toBe(4);
  });

  it('shows journal, space, connectors, process and build', () => {
    const text = metricsOf(new Map()).render();
    expect(valueOf(text, 'polymq_journal_syncs')).toBe(4);
    expect(valueOf(text, 'polymq_journal_commit_seconds')).toBe(0.006);
    expect(valueOf(text, 'polymq_store_low')).toBe(1);
    expect(valueOf(text, 'polymq_store_referenced_bytes')).toBe(6);
    expect(valueOf(text, 'polymq_sends_refused')).toBe(1);
    expect(valueOf(text, 'polymq_sub_channels')).toBe(2);
    expect(valueOf(text, 'polymq_connector_connections{connector="aws"}')).toBe(2);
    expect(valueOf(text, 'polymq_access_refused{kind="queue",access="read"}')).toBe(7);
    expect(valueOf(text, 'polymq_tokens_refused')).toBe(6);
    expect(text).toContain('# TYPE own_seconds histogram');
    expect(valueOf(text, 'own_seconds_bucket{le="1"}')).toBe(3);
    expect(valueOf(text, 'polymq_connector_count{connector="aws",counter="requests"}')).toBe(8);
    expect(valueOf(text, 'polymq_process_memory_bytes{kind="rss"}')).toBeGreaterThan(1_000_000);
    expect(text).toContain('polymq_build_info{version="1.2.3",node="');
    expect(valueOf(text, 'polymq_event_loop_delay_seconds{quantile="1"}')).toBeGreaterThanOrEqual(0);
  });

  it('gives gauges of their own to the deepest queues only', () => {
    const depths = new Map<string, number>();
    for (let i = 0; i < QUEUES_WITH_GAUGES_MAX + 5; i++) depths.set(`q.${i}`, i);
    const text = metricsOf(depths).render();
    expect(text.match(/polymq_queue_messages\{.*state="ready"/g)).toHaveLength(QUEUES_WITH_GAUGES_MAX);
    expect(text).not.toContain('queue="q.4"');
    expect(text).toContain(`queue="q.${QUEUES_WITH_GAUGES_MAX + 4}"`);
  });

  it('forgets a queue that went away', () => {
    const depths = new Map([['sqs.a', 3]]);
    const metrics = metricsOf(depths);
    metrics.render();
    depths.clear();
    expect(metrics.render()).not.toContain('sqs.a');
  });
});
