import { invalidParameterValue, SQS_FAULTS } from '../errors.js';
import { queueNameOfArn } from '../names.js';
import type { Call } from '../operation.js';
import { AwsFault } from '../wire/fault.js';
import type { Queue } from './queue-registry.js';

const HANDLE_CHARS_MAX = 2_048;

/** Names a move task to clients: base64 of JSON, as AWS does it. */
export function moveTaskHandle(taskId: string, sourceArn: string): string {
  return Buffer.from(JSON.stringify({ taskId, sourceArn }), 'utf8').toString('base64');
}

/** Reads a handle back. Throws InvalidParameterValue. */
export function readMoveTaskHandle(text: string): { readonly taskId: string; readonly source: string } {
  const refusal = invalidParameterValue('Value for parameter TaskHandle is invalid.');
  if (text.length > HANDLE_CHARS_MAX) throw refusal;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
  } catch {
    throw refusal;
  }
  const { taskId, sourceArn } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const source = typeof sourceArn === 'string' ? queueNameOfArn(sourceArn) : undefined;
  if (typeof taskId !== 'string' || source === undefined) throw refusal;
  return { taskId, source };
}

/** The queue an ARN parameter names. Throws InvalidParameterValue and ResourceNotFoundException. */
export function queueOfArn(call: Call, parameter: string, arn: string): Queue {
  const name = queueNameOfArn(arn);
  if (name === undefined) {
    throw invalidParameterValue(
      `You must use this format to specify the ${parameter}: arn:<partition>:<service>:<region>:<account-id>:<resource-id>`,
    );
  }
  const queue = call.services.queues.find(name);
  if (queue === undefined) {
    throw resourceNotFound(`The resource that you specified for the ${parameter} parameter doesn't exist.`);
  }
  return queue;
}

export function resourceNotFound(message: string): AwsFault {
  return new AwsFault(SQS_FAULTS.resourceNotFound, message);
}
