import { hash } from 'node:crypto';
import type { OutgoingMessage } from '../../../core/message.js';
import type { SendOutcome } from '../../../core/queue/types.js';
import { faultOf, invalidParameterValue, invalidValue, missingParameter, SQS_FAULTS } from '../errors.js';
import { optionalInteger, optionalText } from '../input.js';
import type { Input } from '../input.js';
import type { AwsServices, Call } from '../operation.js';
import { traceOf } from '../trace.js';
import { AwsFault } from '../wire/fault.js';
import { jsonString } from '../wire/json.js';
import type { StringField } from '../wire/json.js';
import { md5Hex } from '../wire/md5.js';
import { attributeSize, attributesMd5, encodeAttributes } from '../wire/message-attributes.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { encodeOrigin } from '../wire/origin.js';
import { isLegalId, isLegalText } from '../wire/text.js';
import { groupPlace } from './group-place.js';
import { readMessageAttributes, readTraceHeader } from './message-attributes.js';
import type { Queue } from './queue-registry.js';
import { sequenceNumber } from './sequence-number.js';

const DELAY_SECONDS_MAX = 900;
/** Bound of a trace header, which does not count against the size of its message. */
const TRACE_HEADER_BYTES_MAX = 8_192;
const NOT_FOR_QUEUE_TYPE = 'The request include parameter that is not valid for this queue type.';

/** A message that SQS takes, before its checksum is known: that is quicker to tell of many at once. */
export interface CheckedMessage {
  readonly body: Buffer;
  /** JSON takes the body as it is. */
  readonly plainBody: boolean;
  /** Body and attributes together. */
  readonly bytes: number;
  readonly attributes: readonly MessageAttribute[];
  readonly traceHeader: string | undefined;
  readonly groupId: string | undefined;
  readonly dedupId: string | undefined;
  readonly place: Place;
  readonly delayMs: number;
}

/** Where a message goes, and its deduplication there. */
type Place = Pick<OutgoingMessage, 'channel' | 'dedupId'>;

/** A message ready for the broker, with what its sender is told. */
export interface PreparedMessage {
  readonly message: OutgoingMessage;
  readonly bodyMd5: string;
  readonly attributesMd5: string | undefined;
  readonly systemAttributesMd5: string | undefined;
}

/** What SendMessage answers, and SendMessageBatch for each entry. */
export interface SentMessage {
  readonly MD5OfMessageBody: string;
  readonly MessageId: string;
  readonly MD5OfMessageAttributes: string | undefined;
  readonly MD5OfMessageSystemAttributes: string | undefined;
  readonly SequenceNumber: string | undefined;
}

/** A message is over its queue's limit. AWS says it in other words where it is one of a batch. */
export class MessageTooLong extends AwsFault {
  readonly ofBatch: AwsFault;

  constructor(bytesMax: number) {
    const reason = `Reason: Message must be shorter than ${bytesMax} bytes.`;
    const fault = invalidParameterValue(`One or more parameters are invalid. ${reason}`);
    super(fault.kind, fault.message);
    this.ofBatch = invalidParameterValue(`One or more parameters cannot be validated. ${reason}`);
  }
}

/** Checks one message; `plainBody`: its body as it stands in the request. Throws the faults of SendMessage. */
export function checkMessage(
  call: Call,
  queue: Queue,
  input: Input,
  plainBody: Buffer | undefined,
): CheckedMessage {
  const body = plainBody !== undefined && plainBody.length > 0 ? plainBody : readBody(input);
  const attributes = readMessageAttributes(input);
  const traceHeader = readTraceHeader(input);
  if (traceHeader !== undefined && Buffer.byteLength(traceHeader) > TRACE_HEADER_BYTES_MAX) {
    throw invalidParameterValue(`AWSTraceHeader is at most ${TRACE_HEADER_BYTES_MAX} bytes.`);
  }
  let bytes = body.length;
  for (const attribute of attributes) bytes += attributeSize(attribute);
  if (bytes > queue.messageBytesMax) {
    throw new MessageTooLong(queue.messageBytesMax);
  }
  const { groupId, dedupId } = readFifoIds(queue, input, body);
  return {
    body,
    plainBody: plainBody !== undefined,
    bytes,
    attributes,
    traceHeader,
    groupId,
    dedupId,
    delayMs: readDelayMs(queue, input),
    place: placeOf(call, queue, groupId, dedupId),
  };
}

/** Builds a checked message. */
export function prepareMessage(call: Call, checked: CheckedMessage, bodyMd5: string): PreparedMessage {
  const { body, attributes, traceHeader, place, delayMs } = checked;
  const messageId = call.services.ids.uuid();
  const canonical = attributes.length === 0 ? undefined : encodeAttributes(attributes);
  const canonicalMd5 = canonical === undefined ? undefined : md5Hex(canonical);
  const trace = traceHeader ?? traceOf(call);
  const origin = encodeOrigin({
    messageId,
    bodyMd5,
    plainBody: checked.plainBody,
    sentAt: call.services.clock.now(),
    senderId: call.senderId,
    groupId: checked.groupId,
    dedupId: checked.dedupId,
    traceHeader: trace,
    topicArn: undefined,
    subject: undefined,
    attributes: canonical,
    attributesMd5: canonicalMd5,
  });
  return {
    message: {
      channel: place.channel,
      dedupId: place.dedupId,
      body,
      id: messageId,
      clientId: call.senderId,
      origin: { protocol: 'aws', bytes: origin },
      policy: delayMs === 0 ? undefined : { delayMs },
    },
    bodyMd5,
    attributesMd5: canonicalMd5,
    systemAttributesMd5:
      traceHeader === undefined
        ? undefined
        : attributesMd5([{ name: 'AWSTraceHeader', dataType: 'String', value: traceHeader }]),
  };
}

function readBody(input: Input): Buffer {
  const text = optionalText(input, 'MessageBody');
  if (text === undefined || text === '') throw missingParameter('MessageBody');
  const body = Buffer.from(text, 'utf8');
  if (!isLegalText(text, body.length)) {
    throw new AwsFault(
      SQS_FAULTS.invalidMessageContents,
      'Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | ' +
        '#x10000 to #x10FFFF',
    );
  }
  return body;
}

/** The bodies of what `messagesIn` finds. Undefined: it is no list of structures. */
export function bodiesOf(messagesIn: (input: Input) => readonly unknown[] | undefined): StringField {
  return {
    name: BODY_FIELD,
    count: (input) => {
      const messages = messagesIn(input);
      return messages?.every(hasTextBody) === true ? messages.length : -1;
    },
  };
}

const BODY_FIELD = Buffer.from('"MessageBody"', 'latin1');

function hasTextBody(message: unknown): boolean {
  return (
    typeof message === 'object' && message !== null && typeof (message as Input)['MessageBody'] === 'string'
  );
}

/** Channel and deduplication of a message: one with a group goes to its sub-channel. */
export function placeOf(
  { services }: { readonly services: Pick<AwsServices, 'broker'> },
  queue: Queue,
  groupId: string | undefined,
  dedupId: string | undefined,
): Place {
  if (groupId === undefined) return { channel: queue.channel, dedupId: undefined };
  const { broker } = services;
  const channel = groupPlace(broker, broker.resolve(queue.channel), groupId);
  if (!queue.fifo) return { channel, dedupId: undefined };
  // Neither id holds a space, so the scopes cannot meet.
  const scoped = queue.dedupPerGroup && dedupId !== undefined ? `${groupId} ${dedupId}` : dedupId;
  return { channel, dedupId: scoped };
}

function readFifoIds(
  queue: Queue,
  input: Input,
  body: Buffer,
): { readonly groupId: string | undefined; readonly dedupId: string | undefined } {
  const groupId = readId(input, 'MessageGroupId');
  const given = readId(input, 'MessageDeduplicationId');
  if (!queue.fifo) {
    if (given !== undefined) throw invalidValue(given, 'MessageDeduplicationId', NOT_FOR_QUEUE_TYPE);
    return { groupId, dedupId: undefined };
  }
  if (groupId === undefined) throw missingParameter('MessageGroupId');
  const dedupId = given ?? (queue.contentBasedDedup ? contentDedupId(body) : undefined);
  if (dedupId === undefined) throw noDeduplicationId();
  return { groupId, dedupId };
}

export function noDeduplicationId(): AwsFault {
  return invalidParameterValue(
    'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
  );
}

/** Deduplication by content: SHA-256 of the body alone. */
export function contentDedupId(body: Uint8Array): string {
  return hash('sha256', body, 'hex');
}

function readId(input: Input, name: string): string | undefined {
  const value = optionalText(input, name);
  if (value === undefined) return undefined;
  if (!isLegalId(value)) {
    throw invalidParameterValue(
      `Value ${value.slice(0, 200)} for parameter ${name} is invalid. Reason: ${name} can only include alphanumeric ` +
        'and punctuation characters. 1 to 128 in length.',
    );
  }
  return value;
}

function readDelayMs(queue: Queue, input: Input): number {
  const seconds = optionalInteger(input, 'DelaySeconds');
  if (seconds === undefined) return queue.delayMs;
  if (queue.fifo && seconds !== 0) throw invalidValue(String(seconds), 'DelaySeconds', NOT_FOR_QUEUE_TYPE);
  if (seconds < 0 || seconds > DELAY_SECONDS_MAX) {
    throw invalidValue(
      String(seconds),
      'DelaySeconds',
      `DelaySeconds must be >= 0 and <= ${DELAY_SECONDS_MAX}.`,
    );
  }
  // On FIFO queues 0 means the queue's own delay.
  return queue.fifo ? queue.delayMs : seconds * 1000;
}

/** What the sender of a prepared message is told. Throws when the broker refused it. */
export function sentMessage(
  queue: Queue,
  prepared: PreparedMessage,
  outcome: SendOutcome | undefined,
): SentMessage {
  if (outcome === undefined) throw faultOf('sqs', undefined);
  if (!outcome.ok) throw faultOf('sqs', outcome.error);
  // Undefined fields are left out by either protocol's writer.
  return {
    MD5OfMessageBody: prepared.bodyMd5,
    MessageId: outcome.id,
    MD5OfMessageAttributes: prepared.attributesMd5,
    MD5OfMessageSystemAttributes: prepared.systemAttributesMd5,
    SequenceNumber: queue.fifo ? sequenceNumber(queue.record.createdAt, outcome.sequence) : undefined,
  };
}

/** The fields of a sent message as JSON. All but the id, which may be another protocol's, are digits of ours. */
export function sentFieldsJson(sent: SentMessage): string {
  let out = `"MD5OfMessageBody":"${sent.MD5OfMessageBody}","MessageId":${jsonString(sent.MessageId)}`;
  if (sent.MD5OfMessageAttributes !== undefined) {
    out += `,"MD5OfMessageAttributes":"${sent.MD5OfMessageAttributes}"`;
  }
  if (sent.MD5OfMessageSystemAttributes !== undefined) {
    out += `,"MD5OfMessageSystemAttributes":"${sent.MD5OfMessageSystemAttributes}"`;
  }
  if (sent.SequenceNumber !== undefined) out += `,"SequenceNumber":"${sent.SequenceNumber}"`;
  return out;
}
