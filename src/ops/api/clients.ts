import type { FastifyInstance, FastifyRequest } from 'fastify';
import { peerNameOf, type TlsSource } from '../../connectors/kit/tls-gate.js';
import { ANONYMOUS, clientIdOf, type Identity } from '../../connectors/kit/identity.js';
import type { Gatekeeper } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';

export interface ApiAccess {
  readonly gate: Gatekeeper;
  readonly identity: Identity;
  readonly tls: TlsSource | undefined;
}

/** What everybody may ask: whether the broker lives, and its figures. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);
/** Where a client says who it is when it need not show it. */
const CLIENT_ID_HEADER = 'x-client-id';

/** The broker as the sender of a request may use it. */
export type BrokerOf = (request: FastifyRequest) => Broker;

/** Finds out who sends each request before it is looked at; gives what the routes get their broker from. */
export function identifyClients(app: FastifyInstance, { gate, identity, tls }: ApiAccess): BrokerOf {
  const brokers = new WeakMap<FastifyRequest, Broker>();
  app.addHook('onRequest', async (request) => {
    if (OPEN_PATHS.has(request.routeOptions.url ?? '')) return;
    const { authorization } = request.headers;
    const shown = await clientIdOf(identity, {
      authorization,
      peerName: peerNameOf(request.raw.socket, tls),
    });
    const claimed = request.headers[CLIENT_ID_HEADER];
    const clientId = shown ?? (typeof claimed === 'string' && claimed !== '' ? claimed : ANONYMOUS);
    brokers.set(request, gate.clientOf(clientId).broker);
  });
  return (request) => {
    const broker = brokers.get(request);
    if (broker === undefined) throw new Error('nobody asked who sends this');
    return broker;
  };
}
