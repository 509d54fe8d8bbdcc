import { eachReportIsTested, type Report } from '../../support/reports.js';

const native = (file: string, title: string) => [`test/interop/native/${file}.test.ts`, title] as const;

const REPORTS: readonly Report[] = [
  [
    'channel management answers at once, whatever it is asked',
    'kubemq-Python 77',
    native('known-problems', 'an unknown management request is answered at once (kubemq-Python 77)'),
    native('requests', 'answers every fault at once'),
  ],
  [
    'each request of a stream of one message has one answer',
    'kubemq-CSharp 10, 21',
    native('stream-queue-message', 'is acked; the stream ends'),
    native('stream-queue-message', 'when the sequence is wrong, or a second message is asked for'),
    native('stream-queue-message', 'gives the message back and says so'),
  ],
  [
    'a shutdown ends streams with a status',
    'kubemq-js 1, 7',
    native('robustness', 'ends subscriptions and idle streams with UNAVAILABLE, never silently'),
    native('robustness', 'tells downstream clients, lets them settle, and ends'),
  ],
  [
    "a sender's ClientID may travel as a tag",
    'kubemq-go 9',
    native('known-problems', "a sender's client id in a tag passes through events as it is (kubemq-go 9)"),
  ],
  [
    'acknowledged messages stay away after a restart, and old ones come first',
    'nats-streaming 72, 374',
    native('known-problems', 'after a restart, acked messages stay away and unacked old ones come first'),
  ],
  [
    'a torn end is cut off, and the rest is there',
    'nats-streaming 557, 752, 895; pixie 536',
    ['test/fault/damage.test.ts', 'starts with a torn end: the entry that was cut off is gone'],
    ['src/journal/disk/repair.test.ts', 'reports a store that was cut off, and its torn tail'],
  ],
  [
    'who waits and goes away leaves nothing behind',
    'nats.go 2103; nats-server 5839',
    native('queues', 'loses nothing when the client goes away while it waits'),
    native('downstream', 'a waiting Get whose stream is cancelled leaves no trace'),
  ],
  [
    'a message over its count moves, or is gone, in one step',
    'nats-server 4956, 4998, 5564, 7817',
    native('downstream', 'after three nacks the dead-letter queue has the message'),
    native('downstream', 'drops a message over its count that has no dead-letter queue'),
    ['test/contract/broker.contract.ts', 'dead-letters after the last delivery, with its origin named'],
  ],
  [
    'a late settlement is refused and counts nothing',
    'pulsar 6451',
    native(
      'known-problems',
      'a second nack of the same delivery is refused and counts nothing (pulsar 6451)',
    ),
  ],
  [
    'a nack may be given back later',
    'newchat 346; redpanda connect 2556',
    native('known-problems', 'a nack may be given back later, so that attempts are not burnt at once'),
    native('known-problems', 'a queue with a back-off of its own holds back what native clients nack'),
  ],
  [
    'who lost a message by time cannot settle it',
    'bull 308; bullmq 439',
    native('known-problems', 'who loses a message by time cannot settle it; who has it now can'),
  ],
  [
    'a peek touches nothing',
    'azure-service-bus-dotnet 589; azure-sdk-for-js 2154; azure-sdk-for-python 31712',
    native('queues', 'peeks without touching: no count, no lock'),
  ],
  [
    'a durable subscription is taken over when its stream has gone',
    'stan.go 208, 241; argo-events 1002',
    native('events-store', 'are held by one live stream: a second one is told so, and takes over when'),
  ],
  [
    'names of queues are told exactly',
    "the community server's character-set trim",
    native('known-problems', 'names of queues are told exactly (character-set trim)'),
  ],
  [
    'a receive answers with what is there',
    "the community server's whole wait",
    native('queues', 'waits for a first message and does not wait for more'),
    native('downstream', 'opens a transaction with what is there, without waiting for more'),
  ],
  [
    'a slow reader misses no stored event',
    "the community server's dropped events",
    native(
      'events-store',
      'misses nothing, holds no memory at the server, and is not passed by its position',
    ),
  ],
  [
    'a requeued message keeps its origin and waits for no delay again; a batch says that it has errors',
    "the community server's requeue and HaveErrors",
    native('known-problems', 'a requeued message keeps where it came from, and waits for no delay again'),
    native('queues', 'of one message leave the rest of a batch alone'),
  ],
  [
    'leases that run out are noticed by themselves',
    'kumo 649',
    ['src/core/queue/stalled-leases.test.ts', 'keeps its lease over a crash, and comes when that ends'],
    native('stream-queue-message', 'gives the message back and says so'),
  ],
  [
    'secrets are not shown, and the API port asks who changes something',
    "the community server's /config and dashboard",
    ['src/ops/config/show.test.ts', 'is a YAML file that says the same, with origins, without secrets'],
    [
      'test/interop/security/access-api.test.ts',
      'asks for a token on every route that changes or shows something, and has none that shows the configuration',
    ],
  ],
];

eachReportIsTested(REPORTS);
