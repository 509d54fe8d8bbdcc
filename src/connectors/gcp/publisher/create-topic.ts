import { creationFault, invalidArgument, resourceExists } from '../errors.js';
import { runChecks } from '../extensions.js';
import { checkDuration, RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '../durations.js';
import { TOPIC_KIND, topicRecord } from '../registry/records.js';
import { checkNewTopicId, parseResourceName, topicChannel } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import { Topic_State, type Topic } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';

/** How long the log of a topic keeps what was published, when the topic does not ask for more. */
const LOG_RETENTION_SECONDS = 7 * 24 * 3600;

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
    await runChecks(extensions.topicChecks, request, undefined);
    if (catalog.topic(id) !== undefined) throw resourceExists(id);
    const topic: Topic = { ...request, state: Topic_State.ACTIVE };
    const retention = Number(request.messageRetentionDuration?.seconds ?? 0n);
    const created = broker.change([
      {
        do: 'create-log',
        channel: topicChannel(id),
        settings: { retentionMs: Math.max(retention, LOG_RETENTION_SECONDS) * 1000 },
        ifMissing: true,
      },
      { do: 'put', kind: TOPIC_KIND, key: id, value: topicRecord(topic, clock.now()), expected: 0 },
    ]);
    await created.catch((caught: unknown) => {
      throw creationFault(caught, id);
    });
    return topic;
  };
}

function checkTopic(topic: Topic): void {
  if (topic.ingestionDataSourceSettings !== undefined) {
    throw invalidArgument('Ingestion from other products (ingestion_data_source_settings) is not supported.');
  }
  checkDuration(topic.messageRetentionDuration, {
    name: 'message_retention_duration',
    minSeconds: RETENTION_SECONDS_MIN,
    maxSeconds: RETENTION_SECONDS_MAX,
  });
}
