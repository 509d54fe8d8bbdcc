import type { Delivery } from '../../../core/queue/types.js';
import { Pieces } from '../../kit/http1/pieces.js';
import { invalidParameterValue, invalidValue, SQS_FAULTS } from '../errors.js';
import { optionalInteger, optionalText, textsOf } from '../input.js';
import type { Input } from '../input.js';
import { operation } from '../operation.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import { flatList, flatMap, scalar, structure } from '../wire/shape.js';
import { isLegalId } from '../wire/text.js';
import { readAttributeSelection, readSystemSelection } from './attribute-selection.js';
import { queueOf, RECEIVED_MAX } from './queue-registry.js';
import type { Queue } from './queue-registry.js';
import type { Received } from './receive-attempts.js';
import { ReceivedMessage, writeReceivedMessage } from './received-message.js';
import { messageAttributes } from './shapes.js';

const WAIT_SECONDS_MAX = 20;
export const VISIBILITY_SECONDS_MAX = 43_200;
/** Bodies of one answer, so that ten messages of the largest size fit. */
const ANSWER_BYTES_MAX = 12 * 1024 * 1024;
/** Lease of messages that a visibility timeout of 0 gives back at once. */
const ZERO_VISIBILITY_LEASE_MS = 10_000;

/** ReceiveMessage: short or long poll; a long one ends as soon as one message is there or the client leaves. */
export const receiveMessage = operation<{ readonly Messages?: readonly ReceivedMessage[] }>({
  name: 'ReceiveMessage',
  input: structure({
    QueueUrl: scalar,
    AttributeNames: flatList('AttributeName'),
    MessageSystemAttributeNames: flatList('MessageSystemAttributeName'),
    MessageAttributeNames: flatList('MessageAttributeName'),
    MaxNumberOfMessages: scalar,
    VisibilityTimeout: scalar,
    WaitTimeSeconds: scalar,
    ReceiveRequestAttemptId: scalar,
  }),
  output: structure({
    Messages: flatList(
      'Message',
      structure({
        MessageId: scalar,
        ReceiptHandle: scalar,
        MD5OfBody: scalar,
        Body: scalar,
        Attributes: flatMap('Attribute'),
        MD5OfMessageAttributes: scalar,
        MessageAttributes: messageAttributes,
      }),
    ),
  }),
  async run(call) {
    const { input, services } = call;
    const queue = queueOf(call);
    const system = readSystemSelection([
      textsOf(input, 'AttributeNames'),
      textsOf(input, 'MessageSystemAttributeNames'),
    ]);
    const attributes = readAttributeSelection(textsOf(input, 'MessageAttributeNames'));
    const max = readRange(input, 'MaxNumberOfMessages', 1, RECEIVED_MAX) ?? 1;
    const waitSeconds = readWaitSeconds(input);
    const visibilitySeconds = readVisibilitySeconds(input);
    const attemptId = readAttemptId(queue, input);
    const waitMs = waitSeconds === undefined ? queue.receiveWaitMs : waitSeconds * 1000;
    const leaseMs = visibilitySeconds === undefined ? queue.visibilityTimeoutMs : visibilitySeconds * 1000;
    const want = { max, waitMs, leaseMs };
    const received =
      attemptId === undefined
        ? { deliveries: await receive(call, queue, want), leaseMs }
        : await receiveAgain(call, queue, attemptId, want);
    const { deliveries } = received;
    if (deliveries.length === 0) return {};
    const channel = services.broker.resolve(queue.channel);
    const { config } = services;
    const view = { config, queue, channel, leaseMs: received.leaseMs, system, attributes };
    return { Messages: deliveries.map((delivery) => new ReceivedMessage(delivery, view)) };
  },
  toJson: ({ Messages: messages }) => {
    if (messages === undefined) return '{}';
    const out = new Pieces();
    for (let i = 0; i < messages.length; i++) {
      out.ascii(i === 0 ? '{"Messages":[' : ',');
      writeReceivedMessage(out, messages[i] as ReceivedMessage);
    }
    out.ascii(']}');
    return out;
  },
});

interface Want {
  readonly max: number;
  readonly waitMs: number;
  readonly leaseMs: number;
}

/** The answer of an earlier receive with this id once more, hidden anew; else a receive whose answer is kept for that. */
async function receiveAgain(call: Call, queue: Queue, attemptId: string, want: Want): Promise<Received> {
  const { attempts, broker, clock } = call.services;
  const earlier = attempts.recall(queue.name, attemptId, clock.now());
  if (earlier === 'spent') {
    throw invalidValue(
      attemptId,
      'ReceiveRequestAttemptId',
      'It is not valid anymore since the receive call is not retryable.',
    );
  }
  // Once the messages are visible again, there is nothing to repeat.
  if (earlier?.deliveries.every((delivery) => broker.holds(delivery)) === true && want.leaseMs > 0) {
    const settlement = { kind: 'extend', leaseMs: want.leaseMs } as const;
    await broker.settle({ tokens: earlier.deliveries, settlement });
    return earlier;
  }
  const deliveries = await receive(call, queue, want);
  const received = { deliveries, leaseMs: want.leaseMs };
  if (deliveries.length > 0 && want.leaseMs > 0) {
    attempts.remember(queue.name, attemptId, received, clock.now());
  }
  return received;
}

/** Too many messages are in flight: a long poll of a standard queue and every one of a FIFO queue finds nothing. */
async function atInFlightMax(call: Call, queue: Queue, waitMs: number): Promise<readonly Delivery[]> {
  if (waitMs > 0) {
    await call.whileConnected(
      (signal) =>
        new Promise<void>((resolve) => {
          const timer = call.services.clock.after(waitMs, resolve);
          const end = (): void => {
            timer.cancel();
            resolve();
          };
          if (signal.aborted) end();
          else signal.addEventListener('abort', end, { once: true });
        }),
    );
  } else if (!queue.fifo) {
    throw new AwsFault(
      SQS_FAULTS.overLimit,
      `Too many messages in flight: a queue has at most ${call.services.config.inFlightMax}.`,
    );
  }
  return [];
}

async function receive(
  call: Call,
  queue: Queue,
  { max, waitMs, leaseMs }: Want,
): Promise<readonly Delivery[]> {
  const { broker, config, queues } = call.services;
  if (!queues.mayReceive(queue, config.inFlightMax)) return atInFlightMax(call, queue, waitMs);
  const request = {
    channel: queue.channel,
    max,
    maxBytes: ANSWER_BYTES_MAX,
    waitMs,
    handOut: { kind: 'lease', leaseMs: leaseMs === 0 ? ZERO_VISIBILITY_LEASE_MS : leaseMs },
  } as const;
  const deliveries =
    waitMs === 0
      ? await broker.receive(request)
      : await call.whileConnected(async (signal) => {
          const picked = await broker.receive({ ...request, signal });
          if (!signal.aborted || picked.length === 0) return picked;
          // The client left in the very moment: as if it had never asked.
          await broker.settle({
            tokens: picked,
            settlement: { kind: 'nack', to: 'origin', uncounted: true },
          });
          return [];
        });
  if (leaseMs === 0 && deliveries.length > 0) {
    // Handed out and counted, yet visible to the next receive.
    const to = queue.fifo ? 'origin' : 'tail';
    await broker.settle({ tokens: deliveries, settlement: { kind: 'nack', to } });
  }
  return deliveries;
}

function readRange(input: Input, name: string, low: number, high: number): number | undefined {
  const value = optionalInteger(input, name);
  if (value !== undefined && (value < low || value > high)) {
    throw invalidValue(String(value), name, `Must be between ${low} and ${high}, if provided.`);
  }
  return value;
}

function readWaitSeconds(input: Input): number | undefined {
  const value = optionalInteger(input, 'WaitTimeSeconds');
  if (value !== undefined && (value < 0 || value > WAIT_SECONDS_MAX)) {
    throw invalidValue(
      String(value),
      'WaitTimeSeconds',
      `Must be >= 0 and <= ${WAIT_SECONDS_MAX}, if provided.`,
    );
  }
  return value;
}

/** A VisibilityTimeout parameter, 0 to 12 hours, in seconds. */
export function readVisibilitySeconds(input: Input): number | undefined {
  return readRange(input, 'VisibilityTimeout', 0, VISIBILITY_SECONDS_MAX);
}

/** Standard queues ignore the id, as AWS does. */
function readAttemptId(queue: Queue, input: Input): string | undefined {
  const id = optionalText(input, 'ReceiveRequestAttemptId');
  if (id === undefined || !queue.fifo) return undefined;
  if (!isLegalId(id)) {
    throw invalidParameterValue(
      `Value ${id.slice(0, 200)} for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can ` +
        'only include alphanumeric and punctuation characters. 1 to 128 in length.',
    );
  }
  return id;
}
