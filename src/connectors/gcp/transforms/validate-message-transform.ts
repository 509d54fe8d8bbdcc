import { create } from '@bufbuild/protobuf';
import { badArgument } from '../errors.js';
import { parseProject } from '../resource-names.js';
import type { Operation } from '../unary.js';
import {
  ValidateMessageTransformResponseSchema,
  type ValidateMessageTransformRequest,
  type ValidateMessageTransformResponse,
} from '../wire/gen/polymq/pubsub/v1/message_transforms_pb.js';
import type { Sandbox } from './sandbox.js';
import { requireTransforms } from './transform-check.js';

/** Says whether a transform could be part of a topic or subscription; stores nothing. */
export function validateMessageTransform(
  sandbox: Sandbox,
): Operation<ValidateMessageTransformRequest, ValidateMessageTransformResponse> {
  return async ({ project, messageTransform }) => {
    parseProject(project);
    if (messageTransform === undefined) throw badArgument('message_transform');
    await requireTransforms(sandbox, [messageTransform]);
    return create(ValidateMessageTransformResponseSchema);
  };
}
