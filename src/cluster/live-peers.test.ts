import { describe, expect, it } from 'vitest';
import { silentLog } from '../base/log.js';
import { LocalBus } from './local/bus.js';
import { LocalCoordinator } from './local/coordinator.js';
import type { Bus, BusHandlers, Coordinator, Member } from './contract.js';
import { BusLivePeers, LIVE_PEER_LIMITS } from './live-peers.js';

/** Buses of one process; an answer takes a turn. */
class Switchboard {
  readonly #served = new Map<string, BusHandlers>();
  readonly watchers = new Set<(members: readonly Member[]) => void>();
  members: readonly Member[] = [];
  batches = 0;
  isDown = false;

  join(id: string): { bus: Bus; coordinator: Coordinator } {
    const self = { id };
    const bus: Bus = {
      request: async (member, service, body) => {
        this.batches++;
        await new Promise(setImmediate);
        if (this.isDown) throw new Error('down');
        const served = this.#served.get(`${member.id} ${service}`);
        if (served?.request === undefined) throw new Error('nobody');
        return served.request(self, body);
      },
      open: () => Promise.reject(new Error('not here')),
      serve: (service, handlers) => {
        this.#served.set(`${id} ${service}`, handlers);
        return () => void this.#served.delete(`${id} ${service}`);
      },
      close: () => Promise.resolve(),
    };
    const coordinator = {
      self,
      members: () => this.members,
      watchMembers: (seen: (members: readonly Member[]) => void) => {
        this.watchers.add(seen);
        return () => void this.watchers.delete(seen);
      },
    } as Coordinator;
    return { bus, coordinator };
  }

  see(...ids: string[]): void {
    this.members = ids.map((id) => ({ id }));
    for (const watcher of this.watchers) watcher(this.members);
  }
}

/** Peers that write down what they hear. */
function attached(board: Switchboard, id: string): { peers: BusLivePeers; heard: string[] } {
  const peers = new BusLivePeers({ ...board.join(id), log: silentLog });
  const heard: string[] = [];
  peers.attach({
    joined: (member) => heard.push(`+${member}`),
    left: (member) => heard.push(`-${member}`),
    message: (from, message) => heard.push(`${from}:${Buffer.from(message).toString()}`),
  });
  return { peers, heard };
}

describe('live traffic over the bus', () => {
  it('keeps order and sends what comes together in one batch', async () => {
    const board = new Switchboard();
    const [a, b] = [attached(board, 'a'), attached(board, 'b')];
    board.see('a', 'b');
    await Promise.all(['1', '2', '3'].map((text) => a.peers.send('b', Buffer.from(text))));
    expect(board.batches).toBe(1);
    const first = a.peers.send('b', Buffer.from('4'));
    await Promise.resolve();
    const later = a.peers.send('b', Buffer.from('5'));
    await Promise.all([first, later]);
    expect(board.batches).toBe(3);
    expect(b.heard).toEqual(['+a', 'a:1', 'a:2', 'a:3', 'a:4', 'a:5']);
  });

  it('tells of members that are there, that come and that go, and rejects what cannot arrive', async () => {
    const board = new Switchboard();
    board.see('a', 'b');
    const a = attached(board, 'a');
    await Promise.resolve();
    board.see('a', 'b', 'c');
    board.see('a', 'c');
    expect(a.heard).toEqual(['+b', '+c', '-b']);
    await expect(a.peers.send('b', Buffer.from('x'))).rejects.toMatchObject({ kind: 'unavailable' });
    board.isDown = true;
    await expect(a.peers.send('c', Buffer.from('x'))).rejects.toThrow('down');
    const big = Buffer.alloc(LIVE_PEER_LIMITS.waitingBytesMax);
    const waiting = a.peers.send('c', big);
    const refused = a.peers.send('c', Buffer.from('x'));
    a.peers.close();
    await expect(refused).rejects.toMatchObject({ kind: 'limit' });
    await expect(waiting).rejects.toMatchObject({ kind: 'unavailable' });
    expect(board.watchers.size).toBe(0);
  });

  it('belongs to who attached last: the one before could not open its journal', async () => {
    const coordinator = new LocalCoordinator({ id: 'me' });
    const peers = new BusLivePeers({ coordinator, bus: new LocalBus(), log: silentLog });
    const handlers = { joined: () => undefined, left: () => undefined, message: () => undefined };
    peers.attach(handlers);
    await Promise.resolve();
    expect(() => peers.attach(handlers)).not.toThrow();
    peers.close();
  });

  it('is quiet on a single machine', async () => {
    const coordinator = new LocalCoordinator({ id: 'me' });
    const peers = new BusLivePeers({ coordinator, bus: new LocalBus(), log: silentLog });
    const heard: string[] = [];
    peers.attach({ joined: (id) => heard.push(id), left: () => undefined, message: () => undefined });
    await Promise.resolve();
    expect([peers.self, heard]).toEqual(['me', []]);
    peers.close();
  });
});
