import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { Claim, Coordinator } from '../cluster/contract.js';
import { connectNats } from '../cluster/nats/connection.js';
import { openNatsCoordinator } from '../cluster/nats/coordinator.js';
import { BrokerError } from '../core/errors.js';
import type { Journal } from '../core/ports/journal.js';
import {
  journalNames,
  openJetStreamJournal,
  openNatsStream,
  type JetStreamJournalOptions,
} from '../journal/jetstream/index.js';
import type { Config } from './settings.js';
import { StandbyListeners } from './standby.js';

/** All channels are one partition for now. */
const PARTITION = 0;
const CLAIM = `partition-${PARTITION}`;
/** How often a node that waits asks for the claim. */
const ASK_MS = 150;
const REJOIN_MS = 500;
/** Renewals within a lease. */
const BEATS_PER_LEASE = 5;

export interface OwnershipParts {
  readonly config: Config;
  /** Name of this node among the members. */
  readonly id: string;
  /** Waits for a cluster that does not answer. */
  readonly isPatient: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

type Streams = Pick<JetStreamJournalOptions, 'names' | 'stream' | 'checkpoints'>;

/** This node's part in a cluster: it waits until it owns everything, then has the journal, until it has to let go. */
export class Ownership {
  readonly #p: OwnershipParts;
  #nc: NatsConnection | undefined;
  #coordinator: Coordinator | undefined;
  #claim: Claim | undefined;
  #streams: Streams | undefined;
  #cancelled = false;
  #end: (reason: string) => void = () => undefined;
  /** Resolves with the reason when this node has to stop serving. */
  readonly ended: Promise<string>;

  constructor(parts: OwnershipParts) {
    this.#p = parts;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** Resolves when this node owns everything; meanwhile its ports answer that it does not. Rejects when it is cancelled. */
  async acquire(): Promise<void> {
    const { id, log } = this.#p;
    const coordinator = await this.#joined();
    // Looked for while this node waits: a take-over is shorter by it.
    this.#streams = await this.#openStreams();
    this.#claim = await this.#waitForClaim(coordinator);
    log.info('this node is the owner', { node: id, epoch: this.#claim.epoch });
    void this.#claim.lost.then((reason) => this.#end(reason));
  }

  async #joined(): Promise<Coordinator> {
    const { isPatient, clock, log } = this.#p;
    for (;;) {
      try {
        return await this.#join();
      } catch (error) {
        await this.#nc?.close();
        this.#nc = undefined;
        if (!isPatient || this.#cancelled) throw error;
        log.warn('the cluster does not answer, trying again', { error: String(error) });
        await new Promise<void>((resolve) => clock.after(REJOIN_MS, resolve));
      }
    }
  }

  async #join(): Promise<Coordinator> {
    const { config, id, clock, log } = this.#p;
    const { nats } = config;
    const given = (text: string): string | undefined => (text === '' ? undefined : text);
    const [caFile, certFile, keyFile] = [nats.caFilename, nats.certFilename, nats.keyFilename].map(given);
    this.#nc = await connectNats({
      servers: nats.url.split(',').map((server) => server.trim()),
      name: `polymq ${id}`,
      user: given(nats.user),
      password: given(nats.password),
      token: given(nats.token),
      credentialsFile: given(nats.credentialsFilename),
      tls: caFile === undefined && certFile === undefined ? undefined : { caFile, certFile, keyFile },
      log,
    });
    this.#coordinator = await openNatsCoordinator({
      nc: this.#nc,
      id,
      bucket: `${nats.name}-cluster`,
      replicas: nats.replicas,
      times: { leaseMs: nats.leaseMs, beatMs: nats.leaseMs / BEATS_PER_LEASE },
      clock,
      monotonicMs: () => performance.now(),
      log,
    });
    return this.#coordinator;
  }

  /** The journal, taken over from whoever had it before. */
  openJournal(): Promise<Journal> {
    const { config, clock, log } = this.#p;
    if (this.#streams === undefined || this.#claim === undefined) throw new Error('this node owns nothing');
    return openJetStreamJournal({
      ...this.#streams,
      claim: this.#claim.epoch,
      minFreeBytes: Math.min(config.store.minFreeBytes, config.nats.maxBytes / 10),
      clock,
      log,
      onDeposed: (reason) => this.#end(reason),
    });
  }

  async #openStreams(): Promise<Streams> {
    const { name, replicas, maxBytes } = this.#p.config.nats;
    const nc = this.#nc;
    if (nc === undefined) throw new Error('there is no connection');
    const names = journalNames(name, PARTITION);
    const bytesMax = maxBytes > 0 ? maxBytes : undefined;
    const [stream, checkpoints] = await Promise.all([
      openNatsStream({ nc, name: names.stream, subject: names.all, replicas, bytesMax }),
      openNatsStream({ nc, name: names.checkpoints, subject: names.allCheckpoints, replicas }),
    ]);
    return { names, stream, checkpoints };
  }

  /** Ends the waiting. */
  cancel(): void {
    this.#cancelled = true;
  }

  /** Gives everything back; a node that waits takes over at once. */
  async release(): Promise<void> {
    this.cancel();
    await this.#claim?.release();
    await this.#coordinator?.close();
    await this.#nc?.close();
  }

  async #waitForClaim(coordinator: Coordinator): Promise<Claim> {
    const { config, id, clock, log } = this.#p;
    let listeners: StandbyListeners | undefined;
    try {
      for (;;) {
        if (this.#cancelled) throw new BrokerError('draining', 'stopped while waiting to be the owner');
        const claim = await coordinator.claim(CLAIM).catch((error: unknown) => {
          log.debug('the claim cannot be asked for', { error: String(error) });
          return undefined;
        });
        if (claim !== undefined) return claim;
        if (listeners === undefined) {
          listeners = new StandbyListeners(config);
          const addresses = (await listeners.start()).map(({ name, host, port }) => [
            name,
            `${host}:${port}`,
          ]);
          log.info('standby', { node: id, addresses: Object.fromEntries(addresses) as unknown });
        }
        await new Promise<void>((resolve) => clock.after(ASK_MS, resolve));
      }
    } finally {
      await listeners?.stop();
    }
  }
}
