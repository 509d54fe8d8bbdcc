import { describe, expect, it } from 'vitest';
import { SQS_OPERATIONS } from '../../../src/connectors/aws/sqs/operations.js';
import { STS_OPERATIONS } from '../../../src/connectors/aws/sts/operations.js';
import { arnOf, callSqs, on, queueArn, says, type Fields } from './aws-calls.js';
import { testCases, testComplete, useRuledServer, type PolicyCase, type Right } from './policy-cases.js';

const server = useRuledServer();
const sqs = (operation: string, input: Fields): Promise<Fields> =>
  callSqs(server().running, operation, input);

async function make(QueueName: string, Attributes: Fields = {}): Promise<void> {
  await sqs('CreateQueue', { QueueName, Attributes });
}

async function receive(QueueUrl: string): Promise<string> {
  await sqs('SendMessage', { QueueUrl, MessageBody: 'x' });
  const { Messages } = await sqs('ReceiveMessage', { QueueUrl });
  return String((Messages as readonly Fields[])[0]?.['ReceiptHandle']);
}

function sqsRow(operation: string, access: Right['access'], more: Fields = {}): PolicyCase {
  const QueueUrl = operation;
  return {
    operation,
    needs: [on(`sqs.${QueueUrl}`, access)],
    prepare: () => make(QueueUrl),
    run: () => sqs(operation, { QueueUrl, ...more }),
  };
}

/** The same about a message that was received. */
function receiptRow(operation: string, input: (ReceiptHandle: string) => Fields): PolicyCase {
  const QueueUrl = operation;
  let handle = '';
  return {
    operation,
    needs: [on(`sqs.${QueueUrl}`, 'Read')],
    prepare: async () => {
      await make(QueueUrl);
      handle = await receive(QueueUrl);
    },
    run: () => sqs(operation, { QueueUrl, ...input(handle) }),
  };
}

const permission = { Label: 'l', AWSAccountIds: ['111111111111'], Actions: ['SendMessage'] };
const entries = [{ Id: 'a', MessageBody: 'x' }];
const redrive = (name: string): string =>
  JSON.stringify({ deadLetterTargetArn: queueArn(name), maxReceiveCount: 2 });
/** A dead-letter queue with messages in it, whose source is another. */
async function deadLetters(name: string): Promise<void> {
  await make(name);
  await make(`${name}-source`, { RedrivePolicy: redrive(name) });
  await make(`${name}-elsewhere`);
  for (let i = 0; i < 5; i++) await sqs('SendMessage', { QueueUrl: name, MessageBody: 'x' });
}
let taskHandle = '';

const SQS: readonly PolicyCase[] = [
  sqsRow('AddPermission', 'Write', permission),
  {
    operation: 'CancelMessageMoveTask',
    needs: [on('sqs.CancelTask', 'Write')],
    prepare: async () => {
      await deadLetters('CancelTask');
      const input = { SourceArn: queueArn('CancelTask'), MaxNumberOfMessagesPerSecond: 1 };
      const running = await sqs('ListMessageMoveTasks', { SourceArn: queueArn('CancelTask') });
      const [task] = (running['Results'] ?? []) as readonly Fields[];
      taskHandle =
        task?.['Status'] === 'RUNNING'
          ? String(task['TaskHandle'])
          : String((await sqs('StartMessageMoveTask', input))['TaskHandle']);
    },
    run: () => sqs('CancelMessageMoveTask', { TaskHandle: taskHandle }),
  },
  receiptRow('ChangeMessageVisibility', (ReceiptHandle) => ({ ReceiptHandle, VisibilityTimeout: 0 })),
  receiptRow('ChangeMessageVisibilityBatch', (ReceiptHandle) => ({
    Entries: [{ Id: 'a', ReceiptHandle, VisibilityTimeout: 0 }],
  })),
  {
    operation: 'CreateQueue',
    needs: [on('sqs.CreateQueue', 'Write')],
    prepare: async () => {
      await sqs('DeleteQueue', { QueueUrl: 'CreateQueue' }).catch(() => undefined);
    },
    run: () => sqs('CreateQueue', { QueueName: 'CreateQueue' }),
  },
  {
    operation: 'CreateQueue',
    what: 'that is there',
    needs: [on('sqs.Present', 'Sight')],
    prepare: () => make('Present'),
    run: () => sqs('CreateQueue', { QueueName: 'Present' }),
  },
  {
    operation: 'CreateQueue',
    what: 'with a dead-letter queue',
    needs: [on('sqs.Redriven', 'Write'), on('sqs.Letters', 'Write')],
    prepare: async () => {
      await make('Letters');
      await sqs('DeleteQueue', { QueueUrl: 'Redriven' }).catch(() => undefined);
    },
    run: () =>
      sqs('CreateQueue', { QueueName: 'Redriven', Attributes: { RedrivePolicy: redrive('Letters') } }),
  },
  receiptRow('DeleteMessage', (ReceiptHandle) => ({ ReceiptHandle })),
  receiptRow('DeleteMessageBatch', (ReceiptHandle) => ({ Entries: [{ Id: 'a', ReceiptHandle }] })),
  sqsRow('DeleteQueue', 'Write'),
  sqsRow('GetQueueAttributes', 'Sight', { AttributeNames: ['All'] }),
  {
    operation: 'GetQueueUrl',
    needs: [on('sqs.GetQueueUrl', 'Sight')],
    prepare: () => make('GetQueueUrl'),
    run: () => sqs('GetQueueUrl', { QueueName: 'GetQueueUrl' }),
  },
  sqsRow('ListDeadLetterSourceQueues', 'Sight'),
  {
    operation: 'ListMessageMoveTasks',
    needs: [on('sqs.Moved', 'Sight')],
    prepare: () => deadLetters('Moved'),
    run: () => sqs('ListMessageMoveTasks', { SourceArn: queueArn('Moved') }),
  },
  sqsRow('ListQueueTags', 'Sight'),
  { operation: 'ListQueues', needs: [], run: () => sqs('ListQueues', {}) },
  {
    ...sqsRow('PurgeQueue', 'Read'),
    // One purge of a queue in a minute.
    prepare: async () => {
      await sqs('DeleteQueue', { QueueUrl: 'PurgeQueue' }).catch(() => undefined);
      await make('PurgeQueue');
    },
  },
  sqsRow('ReceiveMessage', 'Read'),
  {
    ...sqsRow('RemovePermission', 'Write', { Label: 'l' }),
    prepare: async () => {
      await make('RemovePermission');
      await sqs('AddPermission', { QueueUrl: 'RemovePermission', ...permission }).catch(() => undefined);
    },
  },
  sqsRow('SendMessage', 'Write', { MessageBody: 'x' }),
  sqsRow('SendMessageBatch', 'Write', { Entries: entries }),
  sqsRow('SetQueueAttributes', 'Write', { Attributes: { VisibilityTimeout: '5' } }),
  {
    operation: 'SetQueueAttributes',
    what: 'a dead-letter queue',
    needs: [on('sqs.SetRedrive', 'Write'), on('sqs.Letters', 'Write')],
    prepare: async () => {
      await make('Letters');
      await make('SetRedrive');
    },
    run: () =>
      sqs('SetQueueAttributes', {
        QueueUrl: 'SetRedrive',
        Attributes: { RedrivePolicy: redrive('Letters') },
      }),
  },
  {
    operation: 'StartMessageMoveTask',
    needs: [on('sqs.Started', 'Read'), on('sqs.Started', 'Write'), on('sqs.Started-elsewhere', 'Write')],
    prepare: async () => {
      await sqs('DeleteQueue', { QueueUrl: 'Started' }).catch(() => undefined);
      await deadLetters('Started');
    },
    run: () =>
      sqs('StartMessageMoveTask', {
        SourceArn: queueArn('Started'),
        DestinationArn: queueArn('Started-elsewhere'),
      }),
  },
  sqsRow('TagQueue', 'Write', { Tags: { a: 'b' } }),
  sqsRow('UntagQueue', 'Write', { TagKeys: ['a'] }),
];

describe('SQS', () => {
  testComplete(SQS, SQS_OPERATIONS.keys());
  testCases(server, SQS, (operation, missing) => ({
    status: 403,
    code: 'com.amazon.coral.service#AccessDeniedException',
    message: says(`sqs:${operation.toLowerCase()}`, arnOf(missing)),
  }));

  it('lists leave out what a client has no right to', async () => {
    server().allowAll();
    await deadLetters('listed');
    await make('listed-secret', { RedrivePolicy: redrive('listed') });
    server().allow([on('sqs.listed', 'Write'), on('sqs.listed-source', 'Read')]);
    const urls = (list: unknown): readonly string[] =>
      (list as readonly string[]).map((url) => url.slice(url.lastIndexOf('/') + 1)).sort();
    expect(urls((await sqs('ListQueues', {}))['QueueUrls'])).toEqual(['listed', 'listed-source']);
    const sources = await sqs('ListDeadLetterSourceQueues', { QueueUrl: 'listed' });
    expect(urls(sources['queueUrls'])).toEqual(['listed-source']);
  });
});

describe('STS', () => {
  it('tells everybody who they are', async () => {
    expect([...STS_OPERATIONS.keys()]).toEqual(['GetCallerIdentity']);
  });
});
