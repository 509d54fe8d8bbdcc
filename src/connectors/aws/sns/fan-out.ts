import { BrokerError } from '../../../core/errors.js';
import type { OutgoingMessage } from '../../../core/message.js';
import type { SendOutcome } from '../../../core/queue/types.js';
import { archiveChannel, deliveryChannel, ledgerChannel } from '../names.js';
import type { AwsServices, Call } from '../operation.js';
import { ATTRIBUTES_MAX } from '../sqs/message-attributes.js';
import { sequenceNumber } from '../sqs/sequence-number.js';
import { webhookCopy } from '../webhooks/webhook-copy.js';
import { md5Hex, md5HexOfAll } from '../wire/md5.js';
import { archivedEvent } from './archive.js';
import { LEDGER_SETTINGS } from './ledger.js';
import { textFor } from './publication.js';
import type { Content, Publication } from './publication.js';
import { deliveredBytes, queueCopy, signatureFor } from './queue-copy.js';
import type { QueueDraft } from './queue-copy.js';
import type { Subscription } from './subscription.js';
import type { Topic } from './topic-registry.js';

/** Copies stored in one entry; a topic with more subscriptions takes several. */
const ENTRY_COPIES_MAX = 10_000;
const ENTRY_BYTES_MAX = 64 * 1024 * 1024;

/** What Publish answers for one message. */
export interface Published {
  readonly MessageId: string;
  readonly SequenceNumber: string | undefined;
}

/** One copy of a message, and whose it is. */
interface Copy {
  readonly message: OutgoingMessage;
  readonly subscription: Subscription;
  readonly content: Content;
}

/** The same before it is written: `draft` is a queue's, all else needs no checksum of its own. */
interface Planned {
  readonly draft: QueueDraft | OutgoingMessage;
  readonly subscription: Subscription;
  readonly content: Content;
}

/**
 * Stores a copy of each message for every subscription whose filter lets it through: all of them in one entry. What a queue
 * cannot take goes to the subscription's dead-letter queue, or nowhere, as on AWS. Throws when the broker is not available:
 * then nothing is lost by publishing again.
 */
export async function deliver(
  call: Call,
  topic: Topic,
  publications: readonly Publication[],
): Promise<readonly Published[]> {
  if (topic.fifo && topic.archives) return deliverArchived(call.services, topic, publications);
  if (topic.fifo) return deliverInOrder(call.services, topic, publications);
  const planned: Planned[] = [];
  for (const publication of publications) addCopies(call.services, topic, publication, planned);
  await store(call.services, written(call.services, planned));
  return publications.map(({ messageId }) => ({ MessageId: messageId, SequenceNumber: undefined }));
}

/** Topics that archive: a replay that hands over to new messages keeps them back for that moment. */
async function deliverArchived(
  services: AwsServices,
  topic: Topic,
  publications: readonly Publication[],
): Promise<readonly Published[]> {
  await services.replays.enter(topic.name);
  try {
    return await deliverInOrder(services, topic, publications);
  } finally {
    services.replays.leave(topic.name);
  }
}

/**
 * FIFO topics: the ledger's window says what is a duplicate, and its sequence is the topic's. Deciding and storing happen in
 * one turn, so what was published first comes first in every queue; ledger and copies are one entry, so a duplicate is never
 * taken for delivered when it was not.
 */
async function deliverInOrder(
  services: AwsServices,
  topic: Topic,
  publications: readonly Publication[],
): Promise<readonly Published[]> {
  const { broker } = services;
  const ledger = ledgerChannel(topic.name);
  const { createdAt } = topic.record;
  if (broker.queueStats(ledger) === undefined) {
    // Somebody removed what is not theirs.
    await broker.change([
      { do: 'create-queue', channel: ledger, settings: LEDGER_SETTINGS, ifMissing: true },
    ]);
  }
  const planned: Planned[] = [];
  const notes: OutgoingMessage[] = [];
  const archives = broker.logStats(archiveChannel(topic.name)) !== undefined;
  const append: OutgoingMessage[] = [];
  const seen = new Set<string>();
  let next = (broker.queueStats(ledger)?.lastSequence ?? 0) + 1;
  for (const publication of publications) {
    const { dedupId = '', groupId = '', messageId } = publication;
    // Neither id holds a space, so the scopes cannot meet.
    const scoped = topic.dedupPerGroup ? `${groupId} ${dedupId}` : dedupId;
    notes.push({ channel: ledger, body: NO_BODY, id: messageId, dedupId: scoped });
    if (seen.has(scoped) || broker.remembers(ledger, scoped)) continue;
    seen.add(scoped);
    publication.sequenceNumber = sequenceNumber(createdAt, next++);
    addCopies(services, topic, publication, planned);
    if (archives) {
      const content = contentOf(publication, textFor(publication, 'sqs'));
      append.push(archivedEvent(services.config, topic.name, content));
    }
  }
  const copies = written(services, planned);
  const outcomes = await broker.send([...notes, ...copies.map(({ message }) => message)], { append });
  await handleRefused(services, copies, outcomes.slice(notes.length));
  return notes.map((_, i) => {
    const outcome = outcomes[i];
    if (outcome?.ok !== true) throw outcome?.error ?? new BrokerError('internal', 'no outcome');
    return { MessageId: outcome.id, SequenceNumber: sequenceNumber(createdAt, outcome.sequence) };
  });
}

/** What copies are made with. */
type CopyServices = Omit<AwsServices, 'webhooks' | 'replays'>;

const NO_BODY = Buffer.alloc(0);

/** Adds a publication's copies for the subscriptions of its topic. */
function addCopies(services: AwsServices, topic: Topic, publication: Publication, into: Planned[]): void {
  // Nearly always one: protocols with a text of their own are rare.
  let content: Content | undefined;
  for (const subscription of services.topics.subscriptionsOf(topic.name)) {
    if (!subscription.confirmed || !subscription.live) continue;
    const text = textFor(publication, subscription.record.protocol);
    if (subscription.filter !== undefined && !publication.values.passes(subscription.filter, text)) {
      services.counters.fanOutFiltered++;
      continue;
    }
    if (content?.text !== text) content = contentOf(publication, text);
    const draft = draftOrLetter(services, subscription, content);
    if (draft !== undefined) into.push({ draft, subscription, content });
  }
}

/** Writes what was planned: the checksums of all bodies are taken together. */
function written(services: CopyServices, planned: readonly Planned[]): readonly Copy[] {
  const bodies: Buffer[] = [];
  for (const { draft } of planned) if (isDraft(draft)) bodies.push(draft.body);
  const sums = md5HexOfAll(bodies);
  let next = 0;
  return planned.map(({ draft, subscription, content }) => {
    const message = isDraft(draft) ? queueCopy(services, draft, sums[next++] as string) : draft;
    return { message, subscription, content };
  });
}

function isDraft(draft: QueueDraft | OutgoingMessage): draft is QueueDraft {
  return 'queue' in draft;
}

/** What is stored for one subscription: its copy, or its dead letter; undefined when there is nowhere to put either. */
export function copyOrLetter(
  services: CopyServices,
  subscription: Subscription,
  content: Content,
): OutgoingMessage | undefined {
  const draft = draftOrLetter(services, subscription, content);
  return draft !== undefined && isDraft(draft) ? queueCopy(services, draft, md5Hex(draft.body)) : draft;
}

function draftOrLetter(
  services: CopyServices,
  subscription: Subscription,
  content: Content,
): QueueDraft | OutgoingMessage | undefined {
  const draft = draftFor(services, subscription, content) ?? deadLetterDraft(services, subscription, content);
  if (draft === undefined) services.counters.fanOutDropped++;
  return draft;
}

function contentOf(publication: Publication, text: string): Content {
  const { messageId, timestamp, subject, attributes, senderId } = publication;
  const { groupId, dedupId, traceHeader, sequenceNumber: number } = publication;
  return {
    messageId,
    timestamp,
    subject,
    text,
    attributes,
    senderId,
    groupId,
    dedupId,
    traceHeader,
    sequenceNumber: number,
  };
}

/** The message one subscription gets; undefined when its queue is not there or cannot take it. */
function draftFor(
  services: CopyServices,
  subscription: Subscription,
  content: Content,
): QueueDraft | OutgoingMessage | undefined {
  const { queueName, raw, key, record } = subscription;
  if (queueName === undefined)
    return webhookCopy(deliveryChannel(key), services.config, record.topic, content);
  const queue = services.queues.find(queueName);
  if (queue === undefined || (raw && content.attributes.length > ATTRIBUTES_MAX)) return undefined;
  const body = queueBody(services, subscription, content);
  const fits = body.length <= queue.messageBytesMax;
  return fits ? { queue, subscription, content, body } : undefined;
}

/** What queues get is signed only where that is turned on: it costs more than all the rest. */
function queueBody(services: CopyServices, subscription: Subscription, content: Content): Buffer {
  const sign =
    services.config.signQueueDeliveries && !subscription.raw && content.sequenceNumber === undefined;
  const signed = sign ? signatureFor(services, subscription, content) : undefined;
  return deliveredBytes(services, subscription, content, signed);
}

/** The message for a subscription's dead-letter queue; undefined when it has none or that is not there. */
function deadLetterDraft(
  services: CopyServices,
  subscription: Subscription,
  content: Content,
): QueueDraft | undefined {
  const { deadLetterQueue } = subscription;
  const queue = deadLetterQueue === undefined ? undefined : services.queues.find(deadLetterQueue);
  if (queue === undefined) return undefined;
  services.counters.fanOutDeadLettered++;
  return { queue, subscription, content, body: queueBody(services, subscription, content) };
}

async function store(services: AwsServices, copies: readonly Copy[]): Promise<void> {
  for (let from = 0; from < copies.length;) {
    let bytes = 0;
    let to = from;
    while (to < copies.length && to - from < ENTRY_COPIES_MAX) {
      bytes += copies[to]?.message.body.length ?? 0;
      if (bytes > ENTRY_BYTES_MAX && to > from) break;
      to++;
    }
    const part = copies.slice(from, to);
    await handleRefused(services, part, await services.broker.send(part.map(({ message }) => message)));
    from = to;
  }
}

/** Copies a queue refused (it went meanwhile) are dead letters. Throws when the broker as a whole refused. */
async function handleRefused(
  services: AwsServices,
  copies: readonly Copy[],
  outcomes: readonly SendOutcome[],
): Promise<void> {
  const letters: OutgoingMessage[] = [];
  for (let i = 0; i < copies.length; i++) {
    const outcome = outcomes[i];
    const copy = copies[i];
    if (copy === undefined || outcome?.ok !== false) continue;
    if (isPassing(outcome.error)) throw outcome.error;
    const letter = deadLetterDraft(services, copy.subscription, copy.content);
    if (letter === undefined) services.counters.fanOutDropped++;
    else letters.push(queueCopy(services, letter, md5Hex(letter.body)));
  }
  if (letters.length > 0) await services.broker.send(letters);
}

function isPassing({ kind }: BrokerError): boolean {
  return kind === 'unavailable' || kind === 'draining' || kind === 'internal';
}
