import { md5OfAll } from '../../base/md5.js';
import type { ChannelName } from '../../core/channel-name.js';
import { MessageView, MINTED_ID_CHARS } from '../../core/message-codec.js';
import type { MessagePolicy, OutgoingMessage, StoredMessage, Tags } from '../../core/message.js';
import type { Delivery, PeekedMessage, SendOutcome } from '../../core/queue/types.js';
import { nativeText } from './errors.js';
import { NATIVE_LIMITS } from './limits.js';
import { DeliveredQueueMessage } from './wire/delivered-queue-message.js';
import type {
  OutgoingQueueMessage,
  QueueMessage,
  QueueMessagePolicy,
  SendQueueMessageResult,
} from './wire/messages.js';
import type { Sink } from './wire/sink.js';

const NS_PER_MS = 1_000_000n;

let lastMs = 0;
let lastNs = 0n;

/** Unix ms as Unix ns; 0 (never, none) stays 0. Messages of a batch mostly have one and the same time. */
export function nanoseconds(ms: number): bigint {
  if (ms === 0) return 0n;
  if (ms !== lastMs) {
    lastMs = ms;
    lastNs = BigInt(ms) * NS_PER_MS;
  }
  return lastNs;
}

/** A checked message (see rules.ts) on its way in. */
export function outgoingQueueMessage(message: QueueMessage): OutgoingMessage {
  return {
    channel: message.channel as ChannelName,
    body: message.body,
    id: message.messageId === '' ? undefined : message.messageId,
    clientId: message.clientId,
    metadata: message.metadata === '' ? undefined : message.metadata,
    tags: message.tags.size === 0 ? undefined : message.tags,
    policy: message.policy === undefined ? undefined : messagePolicy(message.policy),
  };
}

/**
 * A receive count of 0 with a queue means the contract's largest one. Without a queue it means that the message says nothing
 * about it, and the queue's own rule holds: dropping it after 1024 deliveries would lose it for no reason.
 */
function messagePolicy(policy: QueueMessagePolicy): MessagePolicy {
  const { delaySeconds, expirationSeconds, maxReceiveCount, maxReceiveQueue } = policy;
  return {
    ...(delaySeconds > 0 ? { delayMs: delaySeconds * 1000 } : undefined),
    ...(expirationSeconds > 0 ? { expirationMs: expirationSeconds * 1000 } : undefined),
    ...(maxReceiveCount > 0 ? { maxReceiveCount } : undefined),
    ...(maxReceiveQueue === ''
      ? undefined
      : {
          maxReceiveQueue: maxReceiveQueue as ChannelName,
          maxReceiveCount: maxReceiveCount > 0 ? maxReceiveCount : NATIVE_LIMITS.receiveCountMax,
        }),
  };
}

export function sendResult(message: QueueMessage, outcome: SendOutcome): SendQueueMessageResult {
  if (!outcome.ok) return sendFailure(message, nativeText(outcome.error));
  return {
    messageId: outcome.id,
    sentAt: nanoseconds(outcome.enqueuedAt),
    expirationAt: nanoseconds(outcome.expiresAt),
    delayedTo: nanoseconds(outcome.delayedTo),
    refChannel: message.channel,
  };
}

export function sendFailure(message: QueueMessage, text: string): SendQueueMessageResult {
  return { messageId: message.messageId, isError: true, error: text, refChannel: message.channel };
}

/** What both a delivery and a peeked message have. */
type Seen = Pick<
  Delivery & PeekedMessage,
  'message' | 'sequence' | 'enqueuedAt' | 'receiveCount' | 'expiresAt' | 'delayedTo' | 'reRoutedFrom'
>;

/** A message on its way out, under the channel name the reader knows it by. A foreign message shows its neutral view. */
export function deliveredQueueMessage(
  seen: Seen,
  channel: string,
  sequence = seen.sequence,
): OutgoingQueueMessage {
  const [message] = deliveredQueueMessages(
    [seen],
    () => channel,
    () => sequence,
  );
  return message as OutgoingQueueMessage;
}

/** The same of many. */
export function deliveredQueueMessages<T extends Seen>(
  all: readonly T[],
  channelOf: (seen: T) => string,
  sequenceOf: (seen: T) => number,
): OutgoingQueueMessage[] {
  const bodies = all.map(({ message }) => message.body);
  const together = { bodies, digests: md5OfAll(bodies) };
  return all.map((seen, place) => {
    const message = new Shown(seen, channelOf(seen), together, place);
    message.sequence = sequenceOf(seen);
    return message;
  });
}

/** What is handed out together. */
interface Together {
  readonly bodies: readonly Uint8Array[];
  readonly digests: Buffer;
}

/** A message as the core hands it out. */
class Shown extends DeliveredQueueMessage {
  readonly seen: Seen;

  constructor(seen: Seen, channel: string, { bodies, digests }: Together, place: number) {
    super(channel, bodies[place] as Uint8Array, digests, place);
    this.seen = seen;
  }

  get messageId(): string {
    return this.seen.message.id;
  }

  get clientId(): string {
    return this.seen.message.clientId;
  }

  get metadata(): string {
    return this.seen.message.metadata;
  }

  get tags(): Tags {
    return this.seen.message.tags;
  }

  get timestamp(): bigint {
    return nanoseconds(this.seen.enqueuedAt);
  }

  get receiveCount(): number {
    return this.seen.receiveCount;
  }

  get reRoutedFrom(): string {
    return this.seen.reRoutedFrom;
  }

  get expirationAt(): bigint {
    return nanoseconds(this.seen.expiresAt);
  }

  get delayedTo(): bigint {
    return nanoseconds(this.seen.delayedTo);
  }

  // What was dead-lettered or moved has its policy behind it.
  get policy(): Partial<QueueMessagePolicy> {
    return this.seen.reRoutedFrom === '' ? deliveredPolicy(this.seen.message) : {};
  }

  protected putId(sink: Sink): boolean {
    const { message } = this.seen;
    if (!(message instanceof MessageView) || message.hasOwnId) return false;
    sink.room(MINTED_ID_CHARS);
    message.putMintedId(sink.bytes, sink.at);
    sink.small(MINTED_ID_CHARS);
    return true;
  }
}

const NO_POLICY: QueueMessagePolicy = {
  expirationSeconds: 0,
  delaySeconds: 0,
  maxReceiveCount: 0,
  maxReceiveQueue: '',
};

function deliveredPolicy({ policy }: StoredMessage): Partial<QueueMessagePolicy> {
  const { expirationMs, delayMs, maxReceiveCount, maxReceiveQueue } = policy;
  if ((expirationMs ?? delayMs ?? maxReceiveCount ?? maxReceiveQueue) === undefined) return NO_POLICY;
  return {
    // Other protocols count in milliseconds: rounded up, so that some never shows as none.
    expirationSeconds: Math.ceil((expirationMs ?? 0) / 1000),
    delaySeconds: Math.ceil((delayMs ?? 0) / 1000),
    maxReceiveCount: maxReceiveCount ?? 0,
    maxReceiveQueue: maxReceiveQueue ?? '',
  };
}
