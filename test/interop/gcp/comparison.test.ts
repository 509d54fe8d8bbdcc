import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useServer } from '../../support/server.js';
import { connectClients, PROJECT, subscriptionName, topicName, type Clients } from './clients.js';
import { emulatorJar, startEmulator, type Emulator } from './emulator.js';

// The same calls against this broker and against Google's emulator. Each gives a status, or what was worth looking at.

const data = Buffer.from('x');
const project = `projects/${PROJECT}`;

type Call = (clients: Clients) => Promise<unknown>;

const topic =
  (id: string, more: object = {}): Call =>
  (c) =>
    c.publisher.createTopic({ name: topicName(id), ...more });
const subscription =
  (id: string, more: object = {}): Call =>
  (c) =>
    c.subscriber.createSubscription({ name: subscriptionName(id), topic: topicName('base'), ...more });
const publish =
  (messages: object[], id = 'base'): Call =>
  (c) =>
    c.publisher.publish({ topic: topicName(id), messages });
const pullTexts = async (c: Clients, id: string): Promise<string[]> => {
  const [{ receivedMessages }] = await c.subscriber.pull({
    subscription: subscriptionName(id),
    maxMessages: 100,
    returnImmediately: true,
  });
  return (receivedMessages ?? []).map(({ message }) => String(message?.data));
};
const pullMax =
  (maxMessages: number): Call =>
  async (c) => {
    await c.subscriber.pull({ subscription: subscriptionName('base'), maxMessages, returnImmediately: true });
  };
const modify =
  (seconds: number): Call =>
  async (c) => {
    const id = subscriptionName('base');
    await publish([{ data }])(c);
    const [{ receivedMessages }] = await c.subscriber.pull({ subscription: id, maxMessages: 1 });
    const ackIds = [receivedMessages?.[0]?.ackId ?? ''];
    await c.subscriber.modifyAckDeadline({ subscription: id, ackIds, ackDeadlineSeconds: seconds });
  };
const stream =
  (first: object, second?: object): Call =>
  (c) =>
    new Promise((resolve, reject) => {
      const call = c.subscriber.streamingPull();
      call.on('data', () => undefined);
      call.on('error', reject);
      call.write(first);
      if (second !== undefined) call.write(second);
      setTimeout(() => {
        call.removeAllListeners('error').on('error', () => undefined);
        call.cancel();
        resolve('open');
      }, 500);
    });
const firstRequest = { subscription: subscriptionName('base'), streamAckDeadlineSeconds: 10 };

const resource = topicName('base');
const updateTopic =
  (fields: object, paths?: string[]): Call =>
  (c) =>
    c.publisher.updateTopic({
      topic: { name: topicName('base'), ...fields },
      ...(paths === undefined ? {} : { updateMask: { paths } }),
    });
const update =
  (fields: object, paths?: string[]): Call =>
  (c) =>
    c.subscriber.updateSubscription({
      subscription: { name: subscriptionName('base'), ...fields },
      ...(paths === undefined ? {} : { updateMask: { paths } }),
    });
const letters = (maxDeliveryAttempts: number, id = 'base'): object => ({
  deadLetterPolicy: { deadLetterTopic: topicName(id), maxDeliveryAttempts },
});
const retry = (min: number, max: number): object => ({
  retryPolicy: { minimumBackoff: { seconds: min }, maximumBackoff: { seconds: max } },
});
const snapshotName = (id: string): string => `projects/${PROJECT}/snapshots/${id}`;
const snapshot =
  (id: string, of = 'base'): Call =>
  (c) =>
    c.subscriber.createSnapshot({ name: snapshotName(id), subscription: subscriptionName(of) });
const seek =
  (target: object, id = 'base'): Call =>
  (c) =>
    c.subscriber.seek({ subscription: subscriptionName(id), ...target });

/** What comes after publishing three, acknowledging two of them and seeking back. */
const sought =
  (id: string, more: object): Call =>
  async (c) => {
    await subscription(id, more)(c);
    for (const text of ['1', '2', '3']) await publish([{ data: Buffer.from(text) }])(c);
    const name = subscriptionName(id);
    const [{ receivedMessages }] = await c.subscriber.pull({ subscription: name, maxMessages: 10 });
    const ackIds = (receivedMessages ?? []).slice(0, 2).map(({ ackId }) => ackId ?? '');
    await c.subscriber.acknowledge({ subscription: name, ackIds });
    await c.subscriber.seek({ subscription: name, time: { seconds: 1_000_000_000 } });
    await new Promise((resolve) => setTimeout(resolve, 300));
    return (await pullTexts(c, id)).sort();
  };

/** Calls in order; the value beside a call that both answer alike. */
const CALLS: readonly (readonly [name: string, call: Call])[] = [
  ['topic', topic('base')],
  ['topic twice', topic('base')],
  ['topic of two letters', topic('ab')],
  ['topic that begins with a digit', topic('1abc')],
  ['topic that begins with goog', topic('goog-x')],
  ['topic with every legal character', topic('a.~+%_-')],
  ['topic of 255 letters', topic('t'.repeat(255))],
  ['topic of 256 letters', topic('t'.repeat(256))],
  ['topic without path', (c) => c.publisher.createTopic({ name: 'x' })],
  ['topic retention of 5 minutes', topic('ret-5', { messageRetentionDuration: { seconds: 300 } })],
  ['topic retention of 32 days', topic('ret-32', { messageRetentionDuration: { seconds: 32 * 86400 } })],
  ['get a missing topic', (c) => c.publisher.getTopic({ topic: topicName('missing') })],
  ['delete a missing topic', (c) => c.publisher.deleteTopic({ topic: topicName('missing') })],
  ['subscription', subscription('base')],
  ['subscription twice', subscription('base')],
  ['subscription on a missing topic', subscription('none', { topic: topicName('missing') })],
  ['subscription on no topic name', subscription('none', { topic: 'x' })],
  ['ack deadline 9', subscription('ack-9', { ackDeadlineSeconds: 9 })],
  ['ack deadline 600', subscription('ack-600', { ackDeadlineSeconds: 600 })],
  ['ack deadline 601', subscription('ack-601', { ackDeadlineSeconds: 601 })],
  ['ack deadline -1', subscription('ack-neg', { ackDeadlineSeconds: -1 })],
  ['retention of 5 minutes', subscription('ret-5', { messageRetentionDuration: { seconds: 300 } })],
  ['retention of 8 days', subscription('ret-8', { messageRetentionDuration: { seconds: 8 * 86400 } })],
  ['ttl of an hour', subscription('ttl-1', { expirationPolicy: { ttl: { seconds: 3600 } } })],
  ['a filter that is none', subscription('bad-filter', { filter: 'garbage' })],
  [
    'default ack deadline and retention',
    async (c) => {
      const [{ ackDeadlineSeconds, messageRetentionDuration }] = await c.subscriber.getSubscription({
        subscription: subscriptionName('base'),
      });
      return [ackDeadlineSeconds, String(messageRetentionDuration?.seconds)];
    },
  ],
  ['publish nothing', publish([])],
  ['publish an empty message', publish([{}])],
  ['publish good and empty', publish([{ data }, {}])],
  ['publish attributes only', publish([{ attributes: { a: 'b' } }])],
  ['publish 1001', publish(Array.from({ length: 1001 }, () => ({ data })))],
  [
    'publish 101 attributes',
    publish([{ data, attributes: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`a${i}`, ''])) }]),
  ],
  ['publish a key of 257 bytes', publish([{ data, attributes: { ['k'.repeat(257)]: '' } }])],
  ['publish goog-x', publish([{ data, attributes: { 'goog-x': '' } }])],
  ['publish googclient_x', publish([{ data, attributes: { googclient_x: '' } }])],
  [
    'publish two ordering keys',
    publish([
      { data, orderingKey: 'a' },
      { data, orderingKey: 'b' },
    ]),
  ],
  ['publish to a missing topic', publish([{ data }], 'missing')],
  ['what was stored of all that', (c) => pullTexts(c, 'base')],
  ['pull 0', pullMax(0)],
  ['pull -1', pullMax(-1)],
  ['pull 1001', pullMax(1001)],
  ['pull from a missing subscription', (c) => pullTexts(c, 'missing')],
  [
    'ack garbage',
    (c) => c.subscriber.acknowledge({ subscription: subscriptionName('base'), ackIds: ['garbage'] }),
  ],
  ['ack nothing', (c) => c.subscriber.acknowledge({ subscription: subscriptionName('base'), ackIds: [] })],
  ['deadline -1', modify(-1)],
  ['deadline 5', modify(5)],
  ['deadline 601', modify(601)],
  ['deadline 0', modify(0)],
  [
    'stream on a missing subscription',
    stream({ ...firstRequest, subscription: subscriptionName('missing') }),
  ],
  ['stream with deadline 0', stream({ ...firstRequest, streamAckDeadlineSeconds: 0 })],
  ['stream with deadline 5', stream({ ...firstRequest, streamAckDeadlineSeconds: 5 })],
  ['stream with deadline 601', stream({ ...firstRequest, streamAckDeadlineSeconds: 601 })],
  ['stream that says nothing first', stream({})],
  [
    'stream that names a subscription twice',
    stream(firstRequest, { subscription: subscriptionName('base') }),
  ],
  ['stream that changes its bound', stream(firstRequest, { maxOutstandingMessages: 1 })],
  [
    'stream with lists of different length',
    stream(firstRequest, { modifyDeadlineAckIds: ['x'], modifyDeadlineSeconds: [] }),
  ],
  [
    'list with page size -1',
    (c) => c.publisher.listTopics({ project, pageSize: -1 }, { autoPaginate: false }).then(() => 'listed'),
  ],
  [
    'list with a bad token',
    (c) => c.publisher.listTopics({ project, pageToken: '?' }, { autoPaginate: false }).then(() => 'listed'),
  ],
  [
    'backlog of a deleted topic',
    async (c) => {
      await topic('doomed')(c);
      await subscription('doomed', { topic: topicName('doomed') })(c);
      await publish([{ data: Buffer.from('kept') }], 'doomed')(c);
      await c.publisher.deleteTopic({ topic: topicName('doomed') });
      const [{ topic: left }] = await c.subscriber.getSubscription({
        subscription: subscriptionName('doomed'),
      });
      return [left, await pullTexts(c, 'doomed')];
    },
  ],
  [
    'other project',
    (c) => c.publisher.getTopic({ topic: 'projects/other-project/topics/base' }).then(() => 'there'),
  ],
  ['label with a bad key', topic('labelled', { labels: { 'Bad Key': 'x' } })],
  ['ingestion', topic('ingesting', { ingestionDataSourceSettings: { awsKinesis: { streamArn: 'x' } } })],
  ['update a topic without a mask', updateTopic({ labels: { a: 'b' } })],
  ['update a topic with an empty mask', updateTopic({ labels: { a: 'b' } }, [])],
  ['update a field no topic has', updateTopic({}, ['bogus'])],
  ['update the name of a topic', updateTopic({}, ['name'])],
  ['update the labels of a topic', updateTopic({ labels: { a: 'b' } }, ['labels'])],
  ['subscription without a name', subscription('', { name: '' })],
  ['dead letters after 0', subscription('dl-0', letters(0))],
  ['dead letters after 4', subscription('dl-4', letters(4))],
  ['dead letters after 101', subscription('dl-101', letters(101))],
  ['dead letters to a missing topic', subscription('dl-none', letters(5, 'missing'))],
  ['retry policy of {}', subscription('retry-empty', { retryPolicy: {} })],
  ['retry policy upside down', subscription('retry-down', retry(20, 10))],
  ['retry policy of 601 s', subscription('retry-long', retry(10, 601))],
  ['expiration never', subscription('ttl-never', { expirationPolicy: {} })],
  [
    'expiration before retention',
    subscription('ttl-short', {
      expirationPolicy: { ttl: { seconds: 86400 } },
      messageRetentionDuration: { seconds: 2 * 86400 },
    }),
  ],
  ['export to BigQuery', subscription('bigquery', { bigqueryConfig: { table: 'p.d.t' } })],
  ['update without a mask', update({ ackDeadlineSeconds: 20 })],
  ['update a field no subscription has', update({}, ['bogus'])],
  ['update in camel case', update({}, ['ackDeadlineSeconds'])],
  ['update the ack deadline', update({ ackDeadlineSeconds: 20 }, ['ack_deadline_seconds'])],
  ['update the ack deadline to 5', update({ ackDeadlineSeconds: 5 }, ['ack_deadline_seconds'])],
  ['update the filter', update({ filter: 'attributes:a' }, ['filter'])],
  ['update the topic', update({ topic: topicName('a.~+%_-') }, ['topic'])],
  ['update the ordering', update({ enableMessageOrdering: true }, ['enable_message_ordering'])],
  [
    'update one good and one bad field',
    async (c) => {
      await update({ labels: { x: 'y' } }, ['labels', 'filter'])(c).catch(() => undefined);
      const [{ labels }] = await c.subscriber.getSubscription({ subscription: subscriptionName('base') });
      return labels;
    },
  ],
  ['snapshot', snapshot('snap')],
  ['snapshot twice', snapshot('snap')],
  ['snapshot of a missing subscription', snapshot('none', 'missing')],
  ['get a missing snapshot', (c) => c.subscriber.getSnapshot({ snapshot: snapshotName('missing') })],
  [
    'update a snapshot',
    (c) =>
      c.subscriber.updateSnapshot({
        snapshot: { name: snapshotName('snap'), labels: { a: 'b' } },
        updateMask: { paths: ['labels'] },
      }),
  ],
  ['seek to nothing', seek({})],
  ['seek to a missing snapshot', seek({ snapshot: snapshotName('missing') })],
  ['seek back without retained messages', sought('sought-1', {})],
  ['seek back with retained messages', sought('sought-2', { retainAckedMessages: true })],
  [
    'update the retention of a topic',
    updateTopic({ messageRetentionDuration: { seconds: 86400 } }, ['message_retention_duration']),
  ],
  [
    'list the subscriptions of a missing topic',
    (c) =>
      c.publisher
        .listTopicSubscriptions({ topic: topicName('missing') }, { autoPaginate: false })
        .then(() => 'listed'),
  ],
  [
    'snapshots of a topic',
    async (c) => (await c.publisher.listTopicSnapshots({ topic: topicName('base') }))[0].length,
  ],
  ['policy', (c) => c.publisher.getIamPolicy({ resource } as never)],
  [
    'detach',
    async (c) => {
      await subscription('detached')(c);
      return c.publisher.detachSubscription({ subscription: subscriptionName('detached') });
    },
  ],
  ['pull from a detached subscription', (c) => pullTexts(c, 'detached')],
  [
    'exactly-once: an id that is none',
    async (c) => {
      await subscription('once', { enableExactlyOnceDelivery: true })(c);
      return c.subscriber.acknowledge({ subscription: subscriptionName('once'), ackIds: ['none'] });
    },
  ],
  [
    'exactly-once with push',
    subscription('once-push', {
      enableExactlyOnceDelivery: true,
      pushConfig: { pushEndpoint: 'https://example.com/x' },
    }),
  ],
  ['delete', (c) => c.subscriber.deleteSubscription({ subscription: subscriptionName('base') })],
  ['delete twice', (c) => c.subscriber.deleteSubscription({ subscription: subscriptionName('base') })],
];

/** Where the two differ on purpose: this broker's answer, the emulator's (version 0.8.20), and why. */
const DIFFERENCES: Readonly<Record<string, readonly [ours: unknown, theirs: unknown, why: string]>> = {
  'ack deadline 9': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'retention of 8 days': ['OK', 'INVALID_ARGUMENT', 'Google allows 31 days'],
  'ttl of an hour': ['INVALID_ARGUMENT', 'OK', 'Google refuses less than a day'],
  'a filter that is none': ['INVALID_ARGUMENT', 'OK', 'this emulator has no filters'],
  'publish 101 attributes': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'publish a key of 257 bytes': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'publish goog-x': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'publish two ordering keys': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'what was stored of all that': [['', 'x'], ['', 'x', 'x', 'x', 'x', 'x', 'x'], 'what was refused above'],
  'deadline 5': ['INVALID_ARGUMENT', 'OK', 'the specification refuses 1 to 9 seconds'],
  'label with a bad key': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'update the labels of a topic': ['OK', 'INVALID_ARGUMENT', 'Google changes them'],
  'dead letters after 4': ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'as documented'],
  'dead letters after 101': ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'as documented'],
  'expiration before retention': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'export to BigQuery': [
    'INVALID_ARGUMENT',
    'OK',
    'the emulator exports nothing either, and does not say so',
  ],
  'update the ack deadline to 5': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'update a snapshot': ['OK', 'UNIMPLEMENTED', 'Google has it'],
  'list the subscriptions of a missing topic': ['NOT_FOUND', 'listed', 'Google finds none'],
  policy: ['OK', 'UNIMPLEMENTED', 'Google has it'],
  detach: ['OK', 'UNIMPLEMENTED', 'Google has it'],
  'pull from a detached subscription': ['FAILED_PRECONDITION', [], 'the emulator could not detach it'],
  'exactly-once: an id that is none': [
    'FAILED_PRECONDITION',
    'INVALID_ARGUMENT',
    'as documented, with details',
  ],
  'exactly-once with push': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'deadline 601': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'pull -1': ['INVALID_ARGUMENT', 'OK', 'Google refuses it'],
  'stream that changes its bound': ['INVALID_ARGUMENT', 'open', 'Google refuses it'],
  'list with page size -1': ['INVALID_ARGUMENT', 'listed', 'Google refuses it'],
  'list with a bad token': ['INVALID_ARGUMENT', 'listed', 'Google refuses it'],
  'other project': ['there', 'NOT_FOUND', 'ids are global here: the mapping specification'],
};

const jar = emulatorJar();

describe.skipIf(jar === undefined)("Google's emulator", () => {
  const server = useServer({ connectors: ['gcp'], config: { store: { engine: 'memory' } } });
  let emulator: Emulator;
  let ours: Clients;
  let theirs: Clients;

  beforeAll(async () => {
    emulator = await startEmulator(jar ?? '');
    ours = connectClients(server().address('gcp').port);
    theirs = connectClients(emulator.port);
  }, 90_000);
  afterAll(async () => {
    await ours.close();
    await theirs.close();
    await emulator.stop();
  });

  it.each(CALLS)('%s', async (name, call) => {
    const [here, there] = [await outcome(call, ours), await outcome(call, theirs)];
    const difference = DIFFERENCES[name];
    if (difference === undefined) expect(here).toEqual(there);
    else expect([here, there]).toEqual([difference[0], difference[1]]);
  });
});

async function outcome(call: Call, clients: Clients): Promise<unknown> {
  try {
    const result = await call(clients);
    return Array.isArray(result) && typeof result[0] === 'object' ? 'OK' : (result ?? 'OK');
  } catch (caught) {
    return status[(caught as { code: number }).code] ?? caught;
  }
}
