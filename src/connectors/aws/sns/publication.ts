import { invalidSnsParameter } from '../errors.js';
import { optionalText } from '../input.js';
import type { Input } from '../input.js';
import type { Call } from '../operation.js';
import { contentDedupId } from '../sqs/outgoing-message.js';
import { traceOf } from '../trace.js';
import { attributeSize } from '../wire/message-attributes.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { isLegalId } from '../wire/text.js';
import { FilterValues } from './filter-values.js';
import { readSnsAttributes } from './message-attributes.js';
import type { Topic } from './topic-registry.js';

/** Message and attributes together: SNS did not follow SQS to a megabyte. */
export const MESSAGE_BYTES_MAX = 262_144;
const SUBJECT_CHARS_MAX = 100;
// eslint-disable-next-line no-control-regex -- control characters are what a subject may not hold
const NOT_SUBJECT = /[\u0000-\u001f\u007f]/;

/** What one subscriber of a published message gets to see, whatever way it comes to it. */
export interface Content {
  /** One for all deliveries of a publish. */
  readonly messageId: string;
  /** Unix ms. */
  readonly timestamp: number;
  readonly subject: string | undefined;
  readonly text: string;
  readonly attributes: readonly MessageAttribute[];
  readonly senderId: string;
  readonly groupId: string | undefined;
  /** FIFO topics only. */
  readonly dedupId: string | undefined;
  readonly traceHeader: string | undefined;
  /** FIFO topics only. */
  readonly sequenceNumber: string | undefined;
  /** It comes from the archive. */
  readonly replayed?: boolean;
}

/** One message to publish, checked. */
export interface Publication extends Omit<Content, 'text'> {
  /** What every protocol gets that has no text of its own. */
  readonly message: string;
  /** Of a structured message: by protocol. */
  readonly structured: Readonly<Record<string, unknown>> | undefined;
  /** Message and attributes. */
  readonly bytes: number;
  readonly values: FilterValues;
  /** Set when it gets its place in a FIFO topic. */
  sequenceNumber: string | undefined;
}

/** The text of a publication for one protocol. */
export function textFor({ message, structured }: Publication, protocol: string): string {
  const own =
    structured !== undefined && Object.hasOwn(structured, protocol) ? structured[protocol] : undefined;
  return typeof own === 'string' ? own : message;
}

/** Reads and checks one message of Publish or PublishBatch (`position` from 1). Throws SNS's faults. */
export function readPublication(call: Call, topic: Topic, input: Input, position?: number): Publication {
  const text = optionalText(input, 'Message');
  if (text === undefined || text === '') throw invalidSnsParameter('Empty message');
  const subject = readSubject(input);
  const attributes = readSnsAttributes(input, position);
  let bytes = Buffer.byteLength(text);
  for (const attribute of attributes) bytes += attributeSize(attribute);
  if (bytes > MESSAGE_BYTES_MAX) throw invalidSnsParameter('Message too long');
  const ids = readFifoIds(topic, input, text);
  const structured = readStructure(text, optionalText(input, 'MessageStructure'));
  return {
    messageId: call.services.ids.uuid(),
    timestamp: call.services.clock.now(),
    subject,
    message: structured === undefined ? text : String(structured['default']),
    structured,
    attributes,
    senderId: call.senderId,
    ...ids,
    traceHeader: traceOf(call),
    sequenceNumber: undefined,
    bytes,
    values: new FilterValues(attributes),
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

function readFifoIds(
  topic: Topic,
  input: Input,
  text: string,
): { readonly groupId: string | undefined; readonly dedupId: string | undefined } {
  const given = optionalText(input, 'MessageDeduplicationId');
  if (!topic.fifo && given !== undefined) {
    throw invalidSnsParameter(
      'MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type',
    );
  }
  const groupId = optionalText(input, 'MessageGroupId');
  if (groupId === undefined && topic.fifo) throw missingGroup();
  checkId('MessageGroupId', groupId);
  if (!topic.fifo) return { groupId, dedupId: undefined };
  checkId('MessageDeduplicationId', given);
  const dedupId = given ?? (topic.contentBasedDedup ? contentDedupId(Buffer.from(text, 'utf8')) : undefined);
  if (dedupId === undefined) throw missingDedupId();
  return { groupId, dedupId };
}

/** Of a FIFO topic; fails a whole batch. */
function missingGroup(): Error {
  return invalidSnsParameter('The MessageGroupId parameter is required for FIFO topics');
}

function missingDedupId(): Error {
  return invalidSnsParameter(
    'The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
  );
}

/** What fails a whole batch rather than the entry. Throws InvalidParameter. */
export function checkBatch(topic: Topic, entries: readonly Input[]): void {
  for (const entry of entries) {
    const structure = optionalText(entry, 'MessageStructure');
    if (structure !== undefined) readStructure(optionalText(entry, 'Message') ?? '', structure);
  }
  if (!topic.fifo) return;
  for (const entry of entries) {
    if (optionalText(entry, 'MessageGroupId') === undefined) throw missingGroup();
    if (!topic.contentBasedDedup && optionalText(entry, 'MessageDeduplicationId') === undefined) {
      throw missingDedupId();
    }
  }
}

function checkId(name: string, value: string | undefined): void {
  if (value !== undefined && !isLegalId(value)) {
    throw invalidSnsParameter(
      `${name} Reason: ${name} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
    );
  }
}

/** With the structure `json`, a message holds one text for each protocol; its `default` is there. */
function readStructure(
  text: string,
  messageStructure: string | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (messageStructure === undefined || messageStructure === '') return undefined;
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
  if (!Object.hasOwn(entries, 'default') || typeof entries['default'] !== 'string') {
    throw invalidSnsParameter('Message Structure - No default entry in JSON message body');
  }
  return entries;
}
