import { CreateTopicCommand, PublishCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  type Message as SqsMessage,
} from '@aws-sdk/client-sqs';
import type { Consumer, Endpoints, Message, Producer, Received } from './wire.js';

function settings(endpoints: Endpoints) {
  return {
    endpoint: endpoints.aws,
    region: 'us-east-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  };
}

async function createQueue(sqs: SQSClient, queue: string): Promise<string> {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: queue }));
  return QueueUrl ?? '';
}

function attributes({ attribute }: Message) {
  return { [attribute.name]: { DataType: 'String', StringValue: attribute.value } };
}

export async function sqsProducer(endpoints: Endpoints, queue: string): Promise<Producer> {
  const sqs = new SQSClient(settings(endpoints));
  const QueueUrl = await createQueue(sqs, queue);
  return {
    name: 'SQS',
    takesBytes: false,
    send: async (message) => {
      const MessageBody = message.body.toString();
      await sqs.send(
        new SendMessageCommand({ QueueUrl, MessageBody, MessageAttributes: attributes(message) }),
      );
    },
    close: async () => sqs.destroy(),
  };
}

/** A topic whose one subscription is the queue, with raw delivery. */
export async function snsProducer(endpoints: Endpoints, queue: string): Promise<Producer> {
  const sqs = new SQSClient(settings(endpoints));
  const sns = new SNSClient(settings(endpoints));
  const QueueUrl = await createQueue(sqs, queue);
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: queue }));
  await sns.send(
    new SubscribeCommand({
      TopicArn,
      Protocol: 'sqs',
      Endpoint: Attributes?.['QueueArn'],
      Attributes: { RawMessageDelivery: 'true' },
    }),
  );
  return {
    name: 'SNS',
    takesBytes: false,
    send: async (message) => {
      const Message = message.body.toString();
      await sns.send(new PublishCommand({ TopicArn, Message, MessageAttributes: attributes(message) }));
    },
    close: async () => {
      sqs.destroy();
      sns.destroy();
    },
  };
}

export async function sqsConsumer(endpoints: Endpoints, queue: string): Promise<Consumer> {
  const sqs = new SQSClient(settings(endpoints));
  const QueueUrl = await createQueue(sqs, queue);
  return {
    name: 'SQS',
    receive: async () => {
      for (;;) {
        const { Messages = [] } = await sqs.send(
          new ReceiveMessageCommand({
            QueueUrl,
            MaxNumberOfMessages: 1,
            WaitTimeSeconds: 5,
            MessageSystemAttributeNames: ['All'],
            MessageAttributeNames: ['All'],
          }),
        );
        if (Messages[0] !== undefined) return received(sqs, QueueUrl, Messages[0]);
      }
    },
    close: async () => sqs.destroy(),
  };
}

function received(sqs: SQSClient, QueueUrl: string, message: SqsMessage): Received {
  const { ReceiptHandle, Body = '' } = message;
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(message.MessageAttributes ?? {})) {
    found.set(name, value.StringValue ?? '');
  }
  const wasBase64 = found.get('polymq.encoding') === 'base64';
  found.delete('polymq.encoding');
  const count = Number(message.Attributes?.ApproximateReceiveCount);
  return {
    body: Buffer.from(Body, wasBase64 ? 'base64' : 'utf8'),
    wasBase64,
    attributes: found,
    metadata: undefined,
    id: message.MessageId ?? '',
    receiveCount: count,
    isRedelivered: count > 1,
    accept: async () => {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    },
    giveBack: async () => {
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    },
  };
}
