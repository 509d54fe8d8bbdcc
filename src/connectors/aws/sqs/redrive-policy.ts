import { invalidValue, queueDoesNotExist } from '../errors.js';
import { queueNameOfArn } from '../names.js';
import type { Queue } from './queue-registry.js';

const MAX_RECEIVE_COUNT_MAX = 1_000;
const SOURCE_QUEUES_MAX = 10;

/** Checks a RedrivePolicy's text and gives its normal form. Throws InvalidParameterValue with AWS's reasons. */
export function readRedrivePolicy(text: string): string {
  const refuse = (reason: string): never => {
    throw invalidValue(text, 'RedrivePolicy', reason);
  };
  const policy = jsonMap(text) ?? refuse('Redrive policy is not a valid JSON map.');
  const arn = policy['deadLetterTargetArn'];
  const count = policy['maxReceiveCount'];
  if (arn === undefined) refuse('Redrive policy does not contain mandatory attribute: deadLetterTargetArn.');
  if (count === undefined) refuse('Redrive policy does not contain mandatory attribute: maxReceiveCount.');
  const unknown = Object.keys(policy).find(
    (key) => key !== 'deadLetterTargetArn' && key !== 'maxReceiveCount',
  );
  if (unknown !== undefined) refuse(`Redrive policy contains unknown attribute: ${unknown}.`);
  const maxReceiveCount = typeof count === 'string' && /^\d{1,6}$/.test(count) ? Number(count) : count;
  if (
    typeof maxReceiveCount !== 'number' ||
    !Number.isInteger(maxReceiveCount) ||
    maxReceiveCount < 1 ||
    maxReceiveCount > MAX_RECEIVE_COUNT_MAX
  ) {
    refuse(
      `Invalid value for maxReceiveCount: ${String(count)}, valid values are from 1 to ${MAX_RECEIVE_COUNT_MAX} both inclusive.`,
    );
  }
  if (typeof arn !== 'string' || queueNameOfArn(arn) === undefined) {
    refuse('Invalid value for deadLetterTargetArn.');
  }
  return JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount });
}

/** Checks a RedriveAllowPolicy's text and gives its normal form. Throws InvalidParameterValue. */
export function readRedriveAllowPolicy(text: string): string {
  const refuse = (reason: string): never => {
    throw invalidValue(text, 'RedriveAllowPolicy', reason);
  };
  const policy = jsonMap(text) ?? refuse('Redrive allow policy is not a valid JSON map.');
  const permission = policy['redrivePermission'];
  const sources = policy['sourceQueueArns'];
  if (permission !== 'allowAll' && permission !== 'denyAll' && permission !== 'byQueue') {
    refuse('redrivePermission must be allowAll, denyAll or byQueue.');
  }
  if (permission === 'byQueue') {
    const listed = Array.isArray(sources) ? (sources as readonly unknown[]) : [];
    if (listed.length < 1 || listed.length > SOURCE_QUEUES_MAX) {
      refuse(`sourceQueueArns must list 1 to ${SOURCE_QUEUES_MAX} queues with byQueue.`);
    }
    if (listed.some((arn) => typeof arn !== 'string' || queueNameOfArn(arn) === undefined)) {
      refuse('sourceQueueArns must be queue ARNs.');
    }
  } else if (sources !== undefined) {
    refuse('sourceQueueArns is allowed with byQueue only.');
  }
  return JSON.stringify(policy);
}

/**
 * Checks that the dead-letter queue of a (normal) RedrivePolicy exists, is of the same type and lets `source` in.
 * Throws NonExistentQueue and InvalidParameterValue.
 */
export function checkDeadLetterQueue(
  policy: string,
  source: { readonly arn: string; readonly fifo: boolean },
  find: (name: string) => Queue | undefined,
): void {
  const { deadLetterTargetArn } = JSON.parse(policy) as { deadLetterTargetArn: string };
  const target = find(queueNameOfArn(deadLetterTargetArn) ?? '');
  if (target === undefined) throw queueDoesNotExist();
  if (target.fifo !== source.fifo) {
    throw invalidValue(
      policy,
      'RedrivePolicy',
      'Dead-letter queue must be same type of queue as the source.',
    );
  }
  const allow = target.record.attributes['RedriveAllowPolicy'];
  if (allow === undefined) return;
  const { redrivePermission, sourceQueueArns } = JSON.parse(allow) as {
    redrivePermission: string;
    sourceQueueArns?: readonly string[];
  };
  const listed = sourceQueueArns?.some((arn) => queueNameOfArn(arn) === queueNameOfArn(source.arn)) ?? false;
  if (redrivePermission === 'denyAll' || (redrivePermission === 'byQueue' && !listed)) {
    throw invalidValue(
      policy,
      'RedrivePolicy',
      'The dead-letter queue does not allow this queue to use it (RedriveAllowPolicy).',
    );
  }
}

/** Name of the queue that a queue's RedrivePolicy sends dead letters to. */
export function deadLetterQueueOf({ record }: Queue): string | undefined {
  const policy = record.attributes['RedrivePolicy'];
  if (policy === undefined) return undefined;
  const { deadLetterTargetArn } = JSON.parse(policy) as { deadLetterTargetArn: string };
  return queueNameOfArn(deadLetterTargetArn);
}

function jsonMap(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
