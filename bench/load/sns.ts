import { BODY_BYTES, readSequence, SEQUENCE_DIGITS } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { snsPublishTemplate, type SqsConnection } from '../client/sqs.js';
import { expect, phase, type Load } from './job.js';
import { BATCH_MAX, first, openAll, signAhead, takeNumbers } from './sqs.js';
import { Drain, type SqsQueue } from './sqs-drain.js';

const CONNECTIONS = 16;
const QUEUES = 3;
/** In the notification that a queue gets. */
const MESSAGE_FIELD = '"Message"';
const MESSAGE_ID = '<MessageId>';

/** PublishBatch of ten to a topic with three queues, on 16 connections; then all three are drained in tens. */
export const snsPublish10: Load = async ({ job, label }) => {
  const ledger = new Ledger(false, QUEUES);
  const connections = await openAll(job.port, CONNECTIONS);
  const topicArn = await first(connections).callSns(
    { Action: 'CreateTopic', Name: `bench-${label}` },
    'TopicArn',
  );
  const queues: SqsQueue[] = [];
  for (let copy = 0; copy < QUEUES; copy++)
    queues.push(await subscribed(first(connections), topicArn, copy, label));
  const signer = first(connections).signer();
  const senders = connections.map((connection) => ({
    connection,
    template: snsPublishTemplate(signer, topicArn, BATCH_MAX),
    ledger,
  }));
  const signatures = signAhead(senders, job);
  const publish = await phase('publish10', job, async () => {
    const end = performance.now() + job.seconds * 1000;
    const goOn = () => performance.now() < end && ledger.sent < job.messagesMax;
    const runs = senders.map(async ({ connection, template }) => {
      while (goOn()) {
        const numbers = takeNumbers(ledger, BATCH_MAX);
        template.prepare(numbers, signatures);
        const answer = await connection.sendText(template.request);
        expect(answer.split(MESSAGE_ID).length - 1 === BATCH_MAX, 'a publish failed', answer);
        for (const number of numbers) ledger.confirm(number);
      }
    });
    await Promise.all(runs);
    return ledger.confirmed;
  });
  const drain = await phase('recv10+del10', job, async () => {
    const end = performance.now() + job.drainSecondsMax * 1000;
    const drains = queues.map(() => new Drain(ledger.confirmed, () => performance.now() < end));
    const runs = connections.map(async (connection, index) => {
      // Each begins with another queue, and helps with the others then.
      for (let i = 0; i < QUEUES; i++) {
        const at = (index + i) % QUEUES;
        const queue = queues[at];
        if (queue !== undefined) await drains[at]?.run(connection, queue, ledger);
      }
    });
    await Promise.all(runs);
    return ledger.received;
  });
  const drained = ledger.received >= ledger.confirmed * QUEUES;
  for (const { url } of queues) await first(connections).call('DeleteQueue', { QueueUrl: url });
  await first(connections).callSns({ Action: 'DeleteTopic', TopicArn: topicArn }, 'RequestId');
  for (const connection of connections) connection.close();
  return { phases: [publish, drain], counts: ledger.counts(), drained };
};

/** A queue that gets what is published, in the envelope of a notification. */
async function subscribed(
  connection: SqsConnection,
  topicArn: string,
  copy: number,
  label: string,
): Promise<SqsQueue> {
  const url = await connection.createQueue(`bench-${label}-${String(copy)}`);
  const { Attributes: attributes } = await connection.call<{ Attributes: { QueueArn: string } }>(
    'GetQueueAttributes',
    { QueueUrl: url, AttributeNames: ['QueueArn'] },
  );
  const subscription = await connection.callSns(
    { Action: 'Subscribe', TopicArn: topicArn, Protocol: 'sqs', Endpoint: attributes.QueueArn },
    'SubscriptionArn',
  );
  expect(subscription !== '', 'no subscription');
  return {
    url,
    copy,
    numberIn: (body) => {
      expect(body.length > BODY_BYTES, 'no envelope', body);
      // Behind the field's colon some put blanks.
      const at = body.indexOf('"', body.indexOf(MESSAGE_FIELD) + MESSAGE_FIELD.length) + 1;
      return readSequence(Buffer.from(body.slice(at, at + SEQUENCE_DIGITS), 'latin1'), 0);
    },
  };
}
