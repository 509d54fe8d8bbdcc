import { DeleteTopicCommand, ListTopicsCommand, SNSClient, type SNSClientConfig } from '@aws-sdk/client-sns';
import { DeleteQueueCommand, GetQueueUrlCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { PubSub } from '@google-cloud/pubsub';
import { connect } from 'amqplib';
import type { Endpoints } from './wire.js';

/** Deletes what the producers and consumers of one queue made, each by its own SDK. Tries everything; what fails is left. */
export async function cleanUp(endpoints: Endpoints, queue: string): Promise<void> {
  const settings = {
    endpoint: endpoints.aws,
    region: 'us-east-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  };
  await Promise.allSettled([
    deleteTopic(settings, queue),
    deletePubSub(queue),
    deleteAmqpQueue(endpoints, queue),
  ]);
  // Last: behind an alias only a protocol's own side goes, and the channel is the SQS queue's.
  await Promise.allSettled([deleteQueue(settings, queue)]);
}

type Settings = Pick<SQSClientConfig & SNSClientConfig, 'endpoint' | 'region' | 'credentials'>;

async function deleteTopic(settings: Settings, queue: string): Promise<void> {
  const sns = new SNSClient(settings);
  const { Topics = [] } = await sns.send(new ListTopicsCommand({}));
  for (const { TopicArn } of Topics) {
    if (TopicArn?.endsWith(`:${queue}`) === true) await sns.send(new DeleteTopicCommand({ TopicArn }));
  }
  sns.destroy();
}

async function deleteQueue(settings: Settings, queue: string): Promise<void> {
  const sqs = new SQSClient(settings);
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: queue }));
  await sqs.send(new DeleteQueueCommand({ QueueUrl }));
  sqs.destroy();
}

async function deletePubSub(queue: string): Promise<void> {
  const pubsub = new PubSub({ projectId: 'any-project' });
  await pubsub.subscription(queue).delete();
  await pubsub.topic(queue).delete();
  await pubsub.close();
}

async function deleteAmqpQueue(endpoints: Endpoints, queue: string): Promise<void> {
  const connection = await connect(endpoints.amqp);
  const channel = await connection.createChannel();
  await channel.deleteQueue(queue);
  await connection.close();
}
