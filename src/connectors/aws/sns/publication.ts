import { invalidSnsParameter } from '../errors.js';
import { optionalText } from '../input.js';
import type { Input } from '../input.js';
import type { Call } from '../operation.js';
import { attributeSize } from '../wire/message-attributes.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { isLegalId } from '../wire/text.js';
import { readSnsAttributes } from './message-attributes.js';

/** Message and attributes together: SNS did not follow SQS to a megabyte. */
export const MESSAGE_BYTES_MAX = 262_144;
const SUBJECT_CHARS_MAX = 100;
// eslint-disable-next-line no-control-regex -- control characters are what a subject may not hold
const NOT_SUBJECT = /[\u0000-\u001f\u007f]/;

/** One message to publish, checked. */
export interface Publication {
  readonly messageId: string;
  readonly subject: string | undefined;
  /** What queues get: the `sqs` entry of a structured message, its default, or the message itself. */
  readonly message: string;
  readonly attributes: readonly MessageAttribute[];
  readonly groupId: string | undefined;
  readonly bytes: number;
}

/** Reads and checks one message of Publish or PublishBatch. Throws SNS's faults. */
export function readPublication(call: Call, input: Input): Publication {
  const text = optionalText(input, 'Message');
  if (text === undefined || text === '') throw invalidSnsParameter('Empty message');
  const attributes = readSnsAttributes(input);
  let bytes = Buffer.byteLength(text);
  for (const attribute of attributes) bytes += attributeSize(attribute);
  if (bytes > MESSAGE_BYTES_MAX) throw invalidSnsParameter('Message too long');
  return {
    messageId: call.services.ids.uuid(),
    subject: readSubject(input),
    message: chosenMessage(text, optionalText(input, 'MessageStructure')),
    attributes,
    groupId: readGroupId(input),
    bytes,
  };
}

function readSubject(input: Input): string | undefined {
  const subject = optionalText(input, 'Subject');
  if (subject === undefined) return undefined;
  if (subject === '' || subject.length >= SUBJECT_CHARS_MAX || NOT_SUBJECT.test(subject)) {
    throw invalidSnsParameter('Subject');
  }
  return subject;
}

function readGroupId(input: Input): string | undefined {
  if (optionalText(input, 'MessageDeduplicationId') !== undefined) {
    throw invalidSnsParameter(
      'MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type',
    );
  }
  const groupId = optionalText(input, 'MessageGroupId');
  if (groupId !== undefined && !isLegalId(groupId)) {
    throw invalidSnsParameter(
      'MessageGroupId Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.',
    );
  }
  return groupId;
}

/** With the structure `json`, a message holds one text for each protocol. */
function chosenMessage(text: string, messageStructure: string | undefined): string {
  if (messageStructure === undefined || messageStructure === '') return text;
  if (messageStructure !== 'json') throw invalidSnsParameter('MessageStructure');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw invalidSnsParameter('Message Structure - JSON message body failed to parse');
  }
  const entries = parsed as Readonly<Record<string, unknown>>;
  const fallback = Object.hasOwn(entries, 'default') ? entries['default'] : undefined;
  if (typeof fallback !== 'string') {
    throw invalidSnsParameter('Message Structure - No default entry in JSON message body');
  }
  const own = Object.hasOwn(entries, 'sqs') ? entries['sqs'] : undefined;
  return typeof own === 'string' ? own : fallback;
}
