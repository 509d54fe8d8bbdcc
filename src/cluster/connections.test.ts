import { describe, expect, it } from 'vitest';
import { ManualClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import { MemoryBus } from '../../test/support/memory-bus.js';
import { ForwardedConnections, decodeHead, type ConnectionHead } from './connections.js';
import type { BusStream, Coordinator } from './contract.js';

const HEAD: ConnectionHead = {
  listener: 'aws',
  remoteAddress: '192.0.2.7',
  remotePort: 40_000,
  localAddress: '192.0.2.1',
  localPort: 4566,
  secure: false,
};

/** Two nodes; `owner` is who owns the channels at the moment. */
function cluster() {
  const clock = new ManualClock();
  const net = new Map<string, MemoryBus>();
  const state: { owner: string | undefined; asked: number } = { owner: undefined, asked: 0 };
  const node = (id: string): ForwardedConnections => {
    const self = { id };
    const coordinator = {
      self,
      owner: () => {
        state.asked++;
        return Promise.resolve(state.owner === undefined ? undefined : { id: state.owner });
      },
    } as unknown as Coordinator;
    const bus = new MemoryBus(self, net);
    return new ForwardedConnections({ coordinator, bus, claim: 'all', clock, log: silentLog });
  };
  return { clock, state, one: node('one'), two: node('two') };
}

/** Moves time in small steps until `done`. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 10) {
    clock.advance(10);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
}

describe('forwarded connections', () => {
  it('reach the owner with their head, then byte for byte', async () => {
    const { state, one, two } = cluster();
    state.owner = 'two';
    let seen: ConnectionHead | undefined;
    two.serve(async (head, stream) => {
      seen = head;
      await stream.write((await stream.read()) ?? Buffer.from('nothing'));
    });
    const head = { ...HEAD, secure: true, certificateName: 'alice' };
    const way = (await one.open(head, 0)) as BusStream;
    await way.write(Buffer.from('hello'));
    expect(Buffer.from((await way.read()) ?? []).toString()).toBe('hello');
    expect(seen).toEqual(head);
  });

  it('are served here when this node is the owner', async () => {
    const { state, one } = cluster();
    state.owner = 'one';
    expect(await one.open(HEAD, 0)).toBe('here');
  });

  it('wait for an owner, and for one that serves', async () => {
    const { clock, state, one, two } = cluster();
    let way: BusStream | 'here' | undefined;
    void one.open(HEAD, 3000).then((found) => (way = found));
    await pass(clock, 1000);
    state.owner = 'two';
    await pass(clock, 1000);
    expect(way).toBeUndefined();
    two.serve(() => new Promise(() => undefined));
    await pass(clock, 200);
    expect(way).toBeDefined();
  });

  it('are refused when there is none in time', async () => {
    const { clock, one } = cluster();
    const opened = one.open(HEAD, 3000).catch((error: unknown) => error);
    let error: unknown;
    void opened.then((found) => (error = found));
    await pass(clock, 2900);
    expect(error).toBeUndefined();
    await pass(clock, 300);
    expect(error).toMatchObject({ kind: 'unavailable' });
  });

  it('ask for the owner now and then, and again when it does not serve', async () => {
    const { clock, state, one, two } = cluster();
    state.owner = 'two';
    const unserve = two.serve(() => new Promise(() => undefined));
    for (let i = 0; i < 50; i++) await one.open(HEAD, 0);
    expect(state.asked).toBe(1);
    unserve();
    await expect(one.open(HEAD, 0)).rejects.toMatchObject({ kind: 'unavailable' });
    state.owner = 'one';
    expect(await one.open(HEAD, 0)).toBe('here');
    await pass(clock, 1000);
    await one.open(HEAD, 0);
    expect(state.asked).toBe(3);
  });

  it.each(['', 'x', '1', 'null', '{}', JSON.stringify({ ...HEAD, remotePort: '1' })])(
    'with the head %j are refused',
    async (text) => {
      expect(decodeHead(Buffer.from(text))).toBeUndefined();
      const { state, one, two } = cluster();
      state.owner = 'two';
      let served = false;
      two.serve(() => Promise.resolve(void (served = true)));
      const way = (await one.open(JSON.parse('{"listener":1}') as ConnectionHead, 0)) as BusStream;
      await expect(way.read()).rejects.toMatchObject({ kind: 'unavailable' });
      expect(served).toBe(false);
    },
  );
});
