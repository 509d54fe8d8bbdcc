import { flatList, flatMap, scalar, scalars, structure } from '../wire/shape.js';

/** Shapes several SQS operations share. */
export const attributeValue = scalars('DataType', 'StringValue', 'BinaryValue');
export const messageAttributes = flatMap('MessageAttribute', attributeValue);
export const messageSystemAttributes = flatMap('MessageSystemAttribute', attributeValue);

/** Fields of a message to send: of SendMessage itself and of each batch entry. */
export const outgoingFields = {
  MessageBody: scalar,
  DelaySeconds: scalar,
  MessageAttributes: messageAttributes,
  MessageSystemAttributes: messageSystemAttributes,
  MessageGroupId: scalar,
  MessageDeduplicationId: scalar,
} as const;

/** Fields of a message's receipt. */
export const sentFields = {
  MessageId: scalar,
  MD5OfMessageBody: scalar,
  MD5OfMessageAttributes: scalar,
  MD5OfMessageSystemAttributes: scalar,
  SequenceNumber: scalar,
} as const;

export const failedEntries = flatList(
  'BatchResultErrorEntry',
  scalars('Id', 'SenderFault', 'Code', 'Message'),
);

export const queueUrlOnly = structure({ QueueUrl: scalar });
