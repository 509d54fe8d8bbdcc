import { isObject } from '../mapping/json-headers.js';
import { QUEUE_TYPES } from '../mapping/queue-type.js';
import type { VhostRecord } from '../topology/records.js';
import type { QueueType } from '../topology/types.js';
import { ReplyError } from '../wire/reply.js';
import type { Api } from './api.js';
import { badRequest, notFound } from './http-error.js';
import { Input } from './json-input.js';
import { listedPermissions, paged } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { administratorsOf, tagsOf } from './user-routes.js';
import type { Json } from './views.js';

/** Virtual hosts: list, look, make, remove. */
export function vhostRoutes(api: Api): readonly Route[] {
  const admin = administratorsOf(api);
  return [
    route('GET', 'vhosts', (call) => ({
      body: paged(
        api.vhosts(call.identity).map(({ name }) => vhostJson(api, name)),
        call.query,
      ),
    })),
    route('GET', 'vhosts/:', (call) => ({
      body: vhostJson(api, api.vhost(call.parameters[0], call.identity).name),
    })),
    route(
      'PUT',
      'vhosts/:',
      admin(async (call) => {
        const [name = ''] = call.parameters;
        const known = api.context.topology.knownVhost(name) !== undefined;
        await api.context.topology.createVhost(name, aboutOf(call.input));
        return { status: known ? 204 : 201 };
      }),
    ),
    route(
      'DELETE',
      'vhosts/:',
      admin((call) => removeVhost(api, call)),
    ),
  ];
}

/** Permissions of users in virtual hosts: list, look, set, take away. */
export function permissionRoutes(api: Api): readonly Route[] {
  const { users } = api;
  const admin = administratorsOf(api);
  const permissions = (
    call: ApiCall,
    filter: (of: { readonly user: string; readonly vhost: string }) => boolean,
  ): ApiAnswer => ({
    body: listedPermissions(
      users.permissions.filter(filter).map((record) => ({ ...record })),
      call.query,
    ),
  });
  const ofUser = admin((call) => permissions(call, ({ user }) => user === call.parameters[0]));
  const ofVhost = admin((call) => permissions(call, ({ vhost }) => vhost === call.parameters[0]));
  return [
    route(
      'GET',
      'permissions',
      admin((call) => permissions(call, () => true)),
    ),
    route('GET', 'users/:/permissions', ofUser),
    route('GET', 'vhosts/:/permissions', ofVhost),
    route(
      'GET',
      'permissions/:/:',
      admin(({ parameters: [vhost, user] }) => {
        const found = users.permissions.find((record) => record.user === user && record.vhost === vhost);
        if (found === undefined) throw notFound();
        return { body: found };
      }),
    ),
    route(
      'PUT',
      'permissions/:/:',
      admin(async (call) => {
        const [vhost = '', user = ''] = call.parameters;
        api.vhost(vhost, call.identity);
        if (users.user(user) === undefined) throw notFound();
        await users.putPermission({ user, vhost, ...patternsOf(call.input) });
        return { status: 201 };
      }),
    ),
    route(
      'DELETE',
      'permissions/:/:',
      admin(async ({ parameters: [vhost = '', user = ''] }) => {
        await users.removePermission(user, vhost);
        return {};
      }),
    ),
  ];
}

/** Configure, write and read of a permission. */
export function patternsOf(input: Input): {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
} {
  return { configure: input.text('configure'), write: input.text('write'), read: input.text('read') };
}

/** What a request or a definitions file notes of a virtual host: itself, or under `metadata`. */
export function aboutOf(input: Input): Omit<VhostRecord, 'name'> {
  const { metadata } = input.values;
  const said = new Input({ ...(isObject(metadata) ? metadata : {}), ...input.values });
  const { description, tags } = said.values;
  const defaultQueueType = defaultTypeOf(said);
  return {
    ...(description !== undefined || tags !== undefined
      ? { description: said.text('description', ''), tags: tagsOf(said) }
      : {}),
    ...(defaultQueueType && { defaultQueueType }),
  };
}

/** RabbitMQ's tools say `undefined` where there is none, and before 3.12 `defaultqueuetype`. */
function defaultTypeOf(input: Input): QueueType | undefined {
  const text = input.text('default_queue_type', input.text('defaultqueuetype', ''));
  if (text === '' || text === 'undefined') return undefined;
  const type = QUEUE_TYPES.find((one) => one === text);
  if (type === undefined) throw badRequest('invalid_queue_type');
  return type;
}

/** What is noted of a virtual host, by the API's names. */
export function aboutJson({
  description = '',
  tags = [],
  defaultQueueType,
}: Omit<VhostRecord, 'name'>): Json {
  return { description, tags: [...tags], ...(defaultQueueType && { default_queue_type: defaultQueueType }) };
}

function vhostJson(api: Api, name: string): Json {
  const about = api.context.topology.aboutVhost(name);
  return {
    name,
    default_queue_type: api.context.config.defaultQueueType,
    ...aboutJson(about),
    metadata: aboutJson(about),
    tracing: false,
    cluster_state: {},
    messages: 0,
    messages_ready: 0,
    messages_unacknowledged: 0,
  };
}

async function removeVhost(api: Api, call: ApiCall): Promise<ApiAnswer> {
  const vhost = api.vhost(call.parameters[0], call.identity);
  if (vhost.name === '/') throw badRequest("vhost '/' cannot be removed");
  for (const { session } of api.views.connections()) {
    if (session.vhost === vhost) {
      session.closeConnection(new ReplyError(320, `vhost '${vhost.name}' is deleted`), undefined);
    }
  }
  await api.context.topology.deleteVhost(vhost);
  await api.context.limits.put('vhost', vhost.name, {});
  for (const { user } of api.users.permissions.filter((one) => one.vhost === vhost.name)) {
    await api.users.removePermission(user, vhost.name);
  }
  await api.users.topics.removeAll((one) => one.vhost === vhost.name);
  return {};
}
