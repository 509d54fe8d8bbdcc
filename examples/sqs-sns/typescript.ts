// SQS and SNS with Amazon's own SDK: only the endpoint differs. Run: npx tsx examples/sqs-sns/typescript.ts
import { CreateTopicCommand, PublishCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';

const options = {
  endpoint: process.env['AWS_ENDPOINT_URL'] ?? 'http://127.0.0.1:4566',
  region: 'us-east-1',
  // Any pair will do, unless the broker was given credentials.
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
};
const sqs = new SQSClient(options);
const sns = new SNSClient(options);

const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'example-ts' }));
const { Attributes } = await sqs.send(
  new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
);
const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: 'example-ts' }));
await sns.send(
  new SubscribeCommand({
    TopicArn,
    Protocol: 'sqs',
    Endpoint: Attributes?.['QueueArn'],
    Attributes: { RawMessageDelivery: 'true' },
  }),
);
await sns.send(new PublishCommand({ TopicArn, Message: 'hello from TypeScript' }));

const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 }));
for (const message of Messages) {
  console.log('received:', message.Body);
  // Deleting says that it was dealt with; else it comes again after the visibility timeout.
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
}
