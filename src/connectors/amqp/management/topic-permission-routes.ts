import type { TopicPermissionRecord } from '../access/topic-permissions.js';
import type { Api } from './api.js';
import { notFound } from './http-error.js';
import type { Input } from './json-input.js';
import { listedPermissions } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { administratorsOf } from './user-routes.js';

/** What users may do with routing keys of topic exchanges: list, look, set, take away. */
export function topicPermissionRoutes(api: Api): readonly Route[] {
  const { topics } = api.users;
  const admin = administratorsOf(api);
  const list = (call: ApiCall, isMeant: (of: TopicPermissionRecord) => boolean): ApiAnswer => ({
    body: listedPermissions(
      topics.all.filter(isMeant).map((record) => ({ ...record })),
      call.query,
    ),
  });
  const isNamed =
    ([vhost, user]: readonly string[]) =>
    (of: TopicPermissionRecord): boolean =>
      of.vhost === vhost && of.user === user;
  return [
    route(
      'GET',
      'topic-permissions',
      admin((call) => list(call, () => true)),
    ),
    route(
      'GET',
      'users/:/topic-permissions',
      admin((call) => list(call, ({ user }) => user === call.parameters[0])),
    ),
    route(
      'GET',
      'vhosts/:/topic-permissions',
      admin((call) => list(call, ({ vhost }) => vhost === call.parameters[0])),
    ),
    route(
      'GET',
      'topic-permissions/:/:',
      admin((call) => {
        if (!topics.all.some(isNamed(call.parameters))) throw notFound();
        return list(call, isNamed(call.parameters));
      }),
    ),
    route(
      'PUT',
      'topic-permissions/:/:',
      admin(async (call) => {
        const [vhost = '', user = ''] = call.parameters;
        api.vhost(vhost, call.identity);
        if (api.users.user(user) === undefined) throw notFound();
        await topics.put({ user, vhost, ...topicPatternsOf(call.input) });
        return { status: 201 };
      }),
    ),
    route(
      'DELETE',
      'topic-permissions/:/:',
      admin(async (call) => {
        await topics.removeAll(isNamed(call.parameters));
        return {};
      }),
    ),
    route(
      'DELETE',
      'topic-permissions/:/:/:',
      admin(async (call) => {
        const isMeant = isNamed(call.parameters);
        await topics.removeAll((of) => isMeant(of) && of.exchange === call.parameters[2]);
        return {};
      }),
    ),
  ];
}

/** Exchange, write and read of a topic permission. */
export function topicPatternsOf(input: Input): Pick<TopicPermissionRecord, 'exchange' | 'write' | 'read'> {
  return { exchange: input.text('exchange'), write: input.text('write'), read: input.text('read') };
}
