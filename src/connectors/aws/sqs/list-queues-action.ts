import { invalidParameterValue, invalidValue } from '../errors.js';
import { optionalInteger, optionalText } from '../input.js';
import type { Input } from '../input.js';
import { operation } from '../operation.js';
import { pageOf } from '../paging.js';
import { queueUrl } from '../urls.js';
import { flatList, scalar, structure } from '../wire/shape.js';

const RESULTS_MAX = 1_000;

/** ListQueues: by name, with prefix and pages. Without MaxResults at most a thousand and no token, as AWS does. */
export const listQueues = operation({
  name: 'ListQueues',
  input: structure({ QueueNamePrefix: scalar, MaxResults: scalar, NextToken: scalar }),
  output: structure({ QueueUrls: flatList('QueueUrl'), NextToken: scalar }),
  run(call) {
    const prefix = optionalText(call.input, 'QueueNamePrefix') ?? '';
    const paging = readPaging(call.input);
    const names = call.services.queues
      .list()
      .filter(({ channel }) => call.client?.sees('queue', channel) !== false)
      .map(({ name }) => name)
      .filter((name) => name.startsWith(prefix));
    const page = pageOf(names, (name) => name, paging);
    if (page === undefined) throw invalidParameterValue('Invalid NextToken value.');
    return {
      ...(page.items.length > 0 && {
        QueueUrls: page.items.map((name) => queueUrl(call.origin, call.services.config, name)),
      }),
      ...(page.nextToken !== undefined && paging.asked && { NextToken: page.nextToken }),
    };
  },
});

/** MaxResults (1–1000) and NextToken of a listing. */
export function readPaging(input: Input): {
  readonly token: string | undefined;
  readonly max: number;
  readonly asked: boolean;
} {
  const max = optionalInteger(input, 'MaxResults');
  if (max !== undefined && (max < 1 || max > RESULTS_MAX)) {
    throw invalidValue(String(max), 'MaxResults', `MaxResults must be >= 1 and <= ${RESULTS_MAX}.`);
  }
  return { token: optionalText(input, 'NextToken'), max: max ?? RESULTS_MAX, asked: max !== undefined };
}
