import { afterAll, beforeAll, describe } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { SystemClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import type { Bus, Coordinator } from '../../src/cluster/contract.js';
import { openNatsBus } from '../../src/cluster/nats/bus.js';
import { connectNats } from '../../src/cluster/nats/connection.js';
import { openNatsCoordinator } from '../../src/cluster/nats/coordinator.js';
import { journalNames, openJetStreamJournal, openNatsStream } from '../../src/journal/jetstream/index.js';
import { PublishError, type Expected, type FencedStream } from '../../src/journal/jetstream/stream.js';
import { natsMissing, startNats, type NatsServers } from '../support/nats-server.js';
import { busContract } from './bus.contract.js';
import { coordinatorContract } from './coordinator.contract.js';
import { journalContract } from './journal.contract.js';

// One server for the file; every test has a cluster of its own in it, told apart by names.
describe.skipIf(natsMissing !== undefined)('NATS', () => {
  let nats: NatsServers;
  let fresh = 0;
  const clusterOf = new Map<Coordinator, string>();
  const connections = new Map<Coordinator, NatsConnection>();
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(async () => {
    for (const nc of connections.values()) await nc.close();
    await nats.stop();
  });

  const times = { leaseMs: 600, beatMs: 100 };
  let members = 0;
  async function member(cluster: string): Promise<Coordinator> {
    const nc = await connectNats({ servers: nats.url.split(','), name: 'test', log: silentLog });
    const coordinator = await openNatsCoordinator({
      nc,
      id: `m${members++}`,
      bucket: cluster,
      replicas: 1,
      times,
      clock: new SystemClock(),
      monotonicMs: () => performance.now(),
      log: silentLog,
    });
    clusterOf.set(coordinator, cluster);
    connections.set(coordinator, nc);
    return coordinator;
  }

  coordinatorContract({
    name: 'NATS',
    create: () => member(`cluster-${fresh++}`),
    join: (first) => member(clusterOf.get(first) ?? ''),
    cutOff: async (one) => connections.get(one)?.close(),
    takeoverMs: 2000,
  });

  journalContract('NATS', async () => {
    const names = journalNames(`journal-${fresh++}`, 0);
    const nc = await connectNats({ servers: nats.url.split(','), name: 'test', log: silentLog });
    const open = (name: string, subject: string): Promise<FencedStream> =>
      openNatsStream({ nc, name, subject, replicas: 1 });
    const log = await open(names.stream, names.all);
    const checkpoints = await open(names.checkpoints, names.allCheckpoints);
    let claim = 0;
    let isFull = false;
    const failing: FencedStream = {
      payloadBytesMax: log.payloadBytesMax,
      publish: async (subject: string, payload: Uint8Array, expected: Expected) => {
        if (!isFull) return log.publish(subject, payload, expected);
        isFull = false;
        throw new PublishError('full', 'no space');
      },
      get: (seq) => log.get(seq),
      last: (subject) => log.last(subject),
      lastSeq: () => log.lastSeq(),
      read: (from, to, visit) => log.read(from, to, visit),
      purge: (subject) => log.purge(subject),
      subjects: () => log.subjects(),
      freeBytes: () => log.freeBytes(),
    };
    return {
      open: () =>
        openJetStreamJournal({
          stream: failing,
          checkpoints,
          names,
          claim: ++claim,
          extentBytes: 4096,
          clock: new SystemClock(),
          log: silentLog,
        }),
      // The next owner takes the journal over while this one still runs.
      crash: async () => undefined,
      failNextGroup: () => void (isFull = true),
      dispose: () => nc.close(),
    };
  });

  busContract('NATS', async () => {
    const cluster = `cluster-${fresh++}`;
    const end = async (): Promise<{ coordinator: Coordinator; bus: Bus }> => {
      const coordinator = await member(cluster);
      const nc = connections.get(coordinator)!;
      return {
        coordinator,
        bus: await openNatsBus({
          nc,
          coordinator,
          prefix: cluster,
          clock: new SystemClock(),
          log: silentLog,
        }),
      };
    };
    const ends = [await end(), await end()] as const;
    return {
      one: { self: ends[0].coordinator.self, bus: ends[0].bus },
      two: { self: ends[1].coordinator.self, bus: ends[1].bus },
      dispose: async () => {
        for (const { coordinator, bus } of ends) {
          await bus.close();
          await coordinator.close();
        }
      },
    };
  });
});
