import type { Socket } from 'node:net';
import { SystemClock, type Clock } from '../base/clock.js';
import { SystemIds, type IdSource } from '../base/ids.js';
import { silentLog, type Log } from '../base/log.js';
import { BusLivePeers } from '../cluster/live-peers.js';
import { LocalBus } from '../cluster/local/bus.js';
import { LocalCoordinator } from '../cluster/local/coordinator.js';
import type { Address, Connector } from '../connectors/kit/connector.js';
import { openBroker, type OpenBroker } from '../core/broker.js';
import type { Gatekeeper } from '../core/access/gatekeeper.js';
import type { Broker } from '../core/broker-api.js';
import type { CoreLimits } from '../core/core-context.js';
import type { Journal } from '../core/ports/journal.js';
import type { Tenure } from '../core/ports/tenure.js';
import type { ClusterStatus } from '../ops/cluster-status.js';
import { createApiServer } from '../ops/api/server.js';
import { readiness, type Phase } from '../ops/health.js';
import { createMetrics } from '../ops/metrics.js';
import { openSecurity, type Security } from '../ops/security/security.js';
import { setAlias } from '../ops/set-alias.js';
import { createConnectors } from './connectors.js';
import { coreLimits } from './core-limits.js';
import { openJournal } from './journal.js';
import { Lifecycle, type Stage } from './lifecycle.js';
import { Ownership } from './ownership.js';
import { configFrom, type ConfigOverrides } from './read-config.js';
import type { Config } from './settings.js';
import { VERSION } from './version.js';

export interface StartOptions {
  /** On top of the defaults: connectors are off unless enabled here. */
  readonly config?: ConfigOverrides;
  readonly clock?: Clock;
  /** Time of leases and of calls between nodes. Default: `clock`. */
  readonly clusterClock?: Clock;
  readonly ids?: IdSource;
  /** Default: silent. */
  readonly log?: Log;
  /** Instead of the one that `config.store` describes; the broker closes it. */
  readonly journal?: Journal;
  /** The core's bounds, on top of those of this machine. */
  readonly limits?: Partial<CoreLimits>;
}

export interface RunningBroker {
  readonly broker: Broker;
  readonly config: Config;
  readonly phase: Phase;
  /** Every bound listener. */
  readonly addresses: readonly Address[];
  /** The listener of that name (`api`, `aws`, `gcp`, `amqp`, `native-grpc`); throws when it is not bound. */
  address(name: string): Address;
  /** Drains within `graceMs` (default: the configured one; 0 = none), then closes everything. Idempotent. */
  stop(graceMs?: number): Promise<void>;
  /** Resolves with the reason when another node has taken over: stop this one. Never, when it runs alone. */
  readonly ended: Promise<string>;
  /** Reads certificates, token key and policy again. What is no good is logged, and the old one stays in force. */
  reload(): void;
}

/** Starts a broker in this process, without reading flags, environment or files. Rejects when any part cannot start. */
export async function startPolymq(options: StartOptions = {}): Promise<RunningBroker> {
  const clock = options.clock ?? new SystemClock();
  const instance = createInstance({
    config: configFrom(options.config ?? {}),
    clock,
    clusterClock: options.clusterClock ?? clock,
    ids: options.ids ?? new SystemIds(),
    log: options.log ?? silentLog,
    journal: options.journal,
    limits: options.limits,
  });
  return instance.start();
}

export interface InstanceParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly clusterClock?: Clock | undefined;
  readonly ids: IdSource;
  readonly log: Log;
  readonly journal?: Journal | undefined;
  readonly limits?: Partial<CoreLimits> | undefined;
  /** A cluster that does not answer is waited for; default: it is an error, as a wrong address would be. */
  readonly isPatient?: boolean;
}

/** A broker that has not started yet; `stop` may come at any time. */
export interface Instance {
  start(): Promise<RunningBroker>;
  stop(graceMs?: number): Promise<void>;
  /** See `RunningBroker`; a node that waits has its files, too. */
  reload(): void;
}

/** The composition root: what the product is made of, in the order in which it starts. */
export function createInstance(parts: InstanceParts): Instance {
  const root = new Root(parts);
  return { start: () => root.start(), stop: (graceMs) => root.stop(graceMs), reload: () => root.reload() };
}

class Root implements RunningBroker {
  readonly config: Config;
  readonly #parts: InstanceParts;
  readonly #life: Lifecycle;
  readonly #addresses: Address[] = [];
  /** What serves a connection by the listener that it was meant for. */
  readonly #doors = new Map<string, (socket: Socket) => void>();
  #connectors: readonly Connector[] = [];
  #journal: Journal | undefined;
  #broker: OpenBroker | undefined;
  #security: Security | undefined;
  #gate: Gatekeeper | undefined;
  readonly #ownership: Ownership | undefined;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
    this.config = parts.config;
    if (parts.config.store.engine === 'nats' && parts.journal === undefined) {
      const { config, ids, log, isPatient = false, clusterClock: clock = parts.clock } = parts;
      const id = ids.uuid();
      const own = log.child({ component: 'cluster' });
      this.#ownership = new Ownership({
        id,
        join: async (about) => {
          const { joinCluster } = await import('./cluster.js');
          return joinCluster({ config, id, about, clock, log: own });
        },
        standIn: async (needs) => {
          const { StandbyListeners } = await import('./standby/listeners.js');
          const { tls } = this.#secured();
          return new StandbyListeners({ ...needs, config, tls, version: VERSION, clock, log: own });
        },
        minFreeBytes: Math.min(config.store.minFreeBytes, config.nats.maxBytes / 10),
        isPatient,
        clock,
        log: own,
      });
    }
    this.#life = new Lifecycle(
      [
        this.#securityStage(),
        ...(this.#ownership === undefined ? [] : [ownershipStage(this.#ownership)]),
        this.#storeStage(),
        this.#brokerStage(),
        this.#connectorsStage(),
        this.#apiStage(),
        ...(this.#ownership === undefined ? [] : [this.#forwardedStage(this.#ownership)]),
      ],
      parts.clock,
      parts.log,
    );
  }

  get broker(): Broker {
    return this.#open();
  }

  get phase(): Phase {
    return this.#life.phase;
  }

  get addresses(): readonly Address[] {
    return this.#addresses;
  }

  address(name: string): Address {
    const found = this.#addresses.find((address) => address.name === name);
    if (found === undefined)
      throw new Error(`no listener ${name}; there are: ${this.#addresses.map((a) => a.name).join(', ')}`);
    return found;
  }

  async start(): Promise<RunningBroker> {
    try {
      await this.#life.start();
    } catch (error) {
      throw this.#ownership?.startFailure(error) ?? error;
    }
    return this;
  }

  get ended(): Promise<string> {
    return this.#ownership?.ended ?? new Promise<string>(() => undefined);
  }

  stop(graceMs = this.config.shutdown.graceMs): Promise<void> {
    this.#ownership?.cancel();
    return this.#life.stop(graceMs);
  }

  reload(): void {
    this.#security?.reload();
  }

  /** Undefined on a machine of its own. */
  #clusterStatus(): (() => ClusterStatus) | undefined {
    const ownership = this.#ownership;
    return ownership === undefined ? undefined : () => ownership.status();
  }

  #openGate(): Gatekeeper {
    if (this.#gate === undefined) throw new Error('the gate is not open');
    return this.#gate;
  }

  #secured(): Security {
    if (this.#security === undefined) throw new Error('security is not set up');
    return this.#security;
  }

  #open(): OpenBroker {
    if (this.#broker === undefined) throw new Error('the broker is not open');
    return this.#broker;
  }

  /** First, so that a certificate or a policy that is no good stops the start before the store is touched. */
  #securityStage(): Stage {
    const { config, clock, log } = this.#parts;
    return {
      name: 'security',
      start: async () => {
        this.#security = await openSecurity({ config, clock, log: log.child({ component: 'security' }) });
        this.#security.start();
      },
      stop: async () => this.#security?.stop(),
    };
  }

  /** Opens and locks the store. The broker replays it and closes it at the end, after its last checkpoint. */
  #storeStage(): Stage {
    const { config, clock, log } = this.#parts;
    return {
      name: 'store',
      start: async () => {
        // A member of a cluster has its journal opened by the broker's stage: it may have to begin anew.
        if (this.#ownership !== undefined) return;
        this.#journal =
          this.#parts.journal ??
          (await openJournal({ config: config.store, clock, log: log.child({ component: 'store' }) }));
      },
      stop: async () => {
        if (this.#broker === undefined) await this.#journal?.close();
      },
    };
  }

  #brokerStage(): Stage {
    const { config, clock, ids, log } = this.#parts;
    const own = log.child({ component: 'broker' });
    const coordinator = new LocalCoordinator({ id: ids.uuid() });
    const bus = new LocalBus();
    const peers = new BusLivePeers({ coordinator, bus, log: own });
    return {
      name: 'broker',
      start: async () => {
        const open = (journal: Journal, tenure?: Tenure): Promise<OpenBroker> => {
          this.#journal = journal;
          const limits = { ...coreLimits(config), ...this.#parts.limits };
          const lastCheckpoint = (): boolean => this.#ownership?.hasFollower !== true;
          const shared = { clock, ids, log: own, peers, limits, lastCheckpoint };
          return openBroker({ journal, ...shared, ...(tenure && { tenure }) });
        };
        if (this.#ownership !== undefined) this.#broker = await this.#ownership.takeOver(open);
        else if (this.#journal !== undefined) this.#broker = await open(this.#journal);
        else throw new Error('the store is not open');
        await setAliases(this.#broker, config.aliases);
      },
      // Waits end at once; sends that come now get each protocol's retryable answer.
      drain: async () => this.#broker?.drain(),
      stop: async () => {
        await this.#broker?.close();
        peers.close();
        await bus.close();
        await coordinator.close();
      },
    };
  }

  #connectorsStage(): Stage {
    const { config, clock, ids, log } = this.#parts;
    return {
      name: 'connectors',
      start: async () => {
        await this.#ownership?.takePorts();
        const broker = this.#open();
        const { identity, tls } = this.#secured();
        this.#gate = this.#secured().gateOf(broker);
        const { host } = config;
        const context = { broker, gate: this.#gate, identity, tls, clock, ids, log, host, version: VERSION };
        this.#connectors = await createConnectors(context, config);
        for (const connector of this.#connectors) {
          try {
            const bound = await connector.start();
            this.#addresses.push(...bound);
            for (const { name } of bound) this.#doors.set(name, (socket) => connector.admit(name, socket));
          } catch (error) {
            throw new Error(
              `${connector.name} cannot start: ${error instanceof Error ? error.message : String(error)}`,
              { cause: error },
            );
          }
        }
      },
      drain: async (graceMs) => {
        await Promise.all(this.#connectors.map((connector) => connector.drain(graceMs)));
      },
      stop: async () => {
        await Promise.all(this.#connectors.map((connector) => connector.stop()));
      },
    };
  }

  #apiStage(): Stage {
    const { config, clock, ids, log } = this.#parts;
    let close = async (): Promise<void> => undefined;
    return {
      name: 'api',
      start: async () => {
        const broker = this.#open();
        const journal = this.#journal;
        if (journal === undefined) throw new Error('the store is not open');
        const metrics = createMetrics({
          broker,
          figures: () => broker.figures(),
          journal,
          connectors: () => this.#connectors,
          security: () => this.#secured().figures(),
          cluster: this.#clusterStatus(),
          version: VERSION,
        });
        const api = createApiServer({
          host: config.host,
          port: config.api.port,
          gate: this.#openGate(),
          identity: this.#secured().identity,
          tls: this.#secured().tls,
          clock,
          ids,
          metrics,
          readiness: () => readiness(this.phase, broker.figures().shortage),
          addresses: () => this.#addresses,
          cluster: this.#clusterStatus(),
          log: log.child({ component: 'api' }),
          version: VERSION,
        });
        close = async () => {
          metrics.stop();
          await api.stop();
        };
        this.#addresses.push(await api.start());
        this.#doors.set('api', (socket) => api.admit(socket));
      },
      stop: () => close(),
    };
  }

  /** Last: all doors are open. */
  #forwardedStage(ownership: Ownership): Stage {
    return {
      name: 'forwarded connections',
      start: async () =>
        ownership.serve((listener, socket) => {
          const door = this.#doors.get(listener);
          if (door === undefined) socket.destroy();
          else door(socket);
        }),
      drain: async () => ownership.unserve(),
      stop: async () => ownership.unserve(),
    };
  }
}

/** This node is a member from here on; the broker's stage waits until it owns what it is to serve. */
function ownershipStage(ownership: Ownership): Stage {
  return { name: 'ownership', start: () => ownership.join(), stop: () => ownership.release() };
}

/** The configuration's word is the last one: an alias that is kept as another channel's name moves. */
async function setAliases(broker: Broker, aliases: Config['aliases']): Promise<void> {
  for (const { alias, channel } of aliases) {
    await setAlias(broker, { alias, channel, replace: true }).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`aliases (ALIASES): ${alias} cannot be ${channel}: ${why}`, { cause: error });
    });
  }
}
