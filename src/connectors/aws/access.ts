import type { Access, AccessDenied } from '../../core/access/resource.js';
import type { Client } from '../../core/access/gatekeeper.js';
import type { ChannelName } from '../../core/channel-name.js';
import type { AwsConfig } from './config.js';
import { FAULT_OF_KIND, type Service } from './errors.js';
import type { Input } from './input.js';
import { queueArn, queueNameOfArn, queueNameOfUrl, SQS_PREFIX, topicArn } from './names.js';
import { AwsFault } from './wire/fault.js';

/** `sight`: any right to it will do. `open`: it names nothing, shows nothing, or filters what it shows. */
type Needed = Access | 'sight' | 'open';

/** What each operation needs on its queue or topic. An operation that is not here needs everything: `write`. */
const SQS_NEEDS: Readonly<Record<string, Needed>> = {
  ChangeMessageVisibility: 'read',
  ChangeMessageVisibilityBatch: 'read',
  // Creating needs `write`, which the broker asks for; finding out that it is there does not.
  CreateQueue: 'sight',
  DeleteMessage: 'read',
  DeleteMessageBatch: 'read',
  GetQueueAttributes: 'sight',
  GetQueueUrl: 'sight',
  ListDeadLetterSourceQueues: 'sight',
  ListMessageMoveTasks: 'sight',
  ListQueueTags: 'sight',
  ListQueues: 'open',
  PurgeQueue: 'read',
  ReceiveMessage: 'read',
};

const SNS_NEEDS: Readonly<Record<string, Needed>> = {
  // The token in it was sent to the endpoint alone.
  ConfirmSubscription: 'open',
  GetDataProtectionPolicy: 'sight',
  GetSubscriptionAttributes: 'sight',
  GetTopicAttributes: 'sight',
  ListSubscriptions: 'open',
  ListSubscriptionsByTopic: 'sight',
  ListTagsForResource: 'sight',
  ListTopics: 'open',
  SetSubscriptionAttributes: 'read',
  Subscribe: 'read',
  // Deliveries carry a link that ends the subscription; where a signature is wanted, the operation asks for it.
  Unsubscribe: 'open',
};

/** The name under which rules are about a topic, which has no channel of its own. */
export function topicResource(name: string): ChannelName {
  return `sns.${name}` as ChannelName;
}

/** What a call is for. */
export interface Asked {
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly path: string;
}

/** Throws AccessDenied unless the client may do what it asks for. Parameters that are no good are left to the operation. */
export function requireAccess(client: Client, asked: Asked): void {
  if (asked.service === 'sqs') requireSqs(client, asked);
  else if (asked.service === 'sns') requireSns(client, asked);
}

function requireSqs(client: Client, { operation, input, path }: Asked): void {
  const arn = (parameter: string): string | undefined => queueNameOfArn(text(input, parameter));
  if (operation === 'StartMessageMoveTask') {
    requireQueue(client, 'read', arn('SourceArn'));
    requireQueue(client, 'write', arn('SourceArn'));
    requireQueue(client, 'write', arn('DestinationArn'));
    return;
  }
  const name =
    operation === 'CreateQueue' || operation === 'GetQueueUrl'
      ? text(input, 'QueueName')
      : (arn('SourceArn') ??
        sourceOfTask(text(input, 'TaskHandle')) ??
        queueNameOfUrl(text(input, 'QueueUrl') || path));
  requireQueue(client, SQS_NEEDS[operation] ?? 'write', name);
}

function requireSns(client: Client, { operation, input }: Asked): void {
  const needed = SNS_NEEDS[operation] ?? 'write';
  if (needed === 'open') return;
  const arn = ['TopicArn', 'TargetArn', 'ResourceArn', 'SubscriptionArn']
    .map((name) => text(input, name))
    .find((found) => found !== '');
  const [topic = ''] = arn === undefined ? [text(input, 'Name')] : arn.split(':').slice(5);
  requireOne(client, needed, topicResource(topic));
  if (operation !== 'Subscribe' && operation !== 'SetSubscriptionAttributes') return;
  // Where a topic's messages go, its subscriber must be allowed to write: nobody is asked again when they are published.
  requireQueue(client, 'write', queueNameOfArn(text(input, 'Endpoint')));
  const attributes = input['Attributes'];
  const policy =
    typeof attributes === 'object' && attributes !== null
      ? (attributes as Input)['RedrivePolicy']
      : text(input, 'AttributeName') === 'RedrivePolicy'
        ? input['AttributeValue']
        : undefined;
  const target = typeof policy === 'string' ? jsonMap(policy)?.['deadLetterTargetArn'] : undefined;
  requireQueue(client, 'write', typeof target === 'string' ? queueNameOfArn(target) : undefined);
}

function requireQueue(client: Client, needed: Needed, name: string | undefined): void {
  if (name === undefined || name === '') return;
  requireOne(client, needed, (SQS_PREFIX + name) as ChannelName);
}

function requireOne(client: Client, needed: Needed, channel: ChannelName): void {
  if (needed === 'open') return;
  if (needed !== 'sight') client.require('queue', needed, channel);
  else if (!client.sees('queue', channel)) client.require('queue', 'read', channel);
}

function text(input: Input, name: string): string {
  const value = input[name];
  return typeof value === 'string' ? value : '';
}

function jsonMap(json: string): Input | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Input) : undefined;
  } catch {
    return undefined;
  }
}

/** The queue a move task's handle is about (see `sqs/move-task-handle.ts`). */
function sourceOfTask(handle: string): string | undefined {
  if (handle === '') return undefined;
  const arn = jsonMap(Buffer.from(handle, 'base64').toString('utf8'))?.['sourceArn'];
  return typeof arn === 'string' ? queueNameOfArn(arn) : undefined;
}

/** The refusal in IAM's words. */
export function accessFault(
  denied: AccessDenied,
  { service, operation }: Pick<Asked, 'service' | 'operation'>,
  config: AwsConfig,
): AwsFault {
  const { channel } = denied.requirement;
  const resource = channel.startsWith(SQS_PREFIX)
    ? queueArn(config, channel.slice(SQS_PREFIX.length))
    : topicArn(config, channel.replace(/^sns\./, ''));
  // SQS writes actions in lower case, SNS the service in capitals.
  const action = service === 'sns' ? `SNS:${operation}` : `${service}:${operation.toLowerCase()}`;
  const user = `arn:aws:iam::${config.accountId}:user/${denied.clientId}`;
  return new AwsFault(
    FAULT_OF_KIND[service].forbidden,
    `User: ${user} is not authorized to perform: ${action} on resource: ${resource} because no identity-based policy ` +
      `allows the ${action} action`,
  );
}
