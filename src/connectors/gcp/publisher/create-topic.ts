import { creationFault, resourceExists } from '../errors.js';
import { runChecks } from '../extensions.js';
import { TOPIC_KIND, topicRecord } from '../registry/records.js';
import { checkTopic, logRetentionMs } from '../registry/topic-rules.js';
import { checkNewTopicId, parseResourceName, topicChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import { Topic_State, type Topic } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/**
 * Creates a topic and its log. A log of that name that exists already, filled by other protocols or by an earlier topic,
 * is used as it is.
 */
export function createTopic(services: GcpServices): Operation<Topic, Topic> {
  const { broker, catalog, clock, extensions } = services;
  return async (request) => {
    const { id } = parseResourceName(request.name, 'topics');
    checkNewTopicId(request.name, id);
    checkTopic(request);
    if (catalog.topic(id) !== undefined) throw resourceExists(id);
    await runChecks(extensions.topicChecks, request, undefined);
    const topic: Topic = { ...request, state: Topic_State.ACTIVE };
    const createdAt = catalog.births.of(TOPIC_KIND, id, clock.now());
    const created = broker.change([
      {
        do: 'create-log',
        channel: topicChannel(id),
        settings: { retentionMs: logRetentionMs(topic, []) },
        ifMissing: true,
      },
      { do: 'put', kind: TOPIC_KIND, key: id, value: topicRecord(topic, createdAt), expected: 0 },
    ]);
    await created.catch((caught: unknown) => {
      throw creationFault(caught, id);
    });
    await keepLog(services, id);
    return topic;
  };
}

/** Sees to it that the log of a topic keeps its messages as long as it must. Without a bound it keeps them for good. */
export async function keepLog({ catalog }: Pick<GcpServices, 'catalog'>, topicId: string): Promise<void> {
  const channel = topicChannel(topicId);
  const topic = catalog.topic(topicId);
  const kept = catalog.broker.logStats(channel)?.settings.retentionMs ?? 0;
  if (topic === undefined || kept === 0) return;
  const subscriptions = catalog.subscriptionsOf(topicId).map(({ resource }) => resource);
  const retentionMs = logRetentionMs(topic.resource, subscriptions);
  if (retentionMs === kept) return;
  await catalog.broker.change([{ do: 'update-log', channel, settings: { retentionMs } }]);
}
