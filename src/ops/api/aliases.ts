import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Broker } from '../../core/broker-api.js';
import type { ApiClients } from './clients.js';
import { channelName } from '../../core/channel-name.js';
import { BrokerError } from '../../core/errors.js';

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

/**
 * Makes `alias` another name of `channel`; nothing happens when it already is. When it is another channel's name it is taken
 * over with `replace`, else refused with `already-exists`.
 */
export async function setAlias(
  broker: Broker,
  names: { alias: string; channel: string; replace?: boolean },
): Promise<void> {
  const alias = channelName(names.alias);
  const channel = channelName(names.channel);
  const known = broker.aliases().find((one) => one.alias === alias);
  if (known?.channel === broker.resolve(channel)) return;
  if (known !== undefined && names.replace !== true) {
    throw new BrokerError(
      'already-exists',
      `${alias} is already an alias of ${known.channel}; remove it first`,
    );
  }
  await broker.change([{ do: 'set-alias', alias, channel }]);
}
