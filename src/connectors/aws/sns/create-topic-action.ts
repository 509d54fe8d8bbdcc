import { BrokerError } from '../../../core/errors.js';
import type { Change } from '../../../core/registry/types.js';
import { invalidSnsParameter } from '../errors.js';
import { optionalText, textMapOf } from '../input.js';
import { ledgerChannel, topicArn } from '../names.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { entryMap, memberList, scalar, scalars, structure } from '../wire/shape.js';
import { archiveChanges } from './archive.js';
import { readDataProtectionPolicy } from './data-protection-policy.js';
import { LEDGER_SETTINGS } from './ledger.js';
import { readTags } from './tags.js';
import { checkTopicName, readTopicAttributes } from './topic-attributes.js';
import { checkTopicCount } from './topic-limits.js';
import { TOPIC_KIND } from './topic-registry.js';
import type { TopicRecord } from './topic-registry.js';

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
    const attributes = readTopicAttributes(textMapOf(input, 'Attributes'));
    const fifo = attributes['FifoTopic'] === 'true';
    checkTopicName(name, fifo);
    const tags = Object.fromEntries(readTags(input));
    const policy = optionalText(input, 'DataProtectionPolicy') ?? '';
    const dataProtectionPolicy = policy === '' ? undefined : readDataProtectionPolicy(policy);
    const answer = { TopicArn: topicArn(services.config, name) };
    if (isThere(call, name, { attributes, tags })) return answer;
    checkTopicCount(services.topics, fifo);
    const now = services.clock.now();
    const createdAt = Math.floor(now / 1000);
    const archivedSince = attributes['ArchivePolicy'] === undefined ? undefined : now;
    const record: TopicRecord = { createdAt, attributes, tags, dataProtectionPolicy, archivedSince };
    const changes: Change[] = [{ do: 'put', kind: TOPIC_KIND, key: name, value: record, expected: 0 }];
    if (fifo) {
      const channel = ledgerChannel(name);
      changes.push({ do: 'create-queue', channel, settings: LEDGER_SETTINGS, ifMissing: true });
      changes.push(...archiveChanges(name, {}, attributes));
    }
    try {
      await services.broker.change(changes);
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
