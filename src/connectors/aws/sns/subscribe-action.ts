import { BrokerError } from '../../../core/errors.js';
import { SNS_FAULTS, invalidSnsParameter } from '../errors.js';
import { optionalText, textMapOf } from '../input.js';
import type { Input } from '../input.js';
import { FIFO_SUFFIX, queueNameOfArn, topicArn } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { entryMap, scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { checkSubscriptionAttribute } from './subscription-attributes.js';
import { SUBSCRIPTION_KIND, TOPIC_KIND } from './topic-registry.js';
import type { SubscriptionRecord } from './topic-registry.js';

/** Tries against concurrent writers before the client is told to try itself. */
const ATTEMPTS_MAX = 5;

const PROTOCOLS: ReadonlySet<string> = new Set([
  'http',
  'https',
  'email',
  'email-json',
  'sms',
  'sqs',
  'application',
  'lambda',
  'firehose',
]);

/** Subscribe: a queue to a topic, confirmed at once. Topic, protocol and endpoint make a subscription unique. */
export const subscribe = operation({
  name: 'Subscribe',
  input: structure({
    TopicArn: scalar,
    Protocol: scalar,
    Endpoint: scalar,
    Attributes: entryMap(),
    ReturnSubscriptionArn: scalar,
  }),
  output: structure({ SubscriptionArn: scalar }),
  async run(call) {
    const { input, services } = call;
    const protocol = readProtocol(input);
    const endpoint = readEndpoint(input);
    const attributes: Record<string, string> = {};
    for (const [name, value] of textMapOf(input, 'Attributes')) {
      attributes[name] = checkSubscriptionAttribute(name, value, 'Attributes Reason: ');
    }
    const asked = { protocol, endpoint, attributes };
    for (let attempt = 1; ; attempt++) {
      try {
        return { SubscriptionArn: topicArn(services.config, await subscribeOnce(call, asked)) };
      } catch (error) {
        const { kind } = BrokerError.from(error);
        if ((kind !== 'precondition' && kind !== 'not-found') || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  },
});

type Asked = Pick<SubscriptionRecord, 'protocol' | 'endpoint' | 'attributes'>;

/** Makes the subscription unless it is there, and gives its key. Throws `precondition` when another writer came first. */
async function subscribeOnce(call: Call, asked: Asked): Promise<string> {
  const { broker, clock, ids } = call.services;
  const topic = topicOf(call, call.input);
  const known = existing(call, topic.name, asked);
  if (known !== undefined) return known;
  const key = `${topic.name}:${ids.uuid()}`;
  const record: SubscriptionRecord = {
    topic: topic.name,
    createdAt: Math.floor(clock.now() / 1000),
    ...asked,
  };
  await broker.change([
    // Writing the topic back as it is makes the step fail when the topic goes, or another subscriber comes, meanwhile.
    { do: 'put', kind: TOPIC_KIND, key: topic.name, value: topic.record, expected: topic.version },
    { do: 'put', kind: SUBSCRIPTION_KIND, key, value: record, expected: 0 },
  ]);
  return key;
}

/** The key of the subscription that is there already. Throws InvalidParameter when its attributes differ. */
function existing(call: Call, topic: string, asked: Asked): string | undefined {
  for (const { key, record } of call.services.topics.subscriptionsOf(topic)) {
    if (record.protocol !== asked.protocol || record.endpoint !== asked.endpoint) continue;
    const raw = record.attributes['RawMessageDelivery'] ?? 'false';
    if ((asked.attributes['RawMessageDelivery'] ?? raw) !== raw) {
      throw invalidSnsParameter('Attributes Reason: Subscription already exists with different attributes');
    }
    return key;
  }
  return undefined;
}

function readProtocol(input: Input): string {
  const protocol = optionalText(input, 'Protocol') ?? '';
  if (!PROTOCOLS.has(protocol)) {
    throw invalidSnsParameter(`Amazon SNS does not support this protocol string: ${protocol.slice(0, 100)}`);
  }
  if (protocol !== 'sqs') {
    throw invalidSnsParameter(`Protocol Reason: this endpoint does not deliver to ${protocol}`);
  }
  return protocol;
}

function readEndpoint(input: Input): string {
  const endpoint = optionalText(input, 'Endpoint') ?? '';
  const queue = queueNameOfArn(endpoint);
  if (queue === undefined) throw invalidSnsParameter('SQS endpoint ARN');
  if (queue.endsWith(FIFO_SUFFIX)) {
    throw new AwsFault(
      SNS_FAULTS.invalidParameter,
      'Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics',
    );
  }
  return endpoint;
}
