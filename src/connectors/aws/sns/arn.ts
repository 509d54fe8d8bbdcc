import { invalidSnsParameter, SNS_FAULTS } from '../errors.js';
import { optionalText } from '../input.js';
import type { Input } from '../input.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import type { Topic } from './topic-registry.js';

const ARN_PARTS = 6;

/** The part of an SNS ARN behind the account; region and account are not compared. Throws InvalidParameter. */
export function resourceOf(arn: string | undefined, parameter: string): string {
  if (arn === undefined) throw invalidSnsParameter(`${parameter} Reason: no value for required parameter`);
  const parts = arn.split(':');
  if (parts.length < ARN_PARTS) {
    throw invalidSnsParameter(
      `${parameter} Reason: An ARN must have at least ${ARN_PARTS} elements, not ${parts.length}`,
    );
  }
  if (parts[0] !== 'arn' || parts[2] !== 'sns') throw invalidSnsParameter(parameter);
  return parts.slice(5).join(':');
}

/** The topic a request names. Throws InvalidParameter and NotFound. */
export function topicOf(call: Call, input: Input, parameter = 'TopicArn'): Topic {
  const topic = call.services.topics.find(resourceOf(optionalText(input, parameter), parameter));
  if (topic === undefined) throw new AwsFault(SNS_FAULTS.notFound, 'Topic does not exist');
  return topic;
}

/** The subscription key an ARN names: `{topic}:{id}`. Throws InvalidParameter. */
export function subscriptionKeyOf(input: Input): string {
  const key = resourceOf(optionalText(input, 'SubscriptionArn'), 'SubscriptionArn');
  if (!key.includes(':')) throw invalidSnsParameter('SubscriptionId');
  return key;
}
