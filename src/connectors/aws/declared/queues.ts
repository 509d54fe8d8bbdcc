import { FIFO_SUFFIX, queueArn } from '../names.js';
import { createQueue } from '../sqs/create-queue-action.js';
import { checkAttributes, effectiveAttribute } from '../sqs/queue-attributes.js';
import { setQueueAttributes } from '../sqs/set-queue-attributes-action.js';
import { tagQueue } from '../sqs/tag-queue-action.js';
import { declaring } from './declarer.js';
import type { Declarer } from './declarer.js';
import type { DeclaredQueue } from './schema.js';

/** Of these the first may name queues that come later in the file. */
const LATER: ReadonlySet<string> = new Set(['RedrivePolicy', 'RedriveAllowPolicy']);

/** Makes the queues that are missing, then sets what differs from the file. Throws an Error that names the place. */
export async function declareQueues(declarer: Declarer, queues: readonly DeclaredQueue[]): Promise<void> {
  for (const [i, queue] of queues.entries()) await declaring(placeOf(i, queue), () => make(declarer, queue));
  for (const [i, queue] of queues.entries())
    await declaring(placeOf(i, queue), () => settle(declarer, queue));
}

function placeOf(i: number, { name }: DeclaredQueue): string {
  return `connectors.aws.queues[${i}] (${name})`;
}

async function make(declarer: Declarer, queue: DeclaredQueue): Promise<void> {
  const { name } = queue;
  if (declarer.services.queues.find(name) !== undefined) return;
  const now = Object.entries(attributesOf(declarer, queue)).filter(([key]) => !LATER.has(key));
  await declarer.run(createQueue, { QueueName: name, Attributes: Object.fromEntries(now), tags: queue.tags });
}

async function settle(declarer: Declarer, queue: DeclaredQueue): Promise<void> {
  const made = declarer.services.queues.find(queue.name);
  if (made === undefined) throw new Error('it was deleted meanwhile');
  const { record, fifo } = made;
  const wanted = checkAttributes(new Map(Object.entries(attributesOf(declarer, queue))), fifo);
  const differing = [...wanted].filter(
    ([key, value]) => (effectiveAttribute(record.attributes, key, fifo) ?? '') !== value,
  );
  if (differing.length > 0) {
    await declarer.run(setQueueAttributes, {
      QueueUrl: queue.name,
      Attributes: Object.fromEntries(differing),
    });
  }
  if (Object.entries(queue.tags).some(([key, value]) => record.tags[key] !== value)) {
    await declarer.run(tagQueue, { QueueUrl: queue.name, Tags: queue.tags });
  }
}

function attributesOf(
  { services }: Declarer,
  { name, attributes, deadLetter }: DeclaredQueue,
): Record<string, string> {
  const all = { ...attributes };
  if (name.endsWith(FIFO_SUFFIX)) all['FifoQueue'] ??= 'true';
  if (deadLetter !== undefined) {
    all['RedrivePolicy'] ??= JSON.stringify({
      deadLetterTargetArn: queueArn(services.config, deadLetter.queue),
      maxReceiveCount: deadLetter.maxReceiveCount,
    });
  }
  return all;
}
