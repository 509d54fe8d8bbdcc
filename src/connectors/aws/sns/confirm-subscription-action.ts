import { BrokerError } from '../../../core/errors.js';
import type { Change } from '../../../core/registry/types.js';
import { invalidSnsParameter, SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import type { Input } from '../input.js';
import { deliveryChannel, topicArn } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { DELIVERY_QUEUE } from '../webhooks/delivery-queue.js';
import { AwsFault } from '../wire/fault.js';
import { scalars } from '../wire/shape.js';
import type { SubscriptionRecord } from './subscription.js';
import { findToken, isTokenForm } from './tokens.js';
import type { TokenRecord } from './tokens.js';
import { SUBSCRIPTION_KIND } from './topic-registry.js';

/** Tries against concurrent writers before the client is told to try itself. */
const ATTEMPTS_MAX = 5;

/**
 * ConfirmSubscription: by whoever has the token, signed or not; confirming again is fine. The token of an ended
 * subscription brings it back.
 */
export const confirmSubscription = operation({
  name: 'ConfirmSubscription',
  input: scalars('TopicArn', 'Token', 'AuthenticateOnUnsubscribe'),
  output: scalars('SubscriptionArn'),
  allowsUnsigned: (input) => !wantsAuthentication(input),
  async run(call) {
    const { input, services } = call;
    const authenticate = wantsAuthentication(input);
    if (authenticate && !call.signed) {
      throw new AwsFault(
        SNS_FAULTS.authorizationError,
        'AuthenticateOnUnsubscribe needs a request that is signed',
      );
    }
    const token = optionalText(input, 'Token') ?? '';
    const topic = topicNameOf(optionalText(input, 'TopicArn') ?? '');
    for (let attempt = 1; ; attempt++) {
      const found = findToken(services.broker, token, services.clock.now());
      if (found === undefined) {
        if (isTokenForm(token)) throw invalidSnsParameter('Token');
        throw new AwsFault(SNS_FAULTS.invalidParameter, 'Invalid token');
      }
      const key = found.subscription;
      if (key.slice(0, key.lastIndexOf(':')) !== topic) throw invalidSnsParameter('Topic');
      const changes = changesOf(call, found, authenticate);
      try {
        if (changes.length > 0) await services.broker.change(changes);
        return { SubscriptionArn: topicArn(services.config, key) };
      } catch (error) {
        const { kind } = BrokerError.from(error);
        if ((kind !== 'precondition' && kind !== 'already-exists') || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  },
});

function changesOf(call: Call, found: TokenRecord, authenticate: boolean): readonly Change[] {
  const { topics } = call.services;
  const key = found.subscription;
  const confirmed = (record: SubscriptionRecord): SubscriptionRecord => ({
    ...record,
    pendingToken: undefined,
    confirmedSigned: call.signed,
    ...(authenticate && { authenticateOnUnsubscribe: true }),
  });
  const subscription = topics.findSubscription(key);
  if (subscription !== undefined) {
    if (subscription.confirmed) return [];
    const value = confirmed(subscription.record);
    return [{ do: 'put', kind: SUBSCRIPTION_KIND, key, value, expected: subscription.version }];
  }
  if (found.ended === undefined || topics.find(found.ended.topic) === undefined) {
    throw invalidSnsParameter('Token');
  }
  return [
    { do: 'put', kind: SUBSCRIPTION_KIND, key, value: confirmed(found.ended), expected: 0 },
    { do: 'create-queue', channel: deliveryChannel(key), settings: DELIVERY_QUEUE, ifMissing: true },
  ];
}

function wantsAuthentication(input: Input): boolean {
  return optionalText(input, 'AuthenticateOnUnsubscribe')?.toLowerCase() === 'true';
}

/** The name in a topic's ARN. Throws InvalidParameter as this operation says it. */
function topicNameOf(arn: string): string {
  const parts = arn.split(':');
  if (parts.length !== 6 || parts[2] !== 'sns') throw invalidSnsParameter('Topic');
  return parts[5] ?? '';
}
