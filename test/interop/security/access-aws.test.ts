import {
  CreateTopicCommand,
  ListTopicsCommand,
  PublishCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { denied, useSecuredServer } from './secured-server.js';

const server = useSecuredServer();

describe('SQS and SNS', () => {
  const clients: { destroy(): void }[] = [];
  afterAll(() => clients.forEach((client) => client.destroy()));

  function aws(accessKeyId: string): { readonly sqs: SQSClient; readonly sns: SNSClient } {
    const { port } = server().running.address('aws');
    const options = {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      credentials: { accessKeyId, secretAccessKey: 'secret' },
      maxAttempts: 1,
    };
    const made = { sqs: new SQSClient(options), sns: new SNSClient(options) };
    clients.push(made.sqs, made.sns);
    return made;
  }

  it('the access key is the ClientID: its own queues work, others are AccessDenied', async () => {
    const { sqs } = aws('alice');
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' }));
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: Messages?.[0]?.ReceiptHandle }));

    await aws('root').sqs.send(new CreateQueueCommand({ QueueName: 'reports' }));
    expect(await denied(sqs.send(new CreateQueueCommand({ QueueName: 'reports' })))).toMatchObject({
      name: 'AccessDenied',
      message:
        'User: arn:aws:iam::000000000000:user/alice is not authorized to perform: sqs:createqueue on resource: ' +
        'arn:aws:sqs:kubemq:000000000000:reports because no identity-based policy allows the sqs:createqueue action',
    });
    expect((await denied(sqs.send(new GetQueueUrlCommand({ QueueName: 'reports' })))).name).toBe(
      'AccessDenied',
    );
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls).toEqual([QueueUrl]);
  });

  it('who may only read cannot send, nor make anything', async () => {
    await aws('root').sqs.send(new CreateQueueCommand({ QueueName: 'reports' }));
    const { sqs } = aws('bob-1');
    const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: 'reports' }));
    await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    const Entries = [{ Id: 'a', MessageBody: 'x' }];
    for (const call of [
      sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' })),
      sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries })),
      sqs.send(new CreateQueueCommand({ QueueName: 'more-reports' })),
    ]) {
      expect((await denied(call)).name).toBe('AccessDenied');
    }
  });

  it('topics are resources named sns.{topic}, and a subscription must be allowed to write its queue', async () => {
    const root = aws('root');
    const { sqs, sns } = aws('alice');
    await root.sqs.send(new CreateQueueCommand({ QueueName: 'reports' }));
    await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
    const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: 'orders' }));
    await sns.send(
      new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: 'arn:aws:sqs:kubemq:000000000000:orders' }),
    );
    await sns.send(new PublishCommand({ TopicArn, Message: 'x' }));
    const toReports = { TopicArn, Protocol: 'sqs', Endpoint: 'arn:aws:sqs:kubemq:000000000000:reports' };
    expect((await denied(sns.send(new SubscribeCommand(toReports)))).name).toBe(
      'AuthorizationErrorException',
    );
    // Root subscribed it: then publishing goes there without the publisher's right.
    await root.sns.send(new SubscribeCommand(toReports));
    const before = server().running.broker.queueStats('sqs.reports' as ChannelName)?.ready ?? 0;
    await sns.send(new PublishCommand({ TopicArn, Message: 'y' }));
    expect(server().running.broker.queueStats('sqs.reports' as ChannelName)?.ready).toBe(before + 1);

    // The link in a delivery was sent to its reader alone: it needs neither a signature nor a right.
    const got = await root.sqs.send(new ReceiveMessageCommand({ QueueUrl: 'reports' }));
    const { UnsubscribeURL } = JSON.parse(got.Messages?.[0]?.Body ?? '{}') as { UnsubscribeURL: string };
    expect((await fetch(UnsubscribeURL)).status).toBe(200);
    await sns.send(new PublishCommand({ TopicArn, Message: 'z' }));
    expect(server().running.broker.queueStats('sqs.reports' as ChannelName)?.ready).toBe(before);

    const bob = aws('bob-1').sns;
    expect(await denied(bob.send(new PublishCommand({ TopicArn, Message: 'x' })))).toMatchObject({
      name: 'AuthorizationErrorException',
      message: expect.stringContaining(
        'not authorized to perform: SNS:Publish on resource: arn:aws:sns:kubemq:000000000000:orders',
      ),
    });
    expect((await bob.send(new ListTopicsCommand({}))).Topics ?? []).toEqual([]);
  });
});
