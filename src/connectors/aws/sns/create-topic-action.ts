import { BrokerError } from '../../../core/errors.js';
import { invalidSnsParameter } from '../errors.js';
import { listOf, optionalText, structureOf, textMapOf } from '../input.js';
import type { Input } from '../input.js';
import { topicArn } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { entryMap, memberList, scalar, scalars, structure } from '../wire/shape.js';
import { TOPIC_KIND } from './topic-registry.js';
import type { TopicRecord } from './topic-registry.js';

const NAME = /^[A-Za-z0-9_-]{1,256}$/;
const TAGS_MAX = 50;
/** Kept and given back; none of them changes what this endpoint does. */
const ATTRIBUTES: ReadonlySet<string> = new Set(['DisplayName', 'Policy', 'KmsMasterKeyId', 'TracingConfig']);
const DISPLAY_NAME_CHARS_MAX = 100;
const ATTRIBUTE_BYTES_MAX = 30_720;

/** CreateTopic: the same again gives the same ARN. */
export const createTopic = operation({
  name: 'CreateTopic',
  input: structure({
    Name: scalar,
    Attributes: entryMap(),
    Tags: memberList(scalars('Key', 'Value')),
    DataProtectionPolicy: scalar,
  }),
  output: structure({ TopicArn: scalar }),
  async run(call) {
    const { input, services } = call;
    const name = optionalText(input, 'Name') ?? '';
    const attributes = Object.fromEntries(readAttributes(input));
    if (!NAME.test(name)) throw invalidSnsParameter('Topic Name');
    const tags = readTags(input);
    const answer = { TopicArn: topicArn(services.config, name) };
    if (isThere(call, name, { attributes, tags })) return answer;
    const record: TopicRecord = { createdAt: Math.floor(services.clock.now() / 1000), attributes, tags };
    try {
      await services.broker.change([{ do: 'put', kind: TOPIC_KIND, key: name, value: record, expected: 0 }]);
    } catch (error) {
      const { kind } = BrokerError.from(error);
      const raced = kind === 'precondition' || kind === 'already-exists';
      if (!raced || !isThere(call, name, { attributes, tags })) throw error;
    }
    return answer;
  },
});

function isThere(call: Call, name: string, given: Pick<TopicRecord, 'attributes' | 'tags'>): boolean {
  const topic = call.services.topics.find(name);
  if (topic === undefined) return false;
  const differs = (
    mine: Readonly<Record<string, string>>,
    asked: Readonly<Record<string, string>>,
  ): boolean => Object.entries(asked).some(([key, value]) => mine[key] !== value);
  if (differs(topic.record.tags, given.tags)) {
    throw invalidSnsParameter('Tags Reason: Topic already exists with different tags');
  }
  if (differs(topic.record.attributes, given.attributes)) {
    throw invalidSnsParameter('Attributes Reason: Topic already exists with different attributes');
  }
  return true;
}

function readAttributes(input: Input): ReadonlyMap<string, string> {
  const attributes = new Map(textMapOf(input, 'Attributes'));
  if (attributes.get('FifoTopic')?.toLowerCase() === 'false') attributes.delete('FifoTopic');
  if (optionalText(input, 'DataProtectionPolicy') !== undefined) {
    throw invalidSnsParameter('DataProtectionPolicy Reason: not supported by this endpoint');
  }
  for (const [name, value] of attributes) {
    if (name === 'FifoTopic') {
      throw invalidSnsParameter('Attributes Reason: FIFO topics are not supported by this endpoint');
    }
    if (!ATTRIBUTES.has(name)) {
      throw invalidSnsParameter(`Attributes Reason: ${name} is not supported by this endpoint`);
    }
    const tooLong = name === 'DisplayName' ? value.length > DISPLAY_NAME_CHARS_MAX : false;
    if (tooLong || Buffer.byteLength(value) > ATTRIBUTE_BYTES_MAX) {
      throw invalidSnsParameter(`Attributes Reason: ${name}: too long`);
    }
  }
  return attributes;
}

function readTags(input: Input): Readonly<Record<string, string>> {
  const tags = new Map<string, string>();
  for (const raw of listOf(input, 'Tags')) {
    const tag = structureOf(raw, 'Tags');
    const key = optionalText(tag, 'Key') ?? '';
    if (key === '' || key.length > 128 || tags.has(key)) {
      throw invalidSnsParameter('Tags Reason: keys must be 1 to 128 characters and distinct');
    }
    const value = optionalText(tag, 'Value') ?? '';
    if (value.length > 256) throw invalidSnsParameter('Tags Reason: values are at most 256 characters');
    tags.set(key, value);
  }
  if (tags.size > TAGS_MAX) throw invalidSnsParameter(`Tags Reason: a topic has at most ${TAGS_MAX} tags`);
  return Object.fromEntries(tags);
}
