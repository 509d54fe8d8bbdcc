import {
  PROJECT,
  topicName,
  subscriptionName,
  TOPIC,
  SUBSCRIPTION,
  SCHEMA,
  topic,
  subscription,
  schema,
  quiet,
  type PubsubWorld,
  type Row,
} from './pubsub-world.js';

/** Topics, subscriptions and their messages. */
export const topicRows = (world: PubsubWorld): readonly Row[] => [
  {
    rpc: 'CreateTopic',
    needs: [topic('t', 'Write')],
    prepare: () => quiet(world.rest('DeleteTopic', { topic: TOPIC })),
    request: () => ({ name: TOPIC }),
  },
  {
    rpc: 'CreateTopic',
    what: 'with a schema',
    needs: [topic('typed', 'Write'), schema('c', 'Sight')],
    prepare: async () => {
      await world.schema('c');
      await quiet(world.rest('DeleteTopic', { topic: topicName('typed') }));
    },
    request: () => ({ name: topicName('typed'), schemaSettings: { schema: SCHEMA, encoding: 'JSON' } }),
  },
  {
    rpc: 'UpdateTopic',
    needs: [topic('u', 'Write')],
    prepare: () => world.topic('u'),
    request: () => ({ topic: { name: topicName('u'), labels: { a: 'b' } }, updateMask: 'labels' }),
  },
  {
    rpc: 'Publish',
    needs: [topic('u', 'Write')],
    prepare: () => world.topic('u'),
    request: () => ({ topic: topicName('u'), messages: [{ data: 'eA==' }] }),
  },
  {
    rpc: 'GetTopic',
    needs: [topic('u', 'Sight')],
    prepare: () => world.topic('u'),
    request: () => ({ topic: topicName('u') }),
  },
  { rpc: 'ListTopics', needs: [], request: () => ({ project: PROJECT }) },
  {
    rpc: 'ListTopicSubscriptions',
    needs: [topic('u', 'Sight')],
    prepare: () => world.topic('u'),
    request: () => ({ topic: topicName('u') }),
  },
  {
    rpc: 'ListTopicSnapshots',
    needs: [topic('u', 'Sight')],
    prepare: () => world.topic('u'),
    request: () => ({ topic: topicName('u') }),
  },
  {
    rpc: 'DeleteTopic',
    needs: [topic('d', 'Write')],
    prepare: () => world.topic('d'),
    request: () => ({ topic: topicName('d') }),
  },
  {
    rpc: 'DeleteTopic',
    what: 'with a subscription',
    needs: [topic('d', 'Write')],
    prepare: async () => {
      await world.topic('d');
      await quiet(world.rest('DeleteSubscription', { subscription: subscriptionName('d') }));
      await world.subscription('d');
    },
    request: () => ({ topic: topicName('d') }),
  },
  {
    rpc: 'DetachSubscription',
    needs: [subscription('detached', 'Write')],
    prepare: async () => {
      await quiet(world.rest('DeleteSubscription', { subscription: subscriptionName('detached') }));
      await world.subscription('detached');
    },
    request: () => ({ subscription: subscriptionName('detached') }),
  },
  {
    rpc: 'CreateSubscription',
    needs: [topic('t', 'Read'), subscription('s', 'Write')],
    prepare: async () => {
      await world.topic('t');
      await quiet(world.rest('DeleteSubscription', { subscription: SUBSCRIPTION }));
    },
    request: () => ({ name: SUBSCRIPTION, topic: TOPIC }),
  },
  {
    rpc: 'CreateSubscription',
    what: 'with a dead-letter topic',
    needs: [topic('t', 'Read'), subscription('s', 'Write'), topic('letters', 'Write')],
    prepare: async () => {
      await world.topic('t');
      await world.topic('letters');
      await quiet(world.rest('DeleteSubscription', { subscription: SUBSCRIPTION }));
    },
    request: () => ({
      name: SUBSCRIPTION,
      topic: TOPIC,
      deadLetterPolicy: { deadLetterTopic: topicName('letters'), maxDeliveryAttempts: 5 },
    }),
  },
  {
    rpc: 'GetSubscription',
    needs: [subscription('s', 'Sight')],
    prepare: () => world.subscription('s', 't'),
    request: () => ({ subscription: SUBSCRIPTION }),
  },
  {
    rpc: 'UpdateSubscription',
    needs: [subscription('s', 'Write')],
    prepare: () => world.subscription('s', 't'),
    request: () => ({
      subscription: { name: SUBSCRIPTION, topic: TOPIC, ackDeadlineSeconds: 20 },
      updateMask: 'ackDeadlineSeconds',
    }),
  },
  {
    rpc: 'UpdateSubscription',
    what: 'a dead-letter topic',
    needs: [subscription('s', 'Write'), topic('letters', 'Write')],
    prepare: async () => {
      await world.subscription('s', 't');
      await world.topic('letters');
    },
    request: () => ({
      subscription: {
        name: SUBSCRIPTION,
        deadLetterPolicy: { deadLetterTopic: topicName('letters'), maxDeliveryAttempts: 5 },
      },
      updateMask: 'deadLetterPolicy',
    }),
  },
  { rpc: 'ListSubscriptions', needs: [], request: () => ({ project: PROJECT }) },
  {
    rpc: 'DeleteSubscription',
    needs: [subscription('gone', 'Write')],
    prepare: () => world.subscription('gone'),
    request: () => ({ subscription: subscriptionName('gone') }),
  },
  {
    rpc: 'ModifyAckDeadline',
    needs: [subscription('s', 'Read')],
    prepare: () => world.message(),
    request: () => ({ subscription: SUBSCRIPTION, ackIds: [world.ackId], ackDeadlineSeconds: 0 }),
  },
  {
    rpc: 'Acknowledge',
    needs: [subscription('s', 'Read')],
    prepare: () => world.message(),
    request: () => ({ subscription: SUBSCRIPTION, ackIds: [world.ackId] }),
  },
  {
    rpc: 'Pull',
    needs: [subscription('s', 'Read')],
    prepare: () => world.subscription('s', 't'),
    request: () => ({ subscription: SUBSCRIPTION, maxMessages: 1, returnImmediately: true }),
  },
  {
    rpc: 'StreamingPull',
    needs: [subscription('s', 'Read')],
    prepare: () => world.subscription('s', 't'),
    request: () => ({ subscription: SUBSCRIPTION, streamAckDeadlineSeconds: 10 }),
  },
  {
    rpc: 'ModifyPushConfig',
    needs: [subscription('s', 'Write')],
    prepare: () => world.subscription('s', 't'),
    request: () => ({ subscription: SUBSCRIPTION, pushConfig: {} }),
  },
];
