import { tableToJson } from '../mapping/json-headers.js';
import type { Vhost } from '../topology/vhost.js';
import type { Api } from './api.js';
import { HttpError, httpErrorOf } from './http-error.js';
import type { InProcessClient } from './in-process-client.js';
import type { Input } from './json-input.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import { userOf } from './user-routes.js';
import { topicPatternsOf } from './topic-permission-routes.js';
import { aboutJson, aboutOf, patternsOf } from './vhost-routes.js';
import { limitValues } from './limit-routes.js';
import {
  globalParameters,
  isKnownComponent,
  parametersOf,
  putGlobalParameter,
  putParameter,
} from './parameter-routes.js';
import { policiesOf, policyOf } from './policy-routes.js';
import type { Json } from './views.js';

const SALT_BYTES = 4;

/** Definitions files, RabbitMQ's form: everything that was declared, to be kept or carried to another broker. */
export function definitionRoutes(api: Api): readonly Route[] {
  const vhostOf = (call: ApiCall): Vhost => {
    api.requireAdministrator(call.identity);
    return api.vhost(call.parameters[0], call.identity);
  };
  return [
    route('GET', 'definitions', (call) => {
      api.requireAdministrator(call.identity);
      return { body: exportAll(api) };
    }),
    route('GET', 'definitions/:', (call) => ({
      body: { ...head(api), ...partsOf(api, vhostOf(call), false) },
    })),
    route('POST', 'definitions', (call) => {
      api.requireAdministrator(call.identity);
      return importAll(api, call, undefined);
    }),
    route('POST', 'definitions/:', (call) => importAll(api, call, vhostOf(call))),
  ];
}

function head(api: Api): Json {
  const { serverVersion } = api.context.config;
  return {
    rabbit_version: serverVersion,
    rabbitmq_version: serverVersion,
    product_name: 'RabbitMQ',
    product_version: serverVersion,
  };
}

function exportAll(api: Api): Json {
  const { limits, topology } = api.context;
  const parts = topology.vhosts.map((vhost) => partsOf(api, vhost, true));
  const joined = (name: keyof Parts): readonly Json[] => parts.flatMap((part) => part[name]);
  return {
    ...head(api),
    // Users of the configuration have no hash that could be carried anywhere.
    users: api.users.users
      .filter(({ passwordHash }) => passwordHash !== '')
      .map(({ name, passwordHash, hashing, tags }) => ({
        name,
        password_hash: passwordHash,
        hashing_algorithm: hashing,
        tags: [...tags],
        limits: limits.of('user', name)?.values ?? {},
      })),
    vhosts: topology.vhosts.map(({ name }) => {
      const about = aboutJson(topology.aboutVhost(name));
      return { name, ...about, metadata: about };
    }),
    permissions: api.users.permissions,
    topic_permissions: api.users.topics.all,
    parameters: joined('parameters'),
    global_parameters: globalParameters(api),
    policies: joined('policies'),
    queues: joined('queues'),
    exchanges: joined('exchanges'),
    bindings: joined('bindings'),
  };
}

interface Parts {
  readonly parameters: readonly Json[];
  readonly policies: readonly Json[];
  readonly queues: readonly Json[];
  readonly exchanges: readonly Json[];
  readonly bindings: readonly Json[];
}

/** What outlives a restart; exclusive and transient things belong to clients. */
function partsOf(api: Api, vhost: Vhost, named: boolean): Parts {
  const place = named ? { vhost: vhost.name } : {};
  const queues = [...vhost.queues.values()].filter(({ durable, owner }) => durable && owner === undefined);
  const exchanges = [...vhost.exchanges.values()].filter(
    ({ name, durable }) => durable && !name.startsWith('amq.'),
  );
  const bindings = [...vhost.exchanges.keys()].flatMap((source) =>
    [...vhost.bindingsFrom(source)].filter(({ durable }) => durable),
  );
  const unplaced = (one: Json): Json =>
    named ? one : Object.fromEntries(Object.entries(one).filter(([key]) => key !== 'vhost'));
  return {
    parameters: parametersOf(api, vhost).map(unplaced),
    policies: policiesOf(vhost, 'user').map(unplaced),
    queues: queues.map(({ name, type, autoDelete, arguments: table }) => ({
      name,
      ...place,
      durable: true,
      auto_delete: autoDelete,
      type,
      arguments: tableToJson(table),
    })),
    exchanges: exchanges.map(({ name, type, autoDelete, internal, arguments: table }) => ({
      name,
      ...place,
      type,
      durable: true,
      auto_delete: autoDelete,
      internal,
      arguments: tableToJson(table),
    })),
    bindings: bindings.map(({ source, destination, routingKey, arguments: table }) => ({
      source,
      ...place,
      destination: destination.name,
      destination_type: destination.kind,
      routing_key: routingKey,
      arguments: tableToJson(table),
    })),
  };
}

/** Where things of a file go. */
interface Import {
  readonly api: Api;
  readonly call: ApiCall;
  /** The virtual host of all of them; undefined: each names its own. */
  readonly only: Vhost | undefined;
  /** Those that the file has named so far. */
  readonly vhosts: Map<string, Vhost>;
}

/**
 * Makes everything a file names, in an order in which each thing finds what it needs. What is there already and the same is
 * fine; the first thing that is refused ends the import and is named.
 */
async function importAll(api: Api, call: ApiCall, only: Vhost | undefined): Promise<ApiAnswer> {
  const of: Import = { api, call, only, vhosts: new Map() };
  const { topology, ids } = api.context;
  if (only === undefined)
    await step(of, 'vhosts', async (item) => {
      of.vhosts.set(item.text('name'), await topology.createVhost(item.text('name'), aboutOf(item)));
    });
  // Before the queues, so that they live by them from the first message on.
  await step(of, 'policies', (item) => importPolicy(of, item));
  await step(of, 'parameters', (item) => importParameter(of, item));
  await step(of, 'exchanges', (item) => importExchange(of, item));
  await step(of, 'queues', (item) => importQueue(of, item));
  await step(of, 'bindings', (item) => importBinding(of, item));
  if (only === undefined) {
    await step(of, 'global_parameters', (item) => putGlobalParameter(api, item.text('name'), item));
    await step(of, 'permissions', (item) =>
      api.users.putPermission({ user: item.text('user'), vhost: item.text('vhost'), ...patternsOf(item) }),
    );
    await step(of, 'topic_permissions', (item) =>
      api.users.topics.put({
        user: item.text('user'),
        vhost: item.text('vhost'),
        ...topicPatternsOf(item),
      }),
    );
    // Last, because from the first user on passwords are checked.
    await step(of, 'users', (item) => importUser(api, item, ids.bytes(SALT_BYTES)));
  }
  warnOfRest(of);
  return {};
}

/** What has no meaning here must not keep a broker from moving in: it is told and left behind. */
function warnOfRest({ api, call }: Import): void {
  const { log } = api.context;
  const foreign = call.input.list('parameters').filter((item) => !isKnownComponent(item.text('component')));
  if (foreign.length > 0) {
    const components = [...new Set(foreign.map((item) => item.text('component')))];
    log.warn('amqp: parameters of a definitions file are not kept', { count: foreign.length, components });
  }
}

/** The virtual host a thing is for, made at the first one that the file did not list. */
async function vhostFor({ api, only, vhosts }: Import, item: Input): Promise<Vhost> {
  if (only !== undefined) return only;
  const name = item.text('vhost');
  const vhost = vhosts.get(name) ?? (await api.context.topology.createVhost(name));
  vhosts.set(name, vhost);
  return vhost;
}

async function importUser(api: Api, item: Input, salt: Uint8Array): Promise<void> {
  const user = userOf(item.text('name'), item, salt);
  const { limits } = item.values;
  // Tools of some languages write an empty list for an empty object.
  const values = limits === undefined || Array.isArray(limits) ? {} : item.object('limits').values;
  await api.context.limits.put('user', user.name, limitValues('user', values));
  await api.users.putUser(user);
}

async function importPolicy(of: Import, item: Input): Promise<void> {
  const policy = policyOf(item.text('name'), item, 'user');
  await of.api.context.topology.policies.put(await vhostFor(of, item), 'user', policy);
}

async function importParameter(of: Import, item: Input): Promise<void> {
  const [component, name] = [item.text('component'), item.text('name')];
  if (!isKnownComponent(component)) return;
  await putParameter(of.api, await vhostFor(of, item), { component, name, input: item });
}

async function step(of: Import, kind: string, run: (item: Input) => Promise<unknown>): Promise<void> {
  for (const item of of.call.input.list(kind)) {
    try {
      await run(item);
    } catch (caught) {
      const error = httpErrorOf(caught);
      const { name, source, user } = item.values;
      const which = [name, source, user].find((value) => typeof value === 'string') ?? '';
      throw new HttpError(error.status, error.word, `${kind} '${which}': ${error.message}`, {
        cause: caught,
      });
    }
  }
}

async function clientOf(of: Import, item: Input): Promise<InProcessClient> {
  const { api, call, only } = of;
  if (only !== undefined) return api.client(only, call.identity);
  return api.freeClient(await vhostFor(of, item), call.identity);
}

async function importExchange(of: Import, item: Input): Promise<void> {
  const name = item.text('name');
  if (name.startsWith('amq.') || name === '') return;
  const client = await clientOf(of, item);
  await client.call('exchange.declare', {
    ticket: 0,
    exchange: name,
    type: item.text('type'),
    passive: false,
    durable: item.flag('durable', true),
    autoDelete: item.flag('auto_delete', false),
    internal: item.flag('internal', false),
    nowait: true,
    arguments: item.table('arguments'),
  });
}

async function importQueue(of: Import, item: Input): Promise<void> {
  const client = await clientOf(of, item);
  await client.call('queue.declare', {
    ticket: 0,
    queue: item.text('name'),
    passive: false,
    durable: item.flag('durable', true),
    exclusive: false,
    autoDelete: item.flag('auto_delete', false),
    nowait: true,
    arguments: item.table('arguments'),
  });
}

async function importBinding(of: Import, item: Input): Promise<void> {
  const [source, destination] = [item.text('source'), item.text('destination')];
  // The default exchange has its bindings by itself.
  if (source === '') return;
  const client = await clientOf(of, item);
  const common = {
    ticket: 0,
    routingKey: item.text('routing_key', ''),
    arguments: item.table('arguments'),
    nowait: true,
  };
  if (item.text('destination_type') === 'queue') {
    await client.call('queue.bind', { ...common, queue: destination, exchange: source });
  } else {
    await client.call('exchange.bind', { ...common, destination, source });
  }
}
