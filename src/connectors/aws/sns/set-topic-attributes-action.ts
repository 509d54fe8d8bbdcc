import { optionalText } from '../input.js';
import { operation } from '../operation.js';
import { scalar, structure } from '../wire/shape.js';
import { topicOf } from './arn.js';
import { readTopicAttribute } from './topic-attributes.js';
import { updateTopic } from './update-topic.js';

/** SetTopicAttributes: one attribute a call; an empty value takes it back. */
export const setTopicAttributes = operation({
  name: 'SetTopicAttributes',
  input: structure({ TopicArn: scalar, AttributeName: scalar, AttributeValue: scalar }),
  output: undefined,
  async run(call) {
    const { input } = call;
    const name = optionalText(input, 'AttributeName') ?? '';
    const value = optionalText(input, 'AttributeValue') ?? '';
    await updateTopic(
      call,
      () => topicOf(call, input),
      ({ record, fifo, archives }) => {
        const read = readTopicAttribute(name, value, fifo);
        const attributes = Object.fromEntries(
          Object.entries(record.attributes).filter(([key]) => key !== name),
        );
        const changed = { ...record, attributes: read === '' ? attributes : { ...attributes, [name]: read } };
        if (name !== 'ArchivePolicy') return changed;
        const since = archives ? record.archivedSince : call.services.clock.now();
        return { ...changed, archivedSince: read === '' ? undefined : since };
      },
    );
  },
});
