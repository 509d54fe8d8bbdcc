import { topicResource } from '../access.js';
import { invalidSnsParameter } from '../errors.js';
import { optionalText } from '../input.js';
import type { Input } from '../input.js';
import { topicArn } from '../names.js';
import { operation } from '../operation.js';
import { pageOf } from '../paging.js';
import type { Page } from '../paging.js';
import { memberList, scalar, scalars, structure } from '../wire/shape.js';

const PAGE_ITEMS = 100;

/** ListTopics: by name, a hundred a page. */
export const listTopics = operation({
  name: 'ListTopics',
  input: structure({ NextToken: scalar }),
  output: structure({ Topics: memberList(scalars('TopicArn')), NextToken: scalar }),
  run(call) {
    const { topics, config } = call.services;
    const names = topics.list().filter((name) => call.client?.sees('queue', topicResource(name)) !== false);
    const page = snsPage(names, (name) => name, call.input);
    return {
      Topics: page.items.map((name) => ({ TopicArn: topicArn(config, name) })),
      ...(page.nextToken !== undefined && { NextToken: page.nextToken }),
    };
  },
});

/** The page a listing of SNS asks for. Throws InvalidParameter. */
export function snsPage<T>(sorted: readonly T[], keyOf: (item: T) => string, input: Input): Page<T> {
  const page = pageOf(sorted, keyOf, { token: optionalText(input, 'NextToken'), max: PAGE_ITEMS });
  if (page === undefined) throw invalidSnsParameter('NextToken');
  return page;
}
