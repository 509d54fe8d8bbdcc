import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { missingParameter, queueDoesNotExist } from '../errors.js';
import { optionalText } from '../input.js';
import { queueChannel, queueNameOfUrl } from '../names.js';
import type { Call } from '../operation.js';
import { effectiveAttribute, numericAttribute } from './queue-attributes.js';
import type { QueueAttributes } from './queue-attributes.js';

export const QUEUE_KIND = 'aws.queue';
/** Most messages of one receive. */
export const RECEIVED_MAX = 10;

/** What the registry keeps of a queue, under its name. */
export interface QueueRecord {
  /** Unix seconds. */
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly attributes: QueueAttributes;
  readonly tags: Readonly<Record<string, string>>;
}

/** A queue with what its operations need read out of its attributes. */
export interface Queue {
  readonly name: string;
  readonly record: QueueRecord;
  readonly version: number;
  readonly channel: ChannelName;
  readonly fifo: boolean;
  readonly contentBasedDedup: boolean;
  readonly dedupPerGroup: boolean;
  readonly messageBytesMax: number;
  readonly delayMs: number;
  readonly visibilityTimeoutMs: number;
  readonly receiveWaitMs: number;
}

/** The queues created through the SQS API: the only ones it sees. */
export class QueueRegistry {
  readonly #broker: Broker;
  /** Read-out forms by name, good for as long as the registry holds the same value. */
  readonly #read = new Map<string, Queue>();
  readonly #purgedAt = new Map<string, number>();
  /** Receives that may pass before the messages in flight are counted again. */
  readonly #uncounted = new Map<string, number>();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  find(name: string): Queue | undefined {
    const entry = this.#broker.registry.get<QueueRecord>(QUEUE_KIND, name);
    if (entry === undefined) {
      this.#read.delete(name);
      this.#purgedAt.delete(name);
      this.#uncounted.delete(name);
      return undefined;
    }
    const known = this.#read.get(name);
    if (known !== undefined && known.record === entry.value) return known;
    const queue = readOut(name, entry.value, entry.version);
    this.#read.set(name, queue);
    return queue;
  }

  /** All, by name. */
  list(): readonly Queue[] {
    return this.#broker.registry
      .list<QueueRecord>(QUEUE_KIND)
      .map((entry) => this.find(entry.key))
      .filter((queue) => queue !== undefined);
  }

  /**
   * Whether the queue may hand out more messages. Counting walks the groups of a FIFO queue, so it is not done again
   * before so many receives as could reach the bound.
   */
  mayReceive({ name, channel }: Queue, inFlightMax: number): boolean {
    const uncounted = this.#uncounted.get(name) ?? 0;
    if (uncounted > 0) {
      this.#uncounted.set(name, uncounted - 1);
      return true;
    }
    const left = inFlightMax - (this.#broker.queueStats(channel)?.inFlight ?? 0);
    this.#uncounted.set(name, Math.max(0, Math.floor(left / RECEIVED_MAX) - 1));
    return left > 0;
  }

  /** Notes a purge, or says that the last one was less than `cooldownMs` ago. */
  tryPurge(name: string, now: number, cooldownMs: number): boolean {
    const last = this.#purgedAt.get(name);
    if (last !== undefined && now - last < cooldownMs) return false;
    this.#purgedAt.set(name, now);
    return true;
  }
}

function readOut(name: string, record: QueueRecord, version: number): Queue {
  const { attributes } = record;
  const fifo = attributes['FifoQueue'] === 'true';
  return {
    name,
    record,
    version,
    channel: queueChannel(name),
    fifo,
    contentBasedDedup: attributes['ContentBasedDeduplication'] === 'true',
    dedupPerGroup: effectiveAttribute(attributes, 'DeduplicationScope', fifo) === 'messageGroup',
    messageBytesMax: numericAttribute(attributes, 'MaximumMessageSize', fifo),
    delayMs: numericAttribute(attributes, 'DelaySeconds', fifo) * 1000,
    visibilityTimeoutMs: numericAttribute(attributes, 'VisibilityTimeout', fifo) * 1000,
    receiveWaitMs: numericAttribute(attributes, 'ReceiveMessageWaitTimeSeconds', fifo) * 1000,
  };
}

/** The queue a request is for: its QueueUrl, else its path. Throws MissingParameter and NonExistentQueue. */
export function queueOf(call: Call): Queue {
  const url = optionalText(call.input, 'QueueUrl');
  const name = queueNameOfUrl(url ?? call.path);
  if (name === '' && url === undefined) throw missingParameter('QueueUrl');
  const queue = call.services.queues.find(name);
  if (queue === undefined) throw queueDoesNotExist();
  return queue;
}
