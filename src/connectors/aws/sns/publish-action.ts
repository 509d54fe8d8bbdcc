import { invalidSnsParameter } from '../errors.js';
import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { entryMap, scalar, scalars, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { deliver } from './fan-out.js';
import { readPublication } from './publication.js';

/** Fields of a message to publish: of Publish itself and of each batch entry. */
export const publicationFields = {
  Message: scalar,
  Subject: scalar,
  MessageStructure: scalar,
  MessageAttributes: entryMap(scalars('DataType', 'StringValue', 'BinaryValue')),
  MessageGroupId: scalar,
  MessageDeduplicationId: scalar,
} as const;

/** Publish: one MessageId for all deliveries, which are stored in one entry before the answer. No subscriber is fine. */
export const publish = operation({
  name: 'Publish',
  input: structure({ TopicArn: scalar, TargetArn: scalar, PhoneNumber: scalar, ...publicationFields }),
  output: scalars('MessageId', 'SequenceNumber'),
  async run(call) {
    const { input } = call;
    const targets = ['TopicArn', 'TargetArn', 'PhoneNumber'].filter(
      (name) => optionalText(input, name) !== undefined,
    );
    const [target] = targets;
    if (target === undefined || targets.length > 1) {
      throw invalidSnsParameter(
        'TopicArn or TargetArn Reason: exactly one of TopicArn, TargetArn and PhoneNumber',
      );
    }
    if (target === 'PhoneNumber') throw invalidSnsParameter('PhoneNumber Reason: this endpoint sends no SMS');
    if (target === 'TargetArn' && optionalText(input, target)?.includes(':endpoint/') === true) {
      throw invalidSnsParameter('TargetArn Reason: No endpoint found for the target arn specified');
    }
    const topic = topicOf(call, input, target);
    const [published] = await deliver(call, topic, [readPublication(call, topic, input)]);
    return published;
  },
});
