import { ReplyError } from '../wire/reply.js';
import type { ConnectionInfo } from '../connection/connection-info.js';
import type { Api } from './api.js';
import { notFound } from './http-error.js';
import { listed, paged } from './lists.js';
import type { ApiAnswer, ApiCall, Route } from './routes.js';
import { route } from './routes.js';
import type { Json } from './views.js';
import { connectionName } from './views.js';

/** Connections, their channels and consumers: list, look, close. */
export function connectionRoutes(api: Api): readonly Route[] {
  const { views } = api;
  // Of others only to who monitors, as in RabbitMQ; asked for by name they are refused.
  const seen = (call: ApiCall): readonly ConnectionInfo[] =>
    views.connections().filter((info) => api.seesConnection(info, call.identity));
  const named = (call: ApiCall): ConnectionInfo => {
    const found = views.connections().find((info) => connectionName(info) === call.parameters[0]);
    return checked(api, call, found);
  };
  const inVhost = (call: ApiCall): readonly ConnectionInfo[] => {
    const vhost = api.vhost(call.parameters[0], call.identity);
    return seen(call).filter(({ session }) => session.vhost === vhost);
  };
  const connections = (infos: readonly ConnectionInfo[]): readonly Json[] =>
    infos.map((info) => views.connection(info));
  const channels = (infos: readonly ConnectionInfo[]): readonly Json[] =>
    infos.flatMap((info) => info.session.channels.all().map((channel) => views.channel(info, channel)));
  const list = (path: string, items: (call: ApiCall) => readonly Json[]): Route =>
    route('GET', path, (call) => ({ body: listed(items(call), call.query) }));
  const pages = (path: string, items: (call: ApiCall) => readonly Json[]): Route =>
    route('GET', path, (call) => ({ body: paged(items(call), call.query) }));
  const consumers = (infos: readonly ConnectionInfo[]): readonly Json[] =>
    views
      .consumers()
      .filter(({ connection }) => infos.some(({ id }) => id === connection.id))
      .map((place) => views.consumer(place));
  return [
    pages('connections', (call) => connections(seen(call))),
    route('GET', 'connections/:', (call) => ({ body: views.connection(named(call)) })),
    route('DELETE', 'connections/:', (call) => close(api, call, named(call))),
    list('connections/:/channels', (call) => channels([named(call)])),
    pages('connections/username/:', (call) =>
      connections(seen(call).filter(({ session }) => session.identity.user === call.parameters[0])),
    ),
    route('DELETE', 'connections/username/:', (call) => closeAll(api, call)),
    list('vhosts/:/connections', (call) => connections(inVhost(call))),
    list('vhosts/:/channels', (call) => channels(inVhost(call))),
    pages('channels', (call) => channels(seen(call))),
    route('GET', 'channels/:', (call) => {
      for (const info of views.connections()) {
        for (const channel of info.session.channels.all()) {
          if (`${connectionName(info)} (${channel.number})` !== call.parameters[0]) continue;
          checked(api, call, info);
          const mine = views.consumers().filter((place) => place.channel === channel);
          return {
            body: {
              ...views.channel(info, channel),
              consumer_details: mine.map((place) => views.consumer(place)),
            },
          };
        }
      }
      throw notFound();
    }),
    list('consumers', (call) => consumers(seen(call))),
    list('consumers/:', (call) => consumers(inVhost(call))),
  ];
}

/** 404 for a connection that is not there, 401 for one that the user may not look at. */
function checked(api: Api, call: ApiCall, info: ConnectionInfo | undefined): ConnectionInfo {
  if (info === undefined) throw notFound();
  if (!api.seesConnection(info, call.identity)) api.requireMonitor(call.identity);
  return info;
}

/** Those of one user. */
function closeAll(api: Api, call: ApiCall): ApiAnswer {
  for (const info of api.views.connections()) {
    if (info.session.identity.user === call.parameters[0]) close(api, call, info);
  }
  return {};
}

function close(api: Api, call: ApiCall, info: ConnectionInfo): ApiAnswer {
  if (call.identity.user !== info.session.identity.user) api.requireAdministrator(call.identity);
  const reason = call.headers.reason ?? 'Closed via management plugin';
  info.session.closeConnection(new ReplyError(320, reason), undefined);
  return {};
}
