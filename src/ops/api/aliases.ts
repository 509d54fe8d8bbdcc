import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ApiClients } from './clients.js';
import { channelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';
import { setAlias } from '../set-alias.js';

const newAlias = z.strictObject({ alias: z.string(), channel: z.string() });

/**
 * - `GET /api/v1/aliases` → `{ aliases: [{ alias, channel }] }`
 * - `POST /api/v1/aliases` with `{ alias, channel }` → 201 with it; the same alias again is fine, to another channel 409
 * - `DELETE /api/v1/aliases/{alias}` → 204; 404 when there is none
 */
export function aliasRoutes(app: FastifyInstance, clients: ApiClients): void {
  app.get('/api/v1/aliases', (request) => ({ aliases: clients.brokerOf(request).aliases() }));

  app.post('/api/v1/aliases', async (request, reply) => {
    const body = newAlias.safeParse(request.body);
    if (!body.success)
      throw new BrokerError('invalid-argument', 'the body must be {"alias": "…", "channel": "…"}');
    const { alias, channel } = body.data;
    await setAlias(clients.brokerOf(request), { alias, channel });
    return reply.status(201).send({ alias, channel });
  });

  app.delete<{ Params: { alias: string } }>('/api/v1/aliases/:alias', async (request, reply) => {
    const broker = clients.brokerOf(request);
    const alias = channelName(request.params.alias);
    if (!broker.aliases().some((known) => known.alias === alias)) {
      throw new BrokerError('not-found', `there is no alias ${alias}`);
    }
    await broker.change([{ do: 'remove-alias', alias }]);
    return reply.status(204).send();
  });
}
