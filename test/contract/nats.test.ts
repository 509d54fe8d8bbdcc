import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { SystemClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import type { Bus, Coordinator } from '../../src/cluster/contract.js';
import { openNatsBus } from '../../src/cluster/nats/bus.js';
import { connectNats } from '../../src/cluster/nats/connection.js';
import { decodeFrame, encodeFrame, FrameKind, type Frame } from '../../src/cluster/nats/frames.js';
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
      next: (seq) => log.next(seq),
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
          monotonicMs: () => performance.now(),
          log: silentLog,
        }),
      // The next owner takes the journal over while this one still runs.
      crash: async () => undefined,
      failNextGroup: () => void (isFull = true),
      dispose: () => nc.close(),
    };
  });

  describe('parts that were lost on the way', () => {
    const service = 'echo';
    const part = (number: number, last: boolean) => ({
      call: 1,
      part: number,
      last,
      service,
      caller: 'm',
      sender: 'm',
    });

    it.each([
      ['from the middle', [part(0, false), part(2, true)]],
      ['from the front', [part(1, true)]],
    ])('%s, the rest is no request', async (_where, parts) => {
      const cluster = `cluster-${fresh++}`;
      const coordinator = await member(cluster);
      const nc = connections.get(coordinator)!;
      const bus = await openNatsBus({
        nc,
        coordinator,
        prefix: cluster,
        clock: new SystemClock(),
        log: silentLog,
      });
      const served: Uint8Array[] = [];
      bus.serve(service, { request: (_from, body) => Promise.resolve(served.push(body)).then(() => body) });
      const answers = nc.subscribe(`${cluster}.bus.m.>`, { max: 1 });
      for (const one of parts) {
        const payload = Buffer.from(`part ${one.part}`);
        nc.publish(
          `${cluster}.bus.${coordinator.self.id}.1`,
          encodeFrame({ ...one, kind: FrameKind.request, payload }),
        );
      }
      for await (const { data } of answers)
        expect(decodeFrame(data)).toMatchObject({ kind: FrameKind.fail, call: 1 });
      expect(served).toEqual([]);
      await bus.close();
      await coordinator.close();
    });

    it('from a reply or a chunk, it fails', async () => {
      const cluster = `cluster-${fresh++}`;
      const coordinator = await member(cluster);
      const nc = connections.get(coordinator)!;
      const bus = await openNatsBus({
        nc,
        coordinator,
        prefix: cluster,
        clock: new SystemClock(),
        log: silentLog,
      });
      const self = coordinator.self.id;
      // A peer by hand: answers with the second part of two only.
      nc.subscribe(`${cluster}.bus.m.>`, {
        callback: (_error, { data }) => {
          const { kind, call, caller } = decodeFrame(data)!;
          const say = (frame: Partial<Frame>): void => {
            const whole = {
              call,
              caller,
              service,
              sender: 'm',
              part: 0,
              last: true,
              payload: Buffer.from('x'),
            };
            nc.publish(
              `${cluster}.bus.${self}.${call}`,
              encodeFrame({ ...whole, kind: FrameKind.reply, ...frame }),
            );
          };
          if (kind === FrameKind.request) say({ part: 1 });
          if (kind !== FrameKind.open) return;
          say({ kind: FrameKind.opened });
          say({ kind: FrameKind.data, part: 0 });
          say({ kind: FrameKind.data, part: 2 });
        },
      });
      const peer = { id: 'm' };
      await expect(bus.request(peer, service, Buffer.from('x'), 5000)).rejects.toThrow('lost');
      const stream = await bus.open(peer, service);
      expect(await stream.read()).toEqual(Buffer.from('x'));
      await expect(stream.read()).rejects.toThrow('lost');
      await bus.close();
      await coordinator.close();
    });
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
