import { invalidArgument } from '../errors.js';
import type { DeliveryStep, PublishStep } from '../extensions.js';
import { attributeView } from '../wire/attribute-view.js';
import { decodeMessageFields, encodeMessageFields } from '../wire/message-fields.js';
import type { AttributeView, PublishedMessage } from '../wire/publish.js';
import type { MessageTransform } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { transformSteps, type TransformedParts } from './message-transformer.js';
import type { Sandbox } from './sandbox.js';

/** Transforms the messages of a Publish. One that fails refuses them all; one that is filtered is dropped, and has an id all the same. */
export function transformPublished(sandbox: Sandbox, bytesMax: number): PublishStep {
  return async ({ resource }, messages) => {
    const transforms = resource.messageTransforms;
    if (transforms.every(({ disabled }) => disabled)) return messages;
    const transformed: (PublishedMessage | undefined)[] = [];
    let bytes = 0;
    for (const message of messages) {
      const result = message === undefined ? undefined : await published(sandbox, transforms, message);
      bytes += result?.data.length ?? 0;
      transformed.push(result);
    }
    if (bytes > bytesMax) {
      throw invalidArgument(`The transformed messages have ${bytes} bytes, more than ${bytesMax}.`);
    }
    return transformed;
  };
}

async function published(
  sandbox: Sandbox,
  transforms: readonly MessageTransform[],
  message: PublishedMessage,
): Promise<PublishedMessage | undefined> {
  const { data, attributes, orderingKey } = message;
  const last = (
    await transformSteps(sandbox, transforms, {
      message: { data, attributes: attributeMap(attributes) },
      metadata: { orderingKey: textOf(orderingKey) },
    })
  ).at(-1);
  switch (last?.kind) {
    case 'message':
      return { ...message, data: last.message.data, attributes: attributeViews(last.message) };
    case 'filtered':
      return undefined;
    case 'failed':
      throw invalidArgument(`Failed to transform a message: ${last.reason}.`);
    case undefined:
      return message;
  }
}

/** Transforms a message that a subscription hands out: what is filtered is acknowledged, what fails is given back. */
export function transformDelivered(sandbox: Sandbox): DeliveryStep {
  return async ({ resource }, message) => {
    const fields = decodeMessageFields(message.fields);
    const { attributes, messageId, publishTime, orderingKey } = fields;
    const outcomes = await transformSteps(sandbox, resource.messageTransforms, {
      message: { data: message.data, attributes },
      metadata: { messageId, publishTime, orderingKey },
    });
    const last = outcomes.at(-1);
    switch (last?.kind) {
      case 'message': {
        const { data, attributes: changed } = last.message;
        return { data, fields: encodeMessageFields({ ...fields, attributes: changed }) };
      }
      case 'filtered':
        return 'drop';
      case 'failed':
        return 'refuse';
      case undefined:
        return message;
    }
  };
}

function attributeMap(attributes: readonly AttributeView[]): ReadonlyMap<string, string> {
  return new Map(attributes.map(({ key, value }) => [textOf(key), textOf(value)]));
}

function attributeViews({ attributes }: TransformedParts): readonly AttributeView[] {
  return [...attributes].map(([key, value]) => attributeView(key, value));
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
