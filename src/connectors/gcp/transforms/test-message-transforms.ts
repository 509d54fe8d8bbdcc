import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { status } from '../../kit/grpc-status.js';
import { badArgument, invalidArgument } from '../errors.js';
import { parseProject } from '../resource-names.js';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { MessageTransform, PubsubMessage } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import {
  TestMessageTransformsResponseSchema,
  type TestMessageTransformsRequest,
  type TestMessageTransformsResponse,
  type TransformedMessageSchema,
} from '../wire/gen/polymq/pubsub/v1/message_transforms_pb.js';
import { transformSteps, type TransformOutcome } from './message-transformer.js';
import type { Sandbox } from './sandbox.js';
import { requireTransforms } from './transform-check.js';

/** Shows what transforms would make of a message, one after the other, up to the one that filters it or fails. */
export function testMessageTransforms(
  services: GcpServices,
  sandbox: Sandbox,
): Operation<TestMessageTransformsRequest, TestMessageTransformsResponse> {
  return async (request) => {
    parseProject(request.project);
    const { message } = request;
    if (message === undefined) throw badArgument('message');
    const attributes = new Map(Object.entries(message.attributes));
    if (message.data.length === 0 && attributes.size === 0) {
      throw invalidArgument('The message must contain either non-empty data, or at least one attribute.');
    }
    const transforms = await transformsOf(services, sandbox, request);
    const outcomes = await transformSteps(sandbox, transforms, {
      message: { data: message.data, attributes },
      metadata: { messageId: message.messageId, orderingKey: message.orderingKey },
    });
    return create(TestMessageTransformsResponseSchema, {
      transformedMessages: outcomes.map((outcome) => shown(outcome, message)),
    });
  };
}

async function transformsOf(
  { catalog }: GcpServices,
  sandbox: Sandbox,
  { transforms }: TestMessageTransformsRequest,
): Promise<readonly MessageTransform[]> {
  switch (transforms.case) {
    case 'messageTransforms': {
      const { messageTransforms } = transforms.value;
      await requireTransforms(sandbox, messageTransforms);
      return messageTransforms;
    }
    case 'topic':
      return catalog.requireTopic(transforms.value).resource.messageTransforms;
    case 'subscription':
      return catalog.requireSubscription(transforms.value).resource.messageTransforms;
    case undefined:
      throw badArgument('transforms');
  }
}

function shown(
  outcome: TransformOutcome,
  { orderingKey, messageId }: PubsubMessage,
): MessageInitShape<typeof TransformedMessageSchema> {
  switch (outcome.kind) {
    case 'message': {
      const { data, attributes } = outcome.message;
      const value = { data, attributes: Object.fromEntries(attributes), orderingKey, messageId };
      return { result: { case: 'transformedMessage', value } };
    }
    case 'filtered':
      return { result: { case: 'filteredMessage', value: {} } };
    case 'failed': {
      const error = { code: status.INVALID_ARGUMENT, message: outcome.reason };
      return { result: { case: 'failedMessage', value: { error } } };
    }
  }
}
