import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { hostname } from 'node:os';
import type { Claim, MemberAbout } from '../cluster/contract.js';
import type { ForwardedConnections } from '../cluster/connections.js';
import type { Address } from '../connectors/kit/connector.js';
import { ForwardedSocket } from '../connectors/kit/forwarded-socket.js';
import { BrokerError } from '../core/errors.js';
import type { Journal } from '../core/ports/journal.js';
import type { Tenure } from '../core/ports/tenure.js';
import type { ClusterMember, ClusterStatus } from '../ops/cluster-status.js';
import type { JetStreamJournalOptions, openJetStreamJournal } from '../journal/jetstream/index.js';
import type { Cluster, Streams } from './cluster.js';
import { CLAIM } from './partition.js';
import { Doors, type Admit } from './standby/doors.js';

/** How often a node that waits asks for the claim, when it hears nothing. */
const ASK_MS = 150;
/** A standby with less to read than this keeps up. */
const KEEPS_UP_MAX = 1_000;
const REJOIN_MS = 500;
const JOIN_TRIES = 20;

/** NATS did not answer, or the channels were lost, while this node, already the owner, began to serve: it may try again from the beginning. */
export class TakeOverFailed extends Error {
  constructor(cause: BrokerError) {
    super(cause.message, { cause });
    this.name = 'TakeOverFailed';
  }
}

/** What serves clients while a node waits. */
export interface StandIn {
  start(): Promise<readonly Address[]>;
  /** Gives the ports back; connections that wait for an owner stay. */
  unbind(): Promise<void>;
  stop(): Promise<void>;
}

/** What a stand-in needs of the cluster. */
export interface StandInParts {
  readonly connections: ForwardedConnections;
  readonly doors: Doors;
  readonly status: () => ClusterStatus;
  /** Whether there is an owner now. */
  readonly hasOwner: () => Promise<boolean>;
}

export interface OwnershipParts {
  /** Name of this node among the members. */
  readonly id: string;
  readonly join: (about: () => MemberAbout) => Promise<Cluster>;
  readonly standIn: (parts: StandInParts) => Promise<StandIn>;
  readonly minFreeBytes: number;
  /** Sizes and times of the journal other than its own. */
  readonly journal?: Pick<JetStreamJournalOptions, 'extentBytes' | 'giveUpMs' | 'freshBytesMax'>;
  /** Waits for a cluster that does not answer. */
  readonly isPatient: boolean;
  readonly clock: Clock;
  /** A clock that no operator and no time server moves, in ms. */
  readonly monotonicMs?: () => number;
  /** Instead of the journal's own, which is loaded when it is opened: that takes time no virtual clock knows of. */
  readonly openJournal?: typeof openJetStreamJournal;
  readonly log: Log;
}

/** This node's part in a cluster: it waits until it owns everything, then has the journal, until it has to let go. */
export class Ownership {
  readonly #p: OwnershipParts;
  #cluster: Cluster | undefined;
  #claim: Claim | undefined;
  #claimed: Promise<Claim> | undefined;
  #streams: Streams | undefined;
  /** Messages of the journal that this node had still to read when it last looked. */
  #lag = 0;
  #standIn: StandIn | undefined;
  readonly #doors = new Doors();
  #unserve = (): void => undefined;
  #cancelled = false;
  #wake = (): void => undefined;
  #end: (reason: string) => void = () => undefined;
  /** Resolves with the reason when this node has to stop serving. */
  readonly ended: Promise<string>;
  /** Whether this node may speak for the journal. */
  readonly tenure: Tenure;

  constructor(parts: OwnershipParts) {
    this.#p = parts;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    const isHeld = (): boolean => this.#claim?.held === true;
    this.tenure = {
      get held() {
        return isHeld();
      },
    };
  }

  /** The cluster as this node sees it. */
  status(): ClusterStatus {
    const members = this.#cluster?.coordinator.members() ?? [];
    const leaseLeftMs = this.#claim?.leaseLeftMs;
    return {
      node: this.#p.id,
      ...(leaseLeftMs === undefined ? {} : { leaseLeftMs: Math.round(leaseLeftMs) }),
      members: members.map(({ id, about = {} }): ClusterMember => {
        const { host = '', role = 'unknown', epoch = 0, lag = 0 } = about;
        return { id, host: String(host), role: String(role), epoch: Number(epoch), lag: Number(lag) };
      }),
    };
  }

  /** Whether somebody who has followed takes over when this node lets go. */
  get hasFollower(): boolean {
    return this.status().members.some(
      ({ id, role, lag }) => id !== this.#p.id && role === 'standby' && lag < KEEPS_UP_MAX,
    );
  }

  #about(): MemberAbout {
    const isOwner = this.#claim?.held === true;
    const lag = isOwner ? 0 : this.#lag;
    return { host: hostname(), role: isOwner ? 'owner' : 'standby', epoch: this.#claim?.epoch ?? 0, lag };
  }

  get claim(): Claim | undefined {
    return this.#claim;
  }

  /** Becomes a member, and from now on waits to be the owner; meanwhile this node's ports answer that it is not. */
  async join(): Promise<void> {
    const cluster = await this.#joined();
    this.#claimed = this.#waitForClaim(cluster);
    // Whoever opens the journal hears of a failure; without one it ends unheard.
    this.#claimed.catch(() => undefined);
  }

  async #joined(): Promise<Cluster> {
    const { isPatient, clock, log, join } = this.#p;
    for (let tries = 1; ; tries++) {
      try {
        this.#cluster = await join(() => this.#about());
        this.#streams = await this.#cluster.openStreams();
        return this.#cluster;
      } catch (error) {
        // A server that cannot be used is told at once; servers that are choosing their leader get the time to do so.
        const isHopeless =
          (error instanceof BrokerError && error.kind === 'precondition') || tries >= JOIN_TRIES;
        await this.#leave();
        if ((isHopeless && !isPatient) || this.#cancelled) throw error;
        log.warn('the cluster does not answer, trying again', { error: String(error) });
        await new Promise<void>((resolve) => clock.after(REJOIN_MS, resolve));
      }
    }
  }

  /**
   * Resolves with what `open` made of the journal when this node is the owner. The journal's replay follows what the owner of the time
   * writes, and ends when this node has taken over: then little is left to read. Rejects when this node is stopped meanwhile, and
   * with `TakeOverFailed` when NATS does not answer.
   */
  async takeOver<T>(open: (journal: Journal, tenure: Tenure) => Promise<T>): Promise<T> {
    for (;;) {
      const isOwner = this.#claim !== undefined;
      try {
        return await open(await this.#openJournal(), this.tenure);
      } catch (error) {
        // Who follows may lose its way, in a checkpoint that is replaced meanwhile for one, and begins anew. An owner may not.
        if (this.#cancelled) throw error;
        const cause = unavailability(error);
        if (isOwner) throw cause === undefined ? error : new TakeOverFailed(cause);
        this.#p.log.warn('the journal could not be followed, beginning anew', { error: String(error) });
        if (this.#claim === undefined)
          await new Promise<void>((resolve) => this.#p.clock.after(REJOIN_MS, resolve));
      }
    }
  }

  /** What a start really failed of: an owner whose channels were lost while its connectors started may begin anew. */
  startFailure(error: unknown): unknown {
    const cause = unavailability(error);
    return this.#claim !== undefined && cause !== undefined ? new TakeOverFailed(cause) : error;
  }

  async #openJournal(): Promise<Journal> {
    const { minFreeBytes, clock, monotonicMs = () => performance.now(), log } = this.#p;
    if (this.#streams === undefined || this.#claimed === undefined) throw new Error('this node is no member');
    const streams = this.#streams;
    const open = this.#p.openJournal ?? (await import('../journal/jetstream/index.js')).openJetStreamJournal;
    return open({
      ...streams,
      ...this.#p.journal,
      claim: this.#claim?.epoch ?? this.#claimed.then(({ epoch }) => epoch),
      minFreeBytes,
      clock,
      monotonicMs,
      log,
      onFollow: (lag) => (this.#lag = lag),
      onDeposed: (reason) => this.#end(reason),
    });
  }

  /** Ends the waiting. */
  cancel(): void {
    this.#cancelled = true;
    this.#wake();
  }

  /** Gives everything back; a node that waits takes over at once. */
  async release(): Promise<void> {
    this.cancel();
    await this.#claimed?.catch(() => undefined);
    await this.#standIn?.stop();
    await this.#claim?.release();
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const cluster = this.#cluster;
    this.#cluster = undefined;
    await cluster?.close();
  }

  async #waitForClaim(cluster: Cluster): Promise<Claim> {
    const { log } = this.#p;
    const { coordinator } = cluster;
    const unwatch = coordinator.watchClaims(() => this.#wake());
    try {
      for (;;) {
        if (this.#cancelled) throw new BrokerError('draining', 'stopped while waiting to be the owner');
        const claim = await coordinator.claim(CLAIM).catch((error: unknown) => {
          log.debug('the claim cannot be asked for', { error: String(error) });
          return undefined;
        });
        if (claim !== undefined) return this.#own(claim);
        if (this.#standIn === undefined) await this.#standBy(cluster);
        await this.#pause();
      }
    } finally {
      unwatch();
    }
  }

  /** Opens the ports: what comes there goes to the owner. */
  async #standBy({ coordinator, connections }: Cluster): Promise<void> {
    const { id, log, standIn } = this.#p;
    this.#standIn = await standIn({
      connections,
      doors: this.#doors,
      status: () => this.status(),
      hasOwner: async () => (await coordinator.owner(CLAIM)) !== undefined,
    });
    const bound = await this.#standIn.start();
    const addresses = bound.map(({ name, host, port }) => [name, `${host}:${port}`] as const);
    log.info('standby', { node: id, addresses: Object.fromEntries(addresses) });
  }

  /** Gives this node's ports to the connectors that are about to start. */
  async takePorts(): Promise<void> {
    await this.#standIn?.unbind();
  }

  /** This node's connectors serve: clients that waited here, and those whom other nodes forward. */
  serve(admit: Admit): void {
    this.#doors.open(admit);
    const serving = this.#cluster?.connections.serve(
      (head, stream) =>
        new Promise((resolve) => {
          const socket = new ForwardedSocket(stream, head);
          // Resets are everyday life; the close that follows is what counts.
          socket.on('error', () => undefined);
          socket.once('close', resolve);
          admit(head.listener, socket.asSocket);
        }),
    );
    this.#unserve = serving ?? (() => undefined);
  }

  /** Other nodes look for another owner from now on. */
  unserve(): void {
    this.#unserve();
  }

  #own(claim: Claim): Claim {
    this.#claim = claim;
    this.#p.log.info('this node is the owner', { node: this.#p.id, epoch: claim.epoch });
    void claim.lost.then((reason) => this.#end(reason));
    return claim;
  }

  /** Until it is worth asking again. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#p.clock.after(ASK_MS, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** That the journal does not answer, or is another's, however it was told: a connector that cannot start says so in words of its own. */
function unavailability(error: unknown): BrokerError | undefined {
  for (let one = error; one instanceof Error; one = one.cause)
    if (one instanceof BrokerError && one.kind === 'unavailable') return one;
  return undefined;
}
