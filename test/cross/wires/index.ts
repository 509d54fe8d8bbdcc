import { amqpConsumer, amqpProducer } from './amqp.js';
import { snsProducer, sqsConsumer, sqsProducer } from './aws.js';
import { nativeConsumer, nativeProducer } from './native.js';
import { pubsubConsumer, pubsubProducer } from './pubsub.js';
import type { Consumer, ConsumerName, Endpoints, Producer, ProducerName } from './wire.js';

export * from './wire.js';

type Opener<T> = (endpoints: Endpoints, queue: string) => Promise<T>;

/** Each connects and makes the queue in the way of its protocol. */
export const openProducer: Readonly<Record<ProducerName, Opener<Producer>>> = {
  SQS: sqsProducer,
  SNS: snsProducer,
  'Pub/Sub': pubsubProducer,
  AMQP: amqpProducer,
  native: nativeProducer,
};

export const openConsumer: Readonly<Record<ConsumerName, Opener<Consumer>>> = {
  SQS: sqsConsumer,
  'Pub/Sub': pubsubConsumer,
  AMQP: amqpConsumer,
  native: nativeConsumer,
};
