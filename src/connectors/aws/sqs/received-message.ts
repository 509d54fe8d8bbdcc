import type { Delivery } from '../../../core/queue/types.js';
import type { Pieces } from '../../kit/http1/pieces.js';
import { groupOfChannel, queueArnOfChannel, queueNameOfArn } from '../names.js';
import type { AwsConfig } from '../config.js';
import { attributesMd5 } from '../wire/message-attributes.js';
import type { MessageAttribute } from '../wire/message-attributes.js';
import { jsonString } from '../wire/json.js';
import { encodeReceiptHandle } from '../wire/receipt-handle.js';
import { isSelected } from './attribute-selection.js';
import type { AttributeSelection, SystemSelection } from './attribute-selection.js';
import type { Queue } from './queue-registry.js';
import { deadLetterQueueOf } from './redrive-policy.js';
import { sequenceNumber } from './sequence-number.js';
import { sqsViewOf } from './sqs-view.js';
import type { SqsView } from './sqs-view.js';

/** A message as ReceiveMessage gives it. */
export class ReceivedMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly MD5OfBody: string;
  readonly Attributes: Readonly<Record<string, string>> | undefined;
  readonly MD5OfMessageAttributes: string | undefined;
  readonly MessageAttributes: Readonly<Record<string, AttributeValue>> | undefined;
  readonly #seen: SqsView;

  constructor(delivery: Delivery, view: ReceiveView) {
    const seen = sqsViewOf(delivery.message);
    const chosen = view.attributes === undefined ? undefined : chosenAttributes(seen, view.attributes);
    this.#seen = seen;
    this.MessageId = seen.messageId;
    this.ReceiptHandle = encodeReceiptHandle({
      channel: delivery.channel,
      sequence: delivery.sequence,
      attempt: delivery.attempt,
      // Handed out to nobody: its lease was over when it began.
      leaseEndsAt: view.leaseMs === 0 ? 0 : (delivery.leaseEndsAt ?? 0),
      leaseSeconds: Math.ceil(view.leaseMs / 1000),
    });
    this.MD5OfBody = seen.bodyMd5;
    this.Attributes = view.system === undefined ? undefined : systemAttributes(delivery, seen, view);
    this.MD5OfMessageAttributes = chosen?.md5;
    this.MessageAttributes = chosen?.attributes;
  }

  get Body(): string {
    return this.#seen.body;
  }

  /** The body when it needs no escaping in JSON; no part of the answer. */
  get plainBody(): Uint8Array | undefined {
    return this.#seen.plainBody;
  }
}

interface AttributeValue {
  readonly DataType: string;
  readonly StringValue?: string;
  /** Base64. */
  readonly BinaryValue?: string;
}

export interface ReceiveView {
  readonly config: AwsConfig;
  readonly queue: Queue;
  /** The queue's real channel. */
  readonly channel: string;
  readonly leaseMs: number;
  readonly system: SystemSelection;
  readonly attributes: AttributeSelection | undefined;
}

/** A received message as JSON. Receipt handles and checksums are letters and digits of ours. */
export function writeReceivedMessage(out: Pieces, message: ReceivedMessage): void {
  const { Attributes: system, MessageAttributes: attributes } = message;
  const id = jsonString(message.MessageId);
  out.text(
    `{"MessageId":${id},"ReceiptHandle":"${message.ReceiptHandle}","MD5OfBody":"${message.MD5OfBody}"`,
  );
  if (message.plainBody === undefined) {
    out.ascii(',"Body":');
    out.text(JSON.stringify(message.Body));
  } else {
    out.ascii(',"Body":"');
    out.bytes(message.plainBody);
    out.ascii('"');
  }
  if (system !== undefined) out.text(`,"Attributes":${JSON.stringify(system)}`);
  if (attributes !== undefined) {
    const md5 = message.MD5OfMessageAttributes ?? '';
    out.text(`,"MD5OfMessageAttributes":"${md5}","MessageAttributes":${JSON.stringify(attributes)}`);
  }
  out.ascii('}');
}

function systemAttributes(
  delivery: Delivery,
  seen: SqsView,
  { config, queue, channel, system }: ReceiveView,
): Readonly<Record<string, string>> | undefined {
  const out: Record<string, string> = {};
  let count = 0;
  const put = (name: string, value: string | undefined): void => {
    if (value === undefined || system === undefined || !(system.all || system.names.has(name))) return;
    out[name] = value;
    count++;
  };
  put('SenderId', seen.senderId);
  put('SentTimestamp', String(seen.sentAt ?? delivery.enqueuedAt));
  put('ApproximateReceiveCount', String(delivery.receiveCount));
  put('ApproximateFirstReceiveTimestamp', String(delivery.firstReceivedAt));
  put('AWSTraceHeader', seen.traceHeader);
  put('MessageGroupId', seen.groupId ?? groupOfChannel(channel, delivery.channel));
  if (queue.fifo) {
    put('MessageDeduplicationId', seen.dedupId);
    put('SequenceNumber', sequenceNumber(queue.record.createdAt, delivery.sequence));
  }
  if (delivery.reRoutedFrom !== '') {
    const arn = queueArnOfChannel(config, delivery.reRoutedFrom);
    // Brought back from this queue's own dead-letter queue, it is no dead letter any more.
    const back = arn !== undefined && queueNameOfArn(arn) === deadLetterQueueOf(queue);
    if (!back) put('DeadLetterQueueSourceArn', arn);
  }
  return count === 0 ? undefined : out;
}

function chosenAttributes(
  seen: SqsView,
  selection: AttributeSelection,
): { readonly md5: string; readonly attributes: Readonly<Record<string, AttributeValue>> } | undefined {
  if (seen.attributes === undefined) return undefined;
  const all = seen.attributes();
  const chosen = selection === 'all' ? all : all.filter((attribute) => isSelected(selection, attribute));
  if (chosen.length === 0) return undefined;
  const known = chosen.length === all.length ? seen.attributesMd5 : undefined;
  return {
    // The checksum covers what is handed out, not what was sent.
    md5: known ?? attributesMd5(chosen),
    attributes: Object.fromEntries(chosen.map((attribute) => [attribute.name, attributeValue(attribute)])),
  };
}

function attributeValue({ dataType, value }: MessageAttribute): AttributeValue {
  return typeof value === 'string'
    ? { DataType: dataType, StringValue: value }
    : { DataType: dataType, BinaryValue: Buffer.from(value).toString('base64') };
}
