import type { FastifyInstance, FastifyRequest } from 'fastify';
import { peerNameOf, type TlsSource } from '../../connectors/kit/tls-gate.js';
import { ANONYMOUS, clientIdOf, watchShown, type Identity } from '../../connectors/kit/identity.js';
import type { Client, Gatekeeper } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import type { BrokerError } from '../../core/errors.js';
import { whileConnected } from './connected.js';

export interface ApiAccess {
  readonly gate: Gatekeeper;
  readonly identity: Identity;
  readonly tls: TlsSource | undefined;
}

/** Where a client says who it is when it need not show it. */
const CLIENT_ID_HEADER = 'x-client-id';

/** Who sends each request, and for how long. */
export class ApiClients {
  readonly #access: ApiAccess;
  readonly #clients = new WeakMap<FastifyRequest, Client>();

  /** Finds it out before a request is looked at. */
  constructor(app: FastifyInstance, access: ApiAccess) {
    this.#access = access;
    app.addHook('onRequest', (request) => this.#identify(request));
  }

  async #identify(request: FastifyRequest): Promise<void> {
    const { gate, identity, tls } = this.#access;
    const { authorization } = request.headers;
    const shown = await clientIdOf(identity, {
      authorization,
      peerName: peerNameOf(request.raw.socket, tls),
    });
    const claimed = request.headers[CLIENT_ID_HEADER];
    const clientId = shown ?? (typeof claimed === 'string' && claimed !== '' ? claimed : ANONYMOUS);
    this.#clients.set(request, gate.clientOf(clientId));
  }

  /** The broker as the sender of a request may use it. */
  brokerOf(request: FastifyRequest): Broker {
    return this.clientOf(request).broker;
  }

  clientOf(request: FastifyRequest): Client {
    const client = this.#clients.get(request);
    if (client === undefined) throw new Error('nobody asked who sends this');
    return client;
  }

  /** Calls `over` once, when the token of a request is good no longer. Gives the way to forget it. */
  watch(request: FastifyRequest, over: (refusal: BrokerError) => void): () => void {
    const { authorization } = request.headers;
    return watchShown(this.#access.identity, { authorization, peerName: undefined }, over);
  }

  /**
   * Waits for what `find` finds, until the client is gone or its token ends: then `giveUp` is called. Rejects with the refusal when
   * the token ended and nothing was found; what was found before that is the client's.
   */
  async wait<T>(
    request: FastifyRequest,
    giveUp: () => void,
    find: () => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    let refusal: BrokerError | undefined;
    const forget = this.watch(request, (ended) => {
      refusal = ended;
      giveUp();
    });
    try {
      const found = await whileConnected(request.raw.socket, giveUp, find);
      if (found.length === 0 && refusal !== undefined) throw refusal;
      return found;
    } finally {
      forget();
    }
  }
}
