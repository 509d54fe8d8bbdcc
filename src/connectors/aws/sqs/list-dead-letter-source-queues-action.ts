import { invalidParameterValue } from '../errors.js';
import { queueNameOfArn } from '../names.js';
import { operation } from '../operation.js';
import { pageOf } from '../paging.js';
import { queueUrl } from '../urls.js';
import { flatList, scalar, structure } from '../wire/shape.js';
import { readPaging } from './list-queues-action.js';
import type { RedrivePolicy } from './queue-attributes.js';
import { queueOf } from './queue-registry.js';
import type { Queue } from './queue-registry.js';

/** ListDeadLetterSourceQueues: the queues whose RedrivePolicy names this one. */
export const listDeadLetterSourceQueues = operation({
  name: 'ListDeadLetterSourceQueues',
  input: structure({ QueueUrl: scalar, MaxResults: scalar, NextToken: scalar }),
  output: structure({ queueUrls: flatList('QueueUrl'), NextToken: scalar }),
  run(call) {
    const queue = queueOf(call);
    const paging = readPaging(call.input);
    const { queues, config } = call.services;
    const sources = queues.list().filter((source) => deadLetterQueueOf(source) === queue.name);
    const page = pageOf(sources, ({ name }) => name, paging);
    if (page === undefined) throw invalidParameterValue('Invalid NextToken value.');
    return {
      queueUrls: page.items.map(({ name }) => queueUrl(call.origin, config, name)),
      ...(page.nextToken !== undefined && paging.asked && { NextToken: page.nextToken }),
    };
  },
});

function deadLetterQueueOf({ record }: Queue): string | undefined {
  const policy = record.attributes['RedrivePolicy'];
  if (policy === undefined) return undefined;
  return queueNameOfArn((JSON.parse(policy) as RedrivePolicy).deadLetterTargetArn);
}
