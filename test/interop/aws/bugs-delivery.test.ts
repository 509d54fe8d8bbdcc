import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { pass, startAwsServer, whileTimePasses, type AwsServer } from './aws-server.js';
import { ARN, bodiesOf, codeOf, FIFO, handleOf, listIn, RawSqs, type Bug } from './raw-client.js';

/*
 * Mistakes that servers of this API made and their users reported of deliveries: each is tried here over bare HTTP, for what AWS
 * does. The reports are named by project and number.
 */

const clock = new ManualClock();
let server: AwsServer;
let sqs: RawSqs;

beforeAll(async () => {
  server = await startAwsServer({ clock });
  sqs = new RawSqs(server.url);
});
afterAll(() => server.stop());

const VISIBILITY: readonly Bug[] = [
  {
    reports: 'Admiral-Piett/goaws#344, floci-io/floci#413',
    behaviour: "the receive's VisibilityTimeout holds, else the queue's",
    run: async () => {
      const long = await sqs.make({ VisibilityTimeout: '30' });
      const short = await sqs.make({ VisibilityTimeout: '1' });
      for (const queue of [long, short]) await sqs.send(queue, 'x');
      await sqs.receive(long, { VisibilityTimeout: 1 });
      await sqs.receive(short);
      expect([await sqs.receive(long), await sqs.receive(short)]).toEqual([[], []]);
      await pass(clock, 1_500);
      expect([await sqs.receive(long), await sqs.receive(short)]).toMatchObject([
        [{ Body: 'x' }],
        [{ Body: 'x' }],
      ]);
    },
  },
  {
    reports: 'floci-io/floci#902',
    behaviour: 'an expired handle hides nothing from its next receiver',
    run: async () => {
      const queue = await sqs.make({ VisibilityTimeout: '2' });
      await sqs.send(queue, 'x');
      const ReceiptHandle = handleOf(await sqs.receive(queue));
      await pass(clock, 3_000);
      const change = { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 60 };
      expect((await sqs.json('ChangeMessageVisibility', change)).status).toBe(200);
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['x']);
      await sqs.json('ChangeMessageVisibility', change);
      await pass(clock, 3_000);
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['x']);
    },
  },
  {
    reports: 'softwaremill/elasticmq#65, #80',
    behaviour: 'a long poll sees a delayed message when it is due',
    run: async () => {
      const queue = await sqs.make();
      await sqs.send(queue, 'x', { DelaySeconds: 2 });
      const begun = clock.now();
      const poll = sqs.receive(queue, { WaitTimeSeconds: 10 });
      expect(bodiesOf(await whileTimePasses(clock, poll))).toEqual(['x']);
      expect(clock.now() - begun).toBeLessThan(10_000);
    },
  },
  {
    reports: 'softwaremill/elasticmq#70',
    behaviour: 'WaitTimeSeconds 0 ends at once whatever the queue says',
    run: async () => {
      const queue = await sqs.make({ ReceiveMessageWaitTimeSeconds: '20' });
      expect(await sqs.receive(queue, { WaitTimeSeconds: 0 })).toEqual([]);
    },
  },
  {
    reports: 'aws/aws-sdk-js#2350',
    behaviour: 'the poll of a client that is gone swallows nothing',
    run: async () => {
      const queue = await sqs.make();
      const body = JSON.stringify({ QueueUrl: queue, WaitTimeSeconds: 20 });
      const ghost = connect(server.port, '127.0.0.1');
      const waiting = server.connector.status().counters['waiting_receives'] ?? 0;
      ghost.write(
        'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n' +
          `X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(waiting + 1);
      ghost.destroy();
      await expect.poll(() => server.connector.status().counters['waiting_receives']).toBe(waiting);
      await sqs.send(queue, 'x');
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['x']);
    },
  },
  {
    reports: 'softwaremill/elasticmq#632',
    behaviour: 'one bad handle fails alone in a batch',
    run: async () => {
      const queue = await sqs.make();
      await sqs.send(queue, 'x');
      const ReceiptHandle = handleOf(await sqs.receive(queue));
      const Entries = [
        { Id: 'good', ReceiptHandle, VisibilityTimeout: 5 },
        { Id: 'bad', ReceiptHandle: 'garbage', VisibilityTimeout: 5 },
      ];
      const answer = await sqs.json('ChangeMessageVisibilityBatch', { QueueUrl: queue, Entries });
      expect(listIn(answer, 'Successful')).toEqual([{ Id: 'good' }]);
      expect(listIn(answer, 'Failed')).toMatchObject([
        { Id: 'bad', Code: 'ReceiptHandleIsInvalid', SenderFault: true },
      ]);
    },
  },
  {
    reports: 'localstack/localstack#13222',
    behaviour: 'a FIFO handle that was extended deletes, an expired one does not',
    run: async () => {
      const queue = await sqs.make({ ...FIFO, VisibilityTimeout: '2' });
      await sqs.send(queue, 'x', { MessageGroupId: 'g' });
      const first = handleOf(await sqs.receive(queue));
      await pass(clock, 3_000);
      const late = await sqs.json('DeleteMessage', { QueueUrl: queue, ReceiptHandle: first });
      expect([late.status, codeOf(late)]).toEqual([400, 'InvalidParameterValue;Sender']);
      expect(late.text).toContain('The receipt handle has expired.');
      const ReceiptHandle = handleOf(await sqs.receive(queue));
      await sqs.json('ChangeMessageVisibility', { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 5 });
      await pass(clock, 4_000);
      expect((await sqs.json('DeleteMessage', { QueueUrl: queue, ReceiptHandle })).status).toBe(200);
      await pass(clock, 10_000);
      expect(await sqs.receive(queue)).toEqual([]);
    },
  },
];

const GROUPS: readonly Bug[] = [
  {
    reports: 'softwaremill/elasticmq#354, ministackorg/ministack#1326, localstack/localstack#8146',
    behaviour: 'a duplicate stays one after its first was deleted, in any group',
    run: async () => {
      const queue = await sqs.make({ FifoQueue: 'true' });
      const id = { MessageDeduplicationId: 'X' };
      await sqs.send(queue, 'x', { ...id, MessageGroupId: 'a' });
      const ReceiptHandle = handleOf(await sqs.receive(queue));
      await sqs.json('DeleteMessage', { QueueUrl: queue, ReceiptHandle });
      for (const MessageGroupId of ['a', 'b']) {
        expect((await sqs.send(queue, 'x', { ...id, MessageGroupId })).status).toBe(200);
      }
      expect(await sqs.receive(queue)).toEqual([]);
    },
  },
  {
    reports: 'BlackbirdWorks/gopherstack#1666',
    behaviour: 'DeduplicationScope messageGroup keeps groups apart',
    run: async () => {
      const queue = await sqs.make({
        FifoQueue: 'true',
        DeduplicationScope: 'messageGroup',
        FifoThroughputLimit: 'perMessageGroupId',
      });
      for (const MessageGroupId of ['a', 'b', 'a']) {
        await sqs.send(queue, MessageGroupId, { MessageDeduplicationId: 'X', MessageGroupId });
      }
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['a', 'b']);
    },
  },
  {
    reports: 'localstack/localstack#6766, floci-io/floci#777',
    behaviour: 'one receiver at a time gets a group, up to ten in order',
    run: async () => {
      const queue = await sqs.make(FIFO);
      const sent = Array.from({ length: 10 }, (_, i) => `m${i}`);
      for (const body of sent) await sqs.send(queue, body, { MessageGroupId: 'g' });
      const both = await Promise.all([1, 2].map(() => sqs.receive(queue, { MaxNumberOfMessages: 5 })));
      expect(both.map(({ length }) => length).sort()).toEqual([0, 5]);
      await pass(clock, 31_000);
      expect(bodiesOf(await sqs.receive(queue))).toEqual(sent);
    },
  },
  {
    reports: 'localstack/localstack#12457',
    behaviour: 'a group waits for its first message',
    run: async () => {
      const queue = await sqs.make({ ...FIFO, VisibilityTimeout: '2' });
      for (const body of ['1', '2', '3']) await sqs.send(queue, body, { MessageGroupId: 'g' });
      const ReceiptHandle = handleOf(await sqs.receive(queue));
      await sqs.json('ChangeMessageVisibility', { QueueUrl: queue, ReceiptHandle, VisibilityTimeout: 15 });
      await pass(clock, 5_000);
      expect(await sqs.receive(queue)).toEqual([]);
      await pass(clock, 11_000);
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['1', '2', '3']);
    },
  },
  {
    reports: 'floci-io/floci#2104',
    behaviour: 'a delayed message does not hide the visible ones of its group',
    run: async () => {
      const queue = await sqs.make({ ...FIFO, DelaySeconds: '5' });
      await sqs.send(queue, 'A', { MessageGroupId: 'g' });
      await pass(clock, 5_500);
      await sqs.send(queue, 'B', { MessageGroupId: 'g' });
      expect(bodiesOf(await sqs.receive(queue))).toEqual(['A']);
    },
  },
  {
    reports: 'localstack/localstack#6107',
    behaviour: 'a dead letter needs no deduplication id to get into a FIFO dead-letter queue',
    run: async () => {
      const dead = await sqs.make({ FifoQueue: 'true' });
      const RedrivePolicy = `{"deadLetterTargetArn":"${ARN}${dead}","maxReceiveCount":1}`;
      const queue = await sqs.make({ FifoQueue: 'true', VisibilityTimeout: '1', RedrivePolicy });
      await sqs.send(queue, 'x', { MessageGroupId: 'g', MessageDeduplicationId: 'd' });
      await sqs.receive(queue);
      await pass(clock, 1_500);
      expect(await sqs.receive(queue)).toEqual([]);
      const [letter] = await sqs.receive(dead, { MessageSystemAttributeNames: ['All'] });
      expect(letter?.['Attributes']).toMatchObject({
        MessageGroupId: 'g',
        MessageDeduplicationId: 'd',
        DeadLetterQueueSourceArn: ARN + queue,
      });
    },
  },
  {
    reports: 'Admiral-Piett/goaws#263, localstack/localstack#8234, softwaremill/elasticmq#110',
    behaviour: 'three receives allowed are three deliveries',
    run: async () => {
      const dead = await sqs.make();
      const RedrivePolicy = `{"deadLetterTargetArn":"${ARN}${dead}","maxReceiveCount":"3"}`;
      const queue = await sqs.make({ VisibilityTimeout: '1', RedrivePolicy });
      await sqs.send(queue, 'x');
      for (let i = 0; i < 3; i++) {
        expect(bodiesOf(await sqs.receive(queue))).toEqual(['x']);
        await pass(clock, 1_500);
      }
      expect([await sqs.receive(queue), bodiesOf(await sqs.receive(dead))]).toEqual([[], ['x']]);
    },
  },
  {
    reports: 'awspring/spring-cloud-aws#529',
    behaviour: 'a standard queue ignores ReceiveRequestAttemptId',
    run: async () => {
      const queue = await sqs.make();
      await sqs.send(queue, 'x');
      const ReceiveRequestAttemptId = 'any thing at all';
      expect(bodiesOf(await sqs.receive(queue, { ReceiveRequestAttemptId }))).toEqual(['x']);
      expect(await sqs.receive(queue, { ReceiveRequestAttemptId })).toEqual([]);
    },
  },
];

it.each([...VISIBILITY, ...GROUPS])('$behaviour ($reports)', ({ run }) => run());
