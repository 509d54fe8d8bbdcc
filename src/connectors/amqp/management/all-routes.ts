import type { Api } from './api.js';
import { bindingRoutes } from './binding-routes.js';
import { connectionRoutes } from './connection-routes.js';
import { definitionRoutes } from './definitions.js';
import { exchangeRoutes } from './exchange-routes.js';
import { limitRoutes } from './limit-routes.js';
import { overviewRoutes } from './overview-routes.js';
import { parameterRoutes } from './parameter-routes.js';
import { policyRoutes } from './policy-routes.js';
import { queueRoutes } from './queue-routes.js';
import type { Route } from './routes.js';
import { topicPermissionRoutes } from './topic-permission-routes.js';
import { userRoutes } from './user-routes.js';
import { permissionRoutes, vhostRoutes } from './vhost-routes.js';

/** Every route of the management API. */
export function allRoutes(api: Api): readonly Route[] {
  return [
    ...overviewRoutes(api),
    ...queueRoutes(api),
    ...exchangeRoutes(api),
    ...bindingRoutes(api),
    ...connectionRoutes(api),
    ...userRoutes(api),
    ...vhostRoutes(api),
    ...permissionRoutes(api),
    ...policyRoutes(api),
    ...parameterRoutes(api),
    ...limitRoutes(api),
    ...topicPermissionRoutes(api),
    ...definitionRoutes(api),
  ];
}
