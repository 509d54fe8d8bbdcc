import { BrokerError } from '../../../core/errors.js';
import type { Change } from '../../../core/registry/types.js';
import { invalidSnsParameter } from '../errors.js';
import { optionalText, textMapOf } from '../input.js';
import type { Input } from '../input.js';
import { deliveryChannel, FIFO_SUFFIX, queueNameOfArn, topicArn } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { DELIVERY_QUEUE } from '../webhooks/delivery-queue.js';
import { entryMap, scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { checkFilterCount } from './filter-limits.js';
import { replayChanges } from './replay-progress.js';
import { isWebhook } from './subscription.js';
import type { Subscription, SubscriptionRecord } from './subscription.js';
import { readSubscriptionAttributes } from './subscription-attributes.js';
import { newToken, tokenChange } from './tokens.js';
import { checkSubscriptionCount } from './topic-limits.js';
import { SUBSCRIPTION_KIND, TOPIC_KIND } from './topic-registry.js';
import type { Topic } from './topic-registry.js';

/** Tries against concurrent writers before the client is told to try itself. */
const ATTEMPTS_MAX = 5;
const ENDPOINT_CHARS_MAX = 2_048;
const PENDING = 'pending confirmation';

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

/**
 * Subscribe: a queue, confirmed at once, or an http or https endpoint, which is asked to confirm. Topic, protocol and
 * endpoint make a subscription unique; subscribing again while it is pending asks again.
 */
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
    const { fifo, archives } = topicOf(call, input);
    const protocol = readProtocol(input, fifo);
    const endpoint = readEndpoint(call, protocol, fifo);
    const attributes = readSubscriptionAttributes(textMapOf(input, 'Attributes'), {
      topicFifo: fifo,
      protocol,
      endpoint,
      archived: archives,
      now: services.clock.now(),
    });
    if (isWebhook(protocol)) await services.signing.ready();
    for (let attempt = 1; ; attempt++) {
      try {
        const { key, record } = await subscribeOnce(call, { protocol, endpoint, attributes });
        const arn = topicArn(services.config, key);
        if (record.pendingToken === undefined) return { SubscriptionArn: arn };
        await services.webhooks.askToConfirm(record, { token: record.pendingToken });
        const wanted = optionalText(input, 'ReturnSubscriptionArn')?.toLowerCase() === 'true';
        return { SubscriptionArn: wanted ? arn : PENDING };
      } catch (error) {
        const { kind } = BrokerError.from(error);
        if ((kind !== 'precondition' && kind !== 'not-found') || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  },
});

type Asked = Pick<SubscriptionRecord, 'protocol' | 'endpoint' | 'attributes'>;

/** Makes the subscription unless it is there. Throws `precondition` when another writer came first. */
async function subscribeOnce(call: Call, asked: Asked): Promise<Pick<Subscription, 'key' | 'record'>> {
  const { broker, clock, ids, topics } = call.services;
  const topic = topicOf(call, call.input);
  const known = existing(call, topic.name, asked);
  if (known !== undefined) return known;
  checkSubscriptionCount(topics, topic);
  if (asked.attributes['FilterPolicy'] !== undefined) checkFilterCount(topics, topic.name);
  const replays = asked.attributes['ReplayPolicy'] !== undefined;
  if (replays) call.services.replays.checkRoom();
  const key = `${topic.name}:${ids.uuid()}`;
  const now = clock.now();
  const pendingToken = isWebhook(asked.protocol) ? newToken(ids) : undefined;
  const record: SubscriptionRecord = {
    topic: topic.name,
    createdAt: Math.floor(now / 1000),
    ...asked,
    origin: call.origin,
    pendingToken,
    ...(replays && { replay: { id: ids.uuid(), status: 'Pending' } }),
  };
  const changes: Change[] = [
    // Writing the topic back as it is makes the step fail when the topic goes, or another subscriber comes, meanwhile.
    rewritten(topic),
    { do: 'put', kind: SUBSCRIPTION_KIND, key, value: record, expected: 0 },
  ];
  if (replays) changes.push(...replayChanges(key, true));
  if (pendingToken !== undefined) {
    changes.push(
      { do: 'create-queue', channel: deliveryChannel(key), settings: DELIVERY_QUEUE },
      tokenChange(pendingToken, { subscription: key, createdAt: now }),
    );
  }
  await broker.change(changes);
  return { key, record };
}

function rewritten({ name, record, version }: Topic): Change {
  return { do: 'put', kind: TOPIC_KIND, key: name, value: record, expected: version };
}

/** What a subscription has that was told nothing else. */
const DEFAULTS: Readonly<Record<string, string>> = {
  RawMessageDelivery: 'false',
  FilterPolicyScope: 'MessageAttributes',
};

/** The subscription that is there already. Throws InvalidParameter when its attributes differ. */
function existing(call: Call, topic: string, asked: Asked): Subscription | undefined {
  for (const subscription of call.services.topics.subscriptionsOf(topic)) {
    const { record } = subscription;
    if (record.protocol !== asked.protocol || record.endpoint !== asked.endpoint) continue;
    for (const [name, value] of Object.entries(asked.attributes)) {
      const mine = record.attributes[name] ?? DEFAULTS[name];
      if (mine !== value) {
        throw invalidSnsParameter('Attributes Reason: Subscription already exists with different attributes');
      }
    }
    return subscription;
  }
  return undefined;
}

function readProtocol(input: Input, fifo: boolean): string {
  const protocol = optionalText(input, 'Protocol') ?? '';
  if (!PROTOCOLS.has(protocol)) {
    throw invalidSnsParameter(`Amazon SNS does not support this protocol string: ${protocol.slice(0, 100)}`);
  }
  if (protocol === 'sqs') return protocol;
  if (fifo) {
    throw invalidSnsParameter(
      `Invalid protocol type: ${protocol}. FIFO topics deliver to Amazon SQS queues only`,
    );
  }
  if (!isWebhook(protocol)) {
    throw invalidSnsParameter(`Protocol Reason: this endpoint does not deliver to ${protocol}`);
  }
  return protocol;
}

function readEndpoint(call: Call, protocol: string, fifo: boolean): string {
  const endpoint = optionalText(call.input, 'Endpoint') ?? '';
  if (isWebhook(protocol)) {
    checkUrl(call, endpoint, protocol);
    return endpoint;
  }
  const queue = queueNameOfArn(endpoint);
  if (queue === undefined) throw invalidSnsParameter('SQS endpoint ARN');
  if (queue.endsWith(FIFO_SUFFIX) && !fifo) {
    throw invalidSnsParameter(
      'Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics',
    );
  }
  return endpoint;
}

function checkUrl(call: Call, endpoint: string, protocol: string): void {
  if (!endpoint.startsWith(`${protocol}://`)) {
    throw invalidSnsParameter('Endpoint must match the specified protocol');
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || url.hostname === '' || endpoint.length > ENDPOINT_CHARS_MAX) {
    throw invalidSnsParameter('Endpoint Reason: not a URL that can be posted to');
  }
  const fault = call.services.webhooks.endpointFault(url);
  if (fault !== undefined) throw invalidSnsParameter(`Endpoint Reason: ${fault}`);
}
