import { latency, measure, noteOf, rate, type Measured } from './measure.js';
import type { BenchOptions } from './options.js';
import type { Row } from './report.js';
import { clusterOther, clusterOwner, natsCluster } from '../server/cluster.js';
import { emulator } from '../server/emulator.js';
import { http2Echo, httpEcho } from '../server/echo.js';
import { fauxqs, fauxqsSqlite } from '../server/fauxqs.js';
import { nats } from '../server/nats.js';
import { polymq } from '../server/polymq.js';
import { rabbitmq } from '../server/rabbitmq.js';
import type { Contender } from '../server/server.js';

/** One comparison of a measure: with whom, in which of the load's phases, and how many times its figure we want. */
interface Against {
  readonly contender: Contender;
  /** The contender's load when it is not ours. */
  readonly load?: string;
  readonly phase: number;
  readonly atLeast?: number;
}

interface WireMeasure {
  readonly id: string;
  readonly load: string;
  readonly wire: string;
  /** Default: the product on one machine. */
  readonly ours?: Contender;
  readonly phases: readonly string[];
  readonly against: readonly Against[];
  /** What our own figure must be, of the first phase. */
  readonly bound?: number;
}

/** How long a peer's drain may take: its rate shows soon, and losses are our promise, not its. */
const PEER_DRAIN_SECONDS_MAX = 6;

/** Full-speed measures over the wires, with the targets of the product. */
export const WIRE_MEASURES: readonly WireMeasure[] = [
  {
    id: 'amqp-both',
    load: 'amqp-both',
    wire: 'amqp',
    phases: ['AMQP publish-confirm + consume-ack at once'],
    against: [{ contender: rabbitmq, phase: 0, atLeast: 3 }],
  },
  {
    id: 'amqp-publish',
    load: 'amqp-publish',
    wire: 'amqp',
    phases: ['AMQP publish-confirm', 'AMQP consume-ack'],
    against: [
      { contender: rabbitmq, phase: 0 },
      { contender: rabbitmq, phase: 1 },
    ],
  },
  {
    id: 'sqs-send1',
    load: 'sqs-send1',
    wire: 'aws',
    phases: ['SQS send one by one', 'SQS receive 10 + delete 10'],
    against: [
      { contender: httpEcho, load: 'http-echo', phase: 0, atLeast: 0.5 },
      { contender: fauxqs, phase: 0, atLeast: 1.3 },
      { contender: fauxqsSqlite, phase: 0, atLeast: 10 },
      { contender: fauxqs, phase: 1 },
    ],
  },
  {
    id: 'sqs-send10',
    load: 'sqs-send10',
    wire: 'aws',
    phases: ['SQS send in tens', 'SQS receive 10 + delete 10'],
    against: [
      { contender: fauxqs, phase: 0, atLeast: 1.5 },
      { contender: fauxqs, phase: 1 },
    ],
  },
  {
    id: 'pubsub-publish1',
    load: 'pubsub-publish1',
    wire: 'gcp',
    phases: ['Pub/Sub publish one by one', 'Pub/Sub StreamingPull + ack'],
    against: [
      { contender: http2Echo, load: 'http2-echo', phase: 0, atLeast: 0.55 },
      { contender: emulator, phase: 0 },
      { contender: emulator, phase: 1, atLeast: 6 },
    ],
  },
  {
    id: 'pubsub-publish100',
    load: 'pubsub-publish100',
    wire: 'gcp',
    phases: ['Pub/Sub publish in hundreds', 'Pub/Sub StreamingPull + ack'],
    against: [
      { contender: emulator, phase: 0, atLeast: 1 },
      { contender: emulator, phase: 1, atLeast: 6 },
    ],
  },
  {
    id: 'pubsub-shallow',
    load: 'pubsub-shallow',
    wire: 'gcp',
    phases: ['Pub/Sub StreamingPull + ack from a backlog of 1 000'],
    against: [{ contender: emulator, phase: 0, atLeast: 6 }],
  },
  {
    id: 'pubsub-deep',
    load: 'pubsub-deep',
    wire: 'gcp',
    phases: ['Pub/Sub StreamingPull + ack from a backlog of 200 000'],
    against: [{ contender: emulator, phase: 0, atLeast: 50 }],
  },
  {
    id: 'native-upstream',
    load: 'native-upstream',
    wire: 'native-grpc',
    phases: ['native upstream in tens', 'native downstream + ack all'],
    against: [],
  },
  {
    id: 'native-upstream100',
    load: 'native-upstream100',
    wire: 'native-grpc',
    phases: ['native upstream in hundreds', 'native downstream + ack all'],
    against: [
      { contender: nats, load: 'nats-publish', phase: 0, atLeast: 0.9 },
      { contender: nats, load: 'nats-publish', phase: 1, atLeast: 1 },
    ],
  },
  {
    id: 'native-both',
    load: 'native-both',
    wire: 'native-grpc',
    phases: ['native upstream and downstream at once'],
    against: [{ contender: nats, load: 'nats-both', phase: 0, atLeast: 1.5 }],
  },
  {
    id: 'native-events',
    load: 'native-events',
    wire: 'native-grpc',
    phases: ['native live events, deliveries to ten subscribers'],
    against: [],
    bound: 200_000,
  },
  {
    id: 'cluster-both',
    load: 'amqp-both',
    wire: 'amqp',
    ours: clusterOther,
    phases: ['cluster, through a node beside the owner: AMQP publish-confirm + consume-ack at once'],
    against: [
      { contender: clusterOwner, phase: 0, atLeast: 0.65 },
      { contender: natsCluster, load: 'nats-both-r3', phase: 0, atLeast: 3 },
    ],
  },
];

/** End-to-end at 200 messages a second over each wire. */
export const LATENCY_MEASURES = [
  { id: 'latency-sqs', load: 'sqs-latency', wire: 'aws', title: 'SQS', peer: fauxqs },
  { id: 'latency-pubsub', load: 'pubsub-latency', wire: 'gcp', title: 'Pub/Sub', peer: emulator },
  { id: 'latency-amqp', load: 'amqp-latency', wire: 'amqp', title: 'AMQP', peer: rabbitmq },
  {
    id: 'latency-native',
    load: 'native-latency',
    wire: 'native-grpc',
    title: 'native gRPC',
    peer: undefined,
  },
  {
    id: 'latency-requests',
    load: 'native-requests',
    wire: 'native-grpc',
    title: 'native request and reply',
    peer: undefined,
    p50MsMax: 0.6,
  },
] as const;

const LATENCY_P50_MS_MAX = 2;
const LATENCY_P99_MS_MAX = 10;

export interface Measurement {
  readonly rows: readonly Row[];
  readonly details: readonly Measured[];
}

/** Everything is an echo server's or a peer's turn first: a broken figure of ours never hides theirs. */
export async function measureWire(wire: WireMeasure, options: BenchOptions): Promise<Measurement> {
  const measured = new Map<Contender, Measured>();
  for (const { contender, load } of wire.against) {
    if (measured.has(contender) || !wanted(contender, options)) continue;
    const request = { contender, load: load ?? wire.load, wire: wire.wire, options };
    measured.set(contender, await measure({ ...request, drainSecondsMax: PEER_DRAIN_SECONDS_MAX }));
  }
  const contender = wire.ours ?? polymq;
  const ours = await measure({ contender, load: wire.load, wire: wire.wire, options });
  const { bound } = wire;
  const rows = wire.phases.flatMap((title, phase): Row[] => {
    const base = { id: wire.id, measure: title, unit: 'msg/s', ours: rate(ours, phase) };
    const compared = wire.against.filter((one) => one.phase === phase && measured.has(one.contender));
    if (compared.length === 0) {
      const target =
        bound === undefined || phase > 0 ? undefined : ({ kind: 'at-least', value: bound } as const);
      const against = target === undefined ? 'nothing' : '';
      return [{ ...base, against, other: undefined, target, note: noteOf(ours, phase) }];
    }
    return compared.map((one): Row => {
      const other = measured.get(one.contender);
      return {
        ...base,
        against: one.contender.name,
        other: other === undefined ? undefined : rate(other, phase),
        target: one.atLeast === undefined ? undefined : { kind: 'at-least', value: one.atLeast },
        note: [noteOf(ours, phase), other === undefined ? '' : noteOf(other, phase)].join('; '),
      };
    });
  });
  return { rows, details: [...measured.values(), ours] };
}

export async function measureLatency(
  { id, load, wire, title, peer, ...rest }: (typeof LATENCY_MEASURES)[number],
  deviceP99Ms: number,
  options: BenchOptions,
): Promise<Measurement> {
  const theirs =
    peer !== undefined && wanted(peer, options)
      ? await measure({ contender: peer, load, wire, options })
      : undefined;
  const ours = await measure({ contender: polymq, load, wire, options });
  const row = (which: 'p50' | 'p99', bound: number, note: string): Row => ({
    id,
    measure: `${title} end-to-end at 200/s, ${which}`,
    unit: 'ms',
    ours: latency(ours, 0, which),
    against: '',
    other: undefined,
    target: { kind: 'at-most', value: Number(bound.toFixed(2)) },
    note,
  });
  const peerNote =
    theirs === undefined
      ? ''
      : `; ${theirs.contender} ${(latency(theirs, 0, 'p50') ?? Number.NaN).toFixed(2)} / ${(latency(theirs, 0, 'p99') ?? Number.NaN).toFixed(2)} ms`;
  return {
    rows: [
      row('p50', 'p50MsMax' in rest ? rest.p50MsMax : LATENCY_P50_MS_MAX, noteOf(ours, 0) + peerNote),
      row('p99', LATENCY_P99_MS_MAX + deviceP99Ms, `10 ms + fdatasync p99 of ${deviceP99Ms.toFixed(2)} ms`),
    ],
    details: theirs === undefined ? [ours] : [theirs, ours],
  };
}

function wanted(contender: Contender, options: BenchOptions): boolean {
  return contender.name.endsWith('-echo') || options.peers.includes(contender.name);
}
