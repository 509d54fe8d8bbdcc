/**
 * The REST surface: which HTTP request stands for which RPC. The facts are the google.api.http options of the public protos
 * (google/pubsub/v1, and pubsub_v1.yaml for IAM); a test compares them.
 */
export interface RestRoute {
  /** Full name of the service. */
  readonly service: string;
  readonly rpc: string;
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path template with one variable: `/v1/{field.path=projects/*}/collection:verb`. */
  readonly path: string;
  /** The field that the body is, or `*` for the whole request. Absent: there is none. */
  readonly body?: string;
}

type Row = readonly [rpc: string, verb: RestRoute['verb'], path: string, body?: string];

function routesOf(service: string, rows: readonly Row[]): readonly RestRoute[] {
  return rows.map(([rpc, verb, path, body]) => ({
    service,
    rpc,
    verb,
    path,
    ...(body === undefined ? {} : { body }),
  }));
}

const TOPIC = 'projects/*/topics/*';
const SUBSCRIPTION = 'projects/*/subscriptions/*';
const SNAPSHOT = 'projects/*/snapshots/*';
const SCHEMA = 'projects/*/schemas/*';

const PUBLISHER: readonly Row[] = [
  ['CreateTopic', 'PUT', `/v1/{name=${TOPIC}}`, '*'],
  ['UpdateTopic', 'PATCH', `/v1/{topic.name=${TOPIC}}`, '*'],
  ['Publish', 'POST', `/v1/{topic=${TOPIC}}:publish`, '*'],
  ['GetTopic', 'GET', `/v1/{topic=${TOPIC}}`],
  ['ListTopics', 'GET', '/v1/{project=projects/*}/topics'],
  ['ListTopicSubscriptions', 'GET', `/v1/{topic=${TOPIC}}/subscriptions`],
  ['ListTopicSnapshots', 'GET', `/v1/{topic=${TOPIC}}/snapshots`],
  ['DeleteTopic', 'DELETE', `/v1/{topic=${TOPIC}}`],
  ['DetachSubscription', 'POST', `/v1/{subscription=${SUBSCRIPTION}}:detach`],
];

const SUBSCRIBER: readonly Row[] = [
  ['CreateSubscription', 'PUT', `/v1/{name=${SUBSCRIPTION}}`, '*'],
  ['GetSubscription', 'GET', `/v1/{subscription=${SUBSCRIPTION}}`],
  ['UpdateSubscription', 'PATCH', `/v1/{subscription.name=${SUBSCRIPTION}}`, '*'],
  ['ListSubscriptions', 'GET', '/v1/{project=projects/*}/subscriptions'],
  ['DeleteSubscription', 'DELETE', `/v1/{subscription=${SUBSCRIPTION}}`],
  ['ModifyAckDeadline', 'POST', `/v1/{subscription=${SUBSCRIPTION}}:modifyAckDeadline`, '*'],
  ['Acknowledge', 'POST', `/v1/{subscription=${SUBSCRIPTION}}:acknowledge`, '*'],
  ['Pull', 'POST', `/v1/{subscription=${SUBSCRIPTION}}:pull`, '*'],
  ['ModifyPushConfig', 'POST', `/v1/{subscription=${SUBSCRIPTION}}:modifyPushConfig`, '*'],
  ['GetSnapshot', 'GET', `/v1/{snapshot=${SNAPSHOT}}`],
  ['ListSnapshots', 'GET', '/v1/{project=projects/*}/snapshots'],
  ['CreateSnapshot', 'PUT', `/v1/{name=${SNAPSHOT}}`, '*'],
  ['UpdateSnapshot', 'PATCH', `/v1/{snapshot.name=${SNAPSHOT}}`, '*'],
  ['DeleteSnapshot', 'DELETE', `/v1/{snapshot=${SNAPSHOT}}`],
  ['Seek', 'POST', `/v1/{subscription=${SUBSCRIPTION}}:seek`, '*'],
];

const SCHEMA_SERVICE: readonly Row[] = [
  ['CreateSchema', 'POST', '/v1/{parent=projects/*}/schemas', 'schema'],
  ['GetSchema', 'GET', `/v1/{name=${SCHEMA}}`],
  ['ListSchemas', 'GET', '/v1/{parent=projects/*}/schemas'],
  ['ListSchemaRevisions', 'GET', `/v1/{name=${SCHEMA}}:listRevisions`],
  ['CommitSchema', 'POST', `/v1/{name=${SCHEMA}}:commit`, '*'],
  ['RollbackSchema', 'POST', `/v1/{name=${SCHEMA}}:rollback`, '*'],
  ['DeleteSchemaRevision', 'DELETE', `/v1/{name=${SCHEMA}}:deleteRevision`],
  ['DeleteSchema', 'DELETE', `/v1/{name=${SCHEMA}}`],
  ['ValidateSchema', 'POST', '/v1/{parent=projects/*}/schemas:validate', '*'],
  ['ValidateMessage', 'POST', '/v1/{parent=projects/*}/schemas:validateMessage', '*'],
];

const IAM_POLICY: readonly Row[] = [TOPIC, SUBSCRIPTION, SNAPSHOT, SCHEMA].flatMap(
  (resource): readonly Row[] => [
    ['SetIamPolicy', 'POST', `/v1/{resource=${resource}}:setIamPolicy`, '*'],
    ['GetIamPolicy', 'GET', `/v1/{resource=${resource}}:getIamPolicy`],
    ['TestIamPermissions', 'POST', `/v1/{resource=${resource}}:testIamPermissions`, '*'],
  ],
);

/** As in the discovery document of Pub/Sub v1; the public protos do not have them. */
const MESSAGE_TRANSFORMS: readonly Row[] = [
  ['ValidateMessageTransform', 'POST', '/v1/{project=projects/*}:validateMessageTransform', '*'],
  ['TestMessageTransforms', 'POST', '/v1/{project=projects/*}:testMessageTransforms', '*'],
];

export const REST_ROUTES: readonly RestRoute[] = [
  ...routesOf('google.pubsub.v1.Publisher', PUBLISHER),
  ...routesOf('google.pubsub.v1.Subscriber', SUBSCRIBER),
  ...routesOf('google.pubsub.v1.SchemaService', SCHEMA_SERVICE),
  ...routesOf('google.iam.v1.IAMPolicy', IAM_POLICY),
  ...routesOf('polymq.pubsub.v1.MessageTransformService', MESSAGE_TRANSFORMS),
];
