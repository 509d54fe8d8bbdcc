import { clusterOther, clusterOwner, natsCluster } from '../server/cluster.js';
import { emulator } from '../server/emulator.js';
import { http2Echo, httpEcho } from '../server/echo.js';
import { fauxqs, fauxqsSqlite } from '../server/fauxqs.js';
import { nats } from '../server/nats.js';
import { polymqSigned } from '../server/polymq.js';
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

export interface WireMeasure {
  readonly id: string;
  readonly load: string;
  readonly wire: string;
  /** Default: the product on one machine. */
  readonly ours?: Contender;
  readonly phases: readonly string[];
  readonly against: readonly Against[];
  /** What our own figure must be, of the first phase. */
  readonly bound?: number;
  /** A send phase ends after so many; default: the usual number. */
  readonly messagesMax?: number;
}

/** Full-speed measures over the wires, with the targets of the product. */
export const WIRE_MEASURES: readonly WireMeasure[] = [
  {
    id: 'amqp-both',
    load: 'amqp-both',
    wire: 'amqp',
    phases: ['AMQP publish-confirm + consume-ack at once'],
    against: [{ contender: rabbitmq, phase: 0, atLeast: 4 }],
  },
  {
    id: 'amqp-publish',
    load: 'amqp-publish',
    wire: 'amqp',
    phases: ['AMQP publish-confirm', 'AMQP consume-ack'],
    against: [
      { contender: rabbitmq, phase: 0, atLeast: 5 },
      { contender: rabbitmq, phase: 1, atLeast: 4 },
    ],
  },
  {
    id: 'amqp-transient',
    load: 'amqp-transient',
    wire: 'amqp',
    phases: ['AMQP transient publish without confirms', 'AMQP consume-ack of transient messages'],
    against: [
      { contender: rabbitmq, phase: 0, atLeast: 4 },
      { contender: rabbitmq, phase: 1 },
    ],
  },
  {
    id: 'amqp-fanout',
    load: 'amqp-fanout',
    wire: 'amqp',
    phases: ['AMQP publish-confirm to ten queues', 'AMQP consume-ack of all ten'],
    against: [
      { contender: rabbitmq, phase: 0, atLeast: 6 },
      { contender: rabbitmq, phase: 1 },
    ],
    // Each is ten deliveries.
    messagesMax: 50_000,
  },
  {
    id: 'amqp-topic',
    load: 'amqp-topic',
    wire: 'amqp',
    phases: ['AMQP publish-confirm past 10 000 topic bindings', 'AMQP consume-ack behind them'],
    against: [
      { contender: rabbitmq, phase: 0, atLeast: 5 },
      { contender: rabbitmq, phase: 1 },
    ],
  },
  {
    id: 'sqs-send1',
    load: 'sqs-send1',
    wire: 'aws',
    ours: polymqSigned,
    phases: ['SQS send one by one, signatures checked', 'SQS receive 10 + delete 10 behind it'],
    against: [
      { contender: httpEcho, load: 'http-echo', phase: 0, atLeast: 0.45 },
      { contender: fauxqs, phase: 0, atLeast: 1.3 },
      { contender: fauxqsSqlite, phase: 0, atLeast: 10 },
      { contender: fauxqs, phase: 1 },
    ],
  },
  {
    id: 'sqs-unsigned1',
    load: 'sqs-send1',
    wire: 'aws',
    phases: ['SQS send one by one, signatures not checked'],
    against: [{ contender: httpEcho, load: 'http-echo', phase: 0, atLeast: 0.6 }],
  },
  {
    id: 'sqs-send10',
    load: 'sqs-send10',
    wire: 'aws',
    ours: polymqSigned,
    phases: ['SQS send in tens, signatures checked', 'SQS receive 10 + delete 10 behind it'],
    against: [
      { contender: fauxqs, phase: 0, atLeast: 2 },
      { contender: fauxqsSqlite, phase: 0, atLeast: 40 },
      { contender: fauxqs, phase: 1 },
    ],
  },
  {
    id: 'sqs-shallow',
    load: 'sqs-shallow',
    wire: 'aws',
    ours: polymqSigned,
    phases: ['SQS receive 10 + delete 10 from a backlog of 1 000, signatures checked'],
    against: [{ contender: fauxqs, phase: 0, atLeast: 2 }],
  },
  {
    id: 'sqs-deep',
    load: 'sqs-deep',
    wire: 'aws',
    ours: polymqSigned,
    phases: ['SQS receive 10 + delete 10 from a backlog of 550 000, signatures checked'],
    against: [{ contender: fauxqs, phase: 0, atLeast: 20 }],
    // What the figure to beat was measured with: a peer that scans its queue gets slower with depth.
    messagesMax: 550_000,
  },
  {
    id: 'sns-publish10',
    load: 'sns-publish10',
    wire: 'aws',
    ours: polymqSigned,
    phases: ['SNS publish in tens to 3 queues, signatures checked', 'SQS receive 10 + delete 10 of all 3'],
    against: [
      { contender: fauxqs, phase: 0, atLeast: 2 },
      { contender: fauxqs, phase: 1 },
    ],
    // Each is three deliveries.
    messagesMax: 60_000,
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
    phases: ['Pub/Sub StreamingPull + ack from a backlog of 900 000'],
    against: [{ contender: emulator, phase: 0, atLeast: 50 }],
    // What the emulator's heap of 4 GiB holds.
    messagesMax: 900_000,
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
  {
    id: 'latency-sqs',
    load: 'sqs-latency',
    wire: 'aws',
    title: 'SQS, signatures checked,',
    ours: polymqSigned,
    peer: fauxqs,
  },
  { id: 'latency-pubsub', load: 'pubsub-latency', wire: 'gcp', title: 'Pub/Sub', peer: emulator },
  { id: 'latency-amqp', load: 'amqp-latency', wire: 'amqp', title: 'AMQP', peer: rabbitmq, noWorse: true },
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
