import { invalidParameterValue } from '../errors.js';
import { operation } from '../operation.js';
import { pageOf } from '../paging.js';
import { queueUrl } from '../urls.js';
import { flatList, scalar, structure } from '../wire/shape.js';
import { readPaging } from './list-queues-action.js';
import { queueOf } from './queue-registry.js';
import { deadLetterQueueOf } from './redrive-policy.js';

/** ListDeadLetterSourceQueues: the queues whose RedrivePolicy names this one. */
export const listDeadLetterSourceQueues = operation({
  name: 'ListDeadLetterSourceQueues',
  input: structure({ QueueUrl: scalar, MaxResults: scalar, NextToken: scalar }),
  output: structure({ queueUrls: flatList('QueueUrl'), NextToken: scalar }),
  run(call) {
    const queue = queueOf(call);
    const paging = readPaging(call.input);
    const { queues, config } = call.services;
    const sources = queues
      .list()
      .filter((source) => deadLetterQueueOf(source) === queue.name)
      .filter(({ channel }) => call.client?.sees('queue', channel) !== false);
    const page = pageOf(sources, ({ name }) => name, paging);
    if (page === undefined) throw invalidParameterValue('Invalid NextToken value.');
    return {
      queueUrls: page.items.map(({ name }) => queueUrl(call.origin, config, name)),
      ...(page.nextToken !== undefined && paging.asked && { NextToken: page.nextToken }),
    };
  },
});
