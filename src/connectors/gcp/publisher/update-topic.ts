import { invalidArgument } from '../errors.js';
import { runChecks } from '../extensions.js';
import { masked } from '../field-mask.js';
import { TOPIC_KIND, topicRecord } from '../registry/records.js';
import { checkTopic } from '../registry/topic-rules.js';
import { parseResourceName, resourceName } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import { TopicSchema, type Topic, type UpdateTopicRequest } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { keepLog } from './create-topic.js';

const RULE = {
  request: 'UpdateTopicRequest',
  mutable: new Set([
    'labels',
    'message_retention_duration',
    'message_storage_policy',
    'kms_key_name',
    'schema_settings',
    'ingestion_data_source_settings',
    'message_transforms',
  ]),
};

/** Changes the fields that the mask names; all of them or none. */
export function updateTopic(services: GcpServices): Operation<UpdateTopicRequest, Topic> {
  const { broker, catalog, extensions } = services;
  return async ({ topic: patch, updateMask }) => {
    if (patch === undefined) throw invalidArgument('The UpdateTopicRequest must have a topic.');
    const { id, version, record, resource } = catalog.requireTopic(patch.name);
    const topic = masked(TopicSchema, { current: resource, patch }, updateMask, RULE);
    checkTopic(topic);
    await runChecks(extensions.topicChecks, topic, resource);
    const value = topicRecord(topic, record.createdAt);
    await broker.change([{ do: 'put', kind: TOPIC_KIND, key: id, value, expected: version }]);
    await keepLog(services, id);
    const { project } = parseResourceName(patch.name, 'topics');
    return { ...topic, name: resourceName(project, 'topics', id) };
  };
}
