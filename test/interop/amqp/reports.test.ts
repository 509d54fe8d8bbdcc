import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROBES } from './probes/index.js';
import recorded from './rabbitmq-3.10-answers.json' with { type: 'json' };

/** A dialogue that is held with RabbitMQ too (dialect.test.ts), or a test: its file and its title. */
type Proof = { readonly probe: string } | { readonly file: string; readonly title: string };

interface Report {
  /** What is right. */
  readonly behaviour: string;
  /** Where users reported that it was not, of servers and of clients that met one. */
  readonly reports: string;
  /** What fails here when it is not. */
  readonly proofs: readonly Proof[];
}

const probe = (name: string): Proof => ({ probe: name });
const test = (file: string, title: string): Proof => ({ file: `test/interop/amqp/${file}.test.ts`, title });
const unit = (file: string, title: string): Proof => ({
  file: `src/connectors/amqp/${file}.test.ts`,
  title,
});
const bug = (title: string): Proof => test('others-bugs', title);
const life = (title: string): Proof => test('others-bugs-lifecycle', title);

const about = (behaviour: string, reports: string, ...proofs: readonly Proof[]): Report => ({
  behaviour,
  reports,
  proofs,
});

const ROUTING: readonly Report[] = [
  about(
    '# of a topic pattern is no word, too',
    'cloudamqp/lavinmq#1607',
    probe('exchanges: direct, fanout, topic, bound to each other'),
    unit('topology/topic-trie', 'match as they are defined, many at once, while some come and go'),
  ),
  about(
    'a weight that is none binds nothing',
    'cloudamqp/lavinmq#1724',
    probe('consistent-hash: keys that are no weights'),
  ),
  about('BCC is taken out', 'cloudamqp/lavinmq#1557', probe('CC and BCC')),
  about(
    'headers exchanges route, and void means any value',
    'absmach/magistrala#3451, fridujo/rabbitmq-mock#257',
    probe('headers exchange'),
    probe('headers exchange: a value of nothing is any value'),
  ),
  about(
    'dotted names as topic keys are keys',
    'streamnative/aop#775',
    bug('dotted queue names bound as topic keys'),
  ),
  about(
    'a transient queue may be bound to a durable exchange',
    'streamnative/aop#89, streamnative/aop#276',
    bug('a transient queue bound to a durable exchange, twice'),
  ),
  about(
    'exchange.bind is known',
    'profunktor/fs2-rabbit#31',
    probe('exchanges: direct, fanout, topic, bound to each other'),
    probe('cycles of exchanges'),
  ),
  about(
    'a queue bound several times gets one copy',
    'ruby-amqp/bunny#616, Vinelab/bowler#17',
    probe('several bindings that match are one copy'),
    probe('bindings: the same twice, with arguments, and both ends again'),
  ),
];

const EXPIRY_AND_DEATH: readonly Report[] = [
  about(
    'the next message expires when the one before it is gone',
    'cloudamqp/lavinmq#1596',
    bug('a message that expires behind one that does not, once that one is gone'),
  ),
  about(
    'the time to live begins anew in the next queue',
    'cloudamqp/lavinmq#583, fridujo/rabbitmq-mock#28',
    probe('dead letters: the time to live begins anew in the next queue'),
  ),
  about(
    'a new key takes CC away',
    'cloudamqp/lavinmq#1990',
    probe('dead letters: a new key takes CC away'),
    probe('dead letters: CC and BCC route again'),
  ),
  about(
    'delaying is no death',
    'cloudamqp/lavinmq#576',
    life('are told apart from delays: a delayed exchange leaves what it delays as it is'),
  ),
  about(
    'a queue expires after its last consumer, not with it',
    'cloudamqp/lavinmq#924, cloudamqp/lavinmq#363',
    life('begins its time when its last consumer leaves, however long that was there'),
    probe('queues that expire'),
    unit('topology/idle-queues', 'go after their time without a use, each at its own'),
  ),
  about(
    'a message that goes round without a rejection is dropped',
    'cloudamqp/lavinmq#1244, cloudamqp/lavinmq#1723',
    probe('dead letters that go round'),
  ),
  about(
    'x-death is there, with what it must have',
    'fridujo/rabbitmq-mock#43',
    probe('dead letters: rejected, expired, overflowed'),
  ),
  about(
    'deaths are counted on when a client publishes again, the first one stays',
    'rabbitmq/rabbitmq-server#11331, #10709, #11339, #15385',
    life('keep the first one, and count on when a client publishes what it got'),
    probe('dead letters: published again and rejected again'),
  ),
  about(
    'an x-death that a client made up ends nothing',
    'rabbitmq/rabbitmq-server#216, #161',
    bug('x-death that a client made up'),
    life('go on being counted when a client put nonsense into them'),
  ),
  about(
    'x-death never outgrows a frame',
    'amqp-node/amqplib#135, #462, postwait/node-amqp#351',
    bug('the trail of a message that died often, in many queues, fits in the frames of who gets it'),
  ),
];

const QUEUES: readonly Report[] = [
  about(
    'priority queues deliver, after purge and requeue, too',
    'cloudamqp/lavinmq#1439, #1440',
    bug('a priority queue after requeue and purge'),
    probe('priorities of messages'),
  ),
  about(
    'an exclusive consumer ends with its connection, and with the server',
    'cloudamqp/lavinmq#1903',
    life('holds its queue no longer than its socket lives'),
    life('holds it over no restart'),
    probe('exclusive and single active consumers'),
  ),
  about(
    'redelivered, and the count of deliveries, survive a restart',
    'cloudamqp/lavinmq#1911',
    test('completeness', 'are counted over a restart, and dead-lettered at their limit'),
    test('storage', 'durable queues, exchanges, bindings and persistent messages are there, others are not'),
  ),
  about(
    'one full queue of several refuses the publish; over HTTP, too',
    'cloudamqp/lavinmq#1958',
    probe('one full queue and one with room'),
    test('management', 'says when a full queue refused'),
  ),
  about(
    'figures stay exact',
    'cloudamqp/lavinmq#1921, #1957',
    bug('figures are exact after a rejected requeue, a purge and everything else'),
  ),
  about(
    'redelivered is set for redeliveries only, and a rejected message stops nobody',
    'wso2/product-ei#2548',
    bug('a rejected message, and what is behind it'),
  ),
  about(
    'an auto-delete queue goes with its last consumer',
    'php-amqplib/php-amqplib#1217',
    probe('auto-delete'),
  ),
  about(
    'who owns a queue is asked first: 405',
    'streadway/amqp#373, rabbitmq/rabbitmq-server#1888',
    probe('redeclare a queue differently'),
  ),
  about(
    'what differs in a second declaration is said exactly',
    'MassTransit/MassTransit#3464, #3492, #2709, #5097',
    probe('redeclare a queue differently'),
    probe('redeclare with another time to expire, and as another type'),
    probe('redeclare an exchange differently'),
    probe('an unknown exchange type'),
  ),
];

const DELAYS: readonly Report[] = [
  about(
    'a delayed exchange may be declared again',
    'cloudamqp/lavinmq#445',
    test('delayed-exchange', 'delivers when the time has come, also after a restart'),
  ),
  about(
    'a delay of more than 32 bits is not none',
    'cloudamqp/lavinmq#2190, #1781',
    test('delayed-exchange', 'delivers when the time has come, also after a restart'),
  ),
  about(
    'mandatory works with delays, they survive a restart, and many do not drift',
    'rabbitmq/rabbitmq-delayed-message-exchange#7, #72, #133',
    test('delayed-exchange', 'returns what no queue is bound for when it is published, and says what it is'),
    test('delayed-exchange', 'delivers when the time has come, also after a restart'),
    life('come each at its time, however many there are'),
  ),
];

const CONSUMERS: readonly Report[] = [
  about('consumers take turns', 'cloudamqp/lavinmq#1992', probe('consumers share fairly')),
  about(
    'a slow consumer keeps none of its connection waiting',
    'cloudamqp/lavinmq#1812',
    bug('a consumer that holds much and acknowledges nothing keeps none of its connection waiting'),
  ),
  about(
    'a shared prefetch that is raised holds at once',
    'celery/celery#2731, rusty-celery/rusty-celery#45',
    bug('a global prefetch that is raised holds for consumers that run'),
  ),
  about(
    'recover is answered without consumers, too',
    'wso2/product-ei#2256',
    bug('recover without any consumer'),
  ),
  about('acknowledging twice is an error', 'fridujo/rabbitmq-mock#156', probe('ack twice and out of order')),
  about(
    'tag 0 with multiple is all, alone it is an error',
    'amqp-rs/lapin#155, rabbitmq/rabbitmq-java-client#343',
    probe('delivery tag 0, and all before'),
    probe('unknown delivery tags'),
  ),
  about(
    'nothing comes behind cancel-ok, and what came before it goes back with its channel',
    'php-amqplib/php-amqplib#295',
    probe('cancelled while deliveries are on their way'),
    probe('acknowledge and cancel at once'),
  ),
  about(
    'acknowledgements may take for ever, unless a time is set, which holds for what is not acknowledged',
    'amqp-rs/lapin#357, php-amqplib/php-amqplib#925, celery/celery#6760, rabbitmq/rabbitmq-server#9046, #12857, eandersson/amqpstorm#126',
    test('acknowledgements', 'wait for ever by default'),
    test(
      'acknowledgements',
      'have the time of their consumer, of their queue, or of the setting, in this order',
    ),
    unit('channel/ack-timeouts', 'forget what was acknowledged'),
  ),
  about(
    'direct reply-to: one consumer a channel, without acknowledgements, and the requests on the same channel',
    'nestjs/nest#3138, #2337, #11966, #12000, #7972, arobson/rabbot#74',
    probe('direct reply-to: the consumer'),
    probe('direct reply-to: a request without a consumer'),
    probe('direct reply-to: request and reply'),
  ),
];

const PUBLISHERS: readonly Report[] = [
  about(
    'connection.blocked is sent where it is advertised',
    'cloudamqp/lavinmq#2186',
    test('robustness', 'holds publishes, tells the client, and goes on when there is room again'),
    test(
      'robustness',
      'holds publishers at the memory watermark while consumers go on, and lets them go on below it',
    ),
    life('says what it is and in which version, in numbers with dots, and advertises what it does'),
  ),
  about(
    'a return comes before its confirm',
    'streadway/amqp#351, 0x4b53/amqp-rpc#102, wagslane/go-rabbitmq#204',
    probe('returns and confirms'),
  ),
  about(
    'what cannot be routed is confirmed',
    'rabbitmq/rabbitmq-server#8392',
    probe('confirms of what cannot be routed, with and without mandatory'),
  ),
  about(
    'any timestamp passes',
    'cloudamqp/lavinmq#1705',
    bug('empty headers and no headers, and timestamps of any size'),
  ),
  about(
    'empty headers are not absent ones',
    'rabbitmq/rabbitmq-server#10623',
    bug('empty headers and no headers, and timestamps of any size'),
    unit('wire/properties', 'keeps an empty headers table and no headers table apart'),
  ),
];

const CONNECTIONS: readonly Report[] = [
  about('a heartbeat on a channel is refused', 'cloudamqp/lavinmq#1999', probe('a heartbeat on a channel')),
  about(
    'what comes for a channel that is being closed is passed over; one never opened is an error',
    'cloudamqp/lavinmq#2030, #1980',
    probe('what is sent to a channel that is being closed'),
    probe('channels: opened twice, never opened, used again'),
    probe('a channel that was never opened'),
  ),
  about(
    'frames that are too large are refused, headers, too',
    'amqp-node/amqplib#363, php-amqplib/php-amqplib#934, amqp-rs/lapin#428, rabbitmq/rabbitmq-server#921',
    probe('frames that are too large, of each type'),
    probe('an oversize frame'),
  ),
  about(
    'heartbeats and limits are what the client said; any octet is a heartbeat',
    'pika/pika#1014, #1093, #1154, Polyconseil/aioamqp#108',
    life('are whatever octets come: a peer that only publishes is not dead'),
    life('are off for ever where both sides say 0'),
    unit(
      'connection/heartbeat',
      'comes within the interval, whenever the last octets were written: some clients wait no longer',
    ),
    test('robustness', 'refuses limits outside of what it offered'),
  ),
  about(
    'product and version are there, and can be read',
    'majek/puka#16',
    life('says what it is and in which version, in numbers with dots, and advertises what it does'),
  ),
  about(
    'the management API tells zeros, too',
    'rabbitmq/rabbitmq-management#699, maxmindlin/rabbitui#1, rabbitmq/rabbitmq-server#3080',
    test('management', 'tells what autoscalers read of an idle queue'),
  ),
];

const REPORTS = [
  ...ROUTING,
  ...EXPIRY_AND_DEATH,
  ...QUEUES,
  ...DELAYS,
  ...CONSUMERS,
  ...PUBLISHERS,
  ...CONNECTIONS,
];

describe('what was reported elsewhere would be seen here', () => {
  it.each(REPORTS)('$behaviour ($reports)', ({ proofs }) => {
    expect(proofs.length).toBeGreaterThan(0);
    for (const proof of proofs) {
      if ('probe' in proof) {
        expect([proof.probe, proof.probe in PROBES, proof.probe in recorded]).toEqual([
          proof.probe,
          true,
          true,
        ]);
        continue;
      }
      const source = readFileSync(join(process.cwd(), proof.file), 'utf8');
      // As `it('…'` or as the name of a case; nothing that is skipped.
      const stands = ["it('", 'it("', "name: '", 'name: "'].some((start) =>
        source.includes(`${start}${proof.title}`),
      );
      expect([proof.file, proof.title, stands]).toEqual([proof.file, proof.title, true]);
    }
  });
});
