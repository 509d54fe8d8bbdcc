import type { Socket } from 'node:net';
import type { ConnectionHead } from '../../cluster/connections.js';
import type { Address } from '../../connectors/kit/connector.js';
import { ForwardedSocket } from '../../connectors/kit/forwarded-socket.js';
import { TcpListener, type PeerConnection } from '../../connectors/kit/tcp-listener.js';
import { isSecure, peerNameOf } from '../../connectors/kit/tls-gate.js';
import { plannedListeners, type ListenerPlan } from '../listeners.js';
import { StandbyApi } from './api.js';
import { join } from './join.js';
import { STANDBY_LIMITS, type StandbyOptions } from './options.js';
import { Refusals } from './refusals.js';

/**
 * The ports of a node that owns nothing: every connection goes to the owner, and back come its answers. TLS ends here. While there
 * is no owner a connection waits for one, for a moment; if it is this node in the end, its own connectors take the connection over.
 */
export class StandbyListeners {
  readonly #o: StandbyOptions;
  readonly #refusals: Refusals;
  readonly #listeners: TcpListener[] = [];
  readonly #api: StandbyApi;
  #open = 0;
  #total = 0;
  #refused = 0;

  constructor(options: StandbyOptions) {
    this.#o = options;
    this.#refusals = new Refusals(options.clock, options.log);
    this.#api = new StandbyApi(options, () => ({
      open: this.#open,
      total: this.#total,
      refused: this.#refused,
    }));
  }

  async start(): Promise<readonly Address[]> {
    const { config, tls, clock, log } = this.#o;
    const { host } = config;
    const addresses: Address[] = [];
    for (const plan of plannedListeners(config, tls)) {
      const listener = new TcpListener({
        host,
        port: plan.port,
        connectionsMax: STANDBY_LIMITS.connectionsMax,
        clock,
        log,
        tls: plan.tls,
        accept: (socket) => this.#accept(plan, socket),
      });
      this.#listeners.push(listener);
      addresses.push({ name: plan.name, host, port: await listener.start() });
    }
    addresses.push({ name: 'api', host, port: await this.#api.start() });
    return addresses;
  }

  /** Gives the ports back to those who serve from now on; connections that wait for an owner stay. */
  async unbind(): Promise<void> {
    for (const listener of this.#listeners) listener.unbind();
    await this.#api.stop();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#api.stop(), ...this.#listeners.map((listener) => listener.stop())]);
  }

  #accept(plan: ListenerPlan, socket: Socket): PeerConnection {
    socket.pause();
    // Resets are everyday life; the close that follows is what counts.
    socket.on('error', () => undefined);
    void this.#forward(plan, socket);
    const destroy = (): void => {
      socket.destroy();
    };
    return { drain: destroy, destroy };
  }

  /** Owns the socket, whatever happens. */
  async #forward(plan: ListenerPlan, socket: Socket): Promise<void> {
    const { connections, doors, clock, log } = this.#o;
    const head = this.#headOf(plan, socket);
    try {
      const way = await connections.open(head, STANDBY_LIMITS.holdMs);
      if (way === 'here') {
        const admit = await doors.opened;
        if (socket.destroyed) return;
        admit(plan.name, socket);
        socket.resume();
      } else if (socket.destroyed) way.abort();
      else {
        this.#total++;
        this.#open++;
        socket.once('close', () => {
          this.#open--;
        });
        join(socket, new ForwardedSocket(way, head), clock);
      }
    } catch (error) {
      log.debug('a connection could not be forwarded', { listener: plan.name, error: String(error) });
      this.#refused++;
      this.#refusals.take(plan.refusal, socket);
    }
  }

  #headOf({ name }: ListenerPlan, socket: Socket): ConnectionHead {
    return {
      listener: name,
      remoteAddress: socket.remoteAddress ?? '',
      remotePort: socket.remotePort ?? 0,
      localAddress: socket.localAddress ?? '',
      localPort: socket.localPort ?? 0,
      secure: isSecure(socket),
      certificateName: peerNameOf(socket, this.#o.tls),
    };
  }
}
