import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { ForwardedConnections } from '../cluster/connections.js';
import type { Coordinator, MemberAbout } from '../cluster/contract.js';
import { openNatsBus } from '../cluster/nats/bus.js';
import { connectNats } from '../cluster/nats/connection.js';
import { openNatsCoordinator } from '../cluster/nats/coordinator.js';
import { journalNames, openNatsStream, type JetStreamJournalOptions } from '../journal/jetstream/index.js';
import { CLAIM, PARTITION } from './partition.js';
import type { Config } from './settings.js';

/** Renewals within a lease. */
const BEATS_PER_LEASE = 5;

export type Streams = Pick<JetStreamJournalOptions, 'names' | 'stream' | 'checkpoints'>;

/** A node's membership in a cluster. */
export interface Cluster {
  readonly coordinator: Coordinator;
  readonly connections: ForwardedConnections;
  /** The streams of the journal, made when there are none. */
  openStreams(): Promise<Streams>;
  /** Leaves it; claims are given back. */
  close(): Promise<void>;
}

/** Joins the cluster that the configuration names. Rejects when NATS cannot be used, naming why. */
export async function joinCluster(parts: {
  readonly config: Config;
  readonly id: string;
  readonly about: () => MemberAbout;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<Cluster> {
  const { id, about, clock, log } = parts;
  const { nats } = parts.config;
  const nc = await connectNats({ ...natsAccess(parts.config), name: `polymq ${id}`, log });
  try {
    const coordinator = await openNatsCoordinator({
      nc,
      id,
      about,
      bucket: `${nats.name}-cluster`,
      replicas: nats.replicas,
      times: { leaseMs: nats.leaseMs, beatMs: nats.leaseMs / BEATS_PER_LEASE },
      clock,
      monotonicMs: () => performance.now(),
      log,
    });
    const bus = await openNatsBus({ nc, coordinator, prefix: nats.name, clock, log });
    return {
      coordinator,
      connections: new ForwardedConnections({ coordinator, bus, claim: CLAIM, clock, log }),
      openStreams: async () => {
        const names = journalNames(nats.name, PARTITION);
        const { replicas, maxBytes } = nats;
        const bytesMax = maxBytes > 0 ? maxBytes : undefined;
        const [stream, checkpoints] = await Promise.all([
          openNatsStream({ nc, name: names.stream, subject: names.all, replicas, bytesMax }),
          openNatsStream({ nc, name: names.checkpoints, subject: names.allCheckpoints, replicas }),
        ]);
        return { names, stream, checkpoints };
      },
      close: async () => {
        await bus.close();
        await coordinator.close();
        await nc.close();
      },
    };
  } catch (error) {
    await nc.close();
    throw error;
  }
}

/** How the configuration says that NATS is reached. */
export function natsAccess({ nats }: Config): Omit<Parameters<typeof connectNats>[0], 'name' | 'log'> {
  const given = (text: string): string | undefined => (text === '' ? undefined : text);
  const [caFile, certFile, keyFile] = [nats.caFilename, nats.certFilename, nats.keyFilename].map(given);
  return {
    servers: nats.url.split(',').map((server) => server.trim()),
    user: given(nats.user),
    password: given(nats.password),
    token: given(nats.token),
    credentialsFile: given(nats.credentialsFilename),
    nkeyFile: given(nats.nkeyFilename),
    tls: caFile === undefined && certFile === undefined ? undefined : { caFile, certFile, keyFile },
  };
}
