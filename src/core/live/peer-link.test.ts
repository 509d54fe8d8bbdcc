import { describe, expect, it } from 'vitest';
import { event, listen, reply, request, service, text } from '../../../test/support/live.js';
import { ManualClock } from '../../base/clock.js';
import type { ChannelName } from '../channel-name.js';
import type { LivePeerHandlers, LivePeers } from '../ports/live-peers.js';
import { LIVE_LIMITS } from './limits.js';
import type { LiveService } from './live-service.js';

/** Nodes joined by lines that can be cut; what is sent arrives in the same turn. */
class Net {
  readonly #nodes = new Map<string, LivePeerHandlers>();
  readonly #down = new Set<string>();

  peers(self: string): LivePeers {
    return {
      self,
      attach: (handlers) => {
        for (const [name, other] of this.#nodes) {
          // As a coordinator tells them: after the fact.
          queueMicrotask(() => {
            other.joined(self);
            handlers.joined(name);
          });
        }
        this.#nodes.set(self, handlers);
      },
      send: (member, message) => {
        const to = this.#nodes.get(member);
        if (to === undefined || this.#down.has(member)) return Promise.reject(new Error('not there'));
        to.message(self, message);
        return Promise.resolve();
      },
    };
  }

  cut(member: string): void {
    this.#down.add(member);
  }

  mend(member: string): void {
    this.#down.delete(member);
  }

  leave(member: string): void {
    this.#nodes.delete(member);
    for (const other of this.#nodes.values()) other.left(member);
  }
}

describe('several nodes', () => {
  async function cluster(): Promise<{ net: Net; clock: ManualClock; nodes: LiveService[] }> {
    const net = new Net();
    const clock = new ManualClock();
    const nodes = ['a', 'b.2', 'c'].map((name) => service({ clock, peers: net.peers(name) }).live);
    await new Promise(setImmediate);
    return { net, clock, nodes };
  }

  it('share events: every subscriber, and one member of a group over all of them', async () => {
    const { nodes } = await cluster();
    const [a, b, c] = nodes as [LiveService, LiveService, LiveService];
    const alone = [listen(a, 'x.*'), listen(b, 'x.1'), listen(b, 'x.1'), listen(c, 'y')];
    const group = [
      listen(a, 'x.1', 'g'),
      listen(b, 'x.1', 'g'),
      listen(b, 'x.1', 'g'),
      listen(c, 'x.1', 'g'),
    ];
    for (let i = 0; i < 12; i++) a.publish(event('x.1', String(i)));
    expect(alone.map(({ messages }) => messages.length)).toEqual([12, 12, 12, 0]);
    expect(group.map(({ messages }) => messages.length)).toEqual([3, 3, 3, 3]);
    expect(alone[1]?.bodies[11]).toBe('11');
  });

  it('answer requests of each other', async () => {
    const { nodes } = await cluster();
    const [a, b] = nodes as [LiveService, LiveService];
    b.serve({
      kind: 'commands',
      channel: 'c' as ChannelName,
      group: 'g',
      sink: {
        open: true,
        take: (asked) => b.reply(asked.replyTo, reply(`${asked.clientId} ${String(asked.timeoutMs)}`)),
      },
    });
    const answer = await a.request(request('c', { kind: 'commands', cache: { key: 'k', ttlMs: 1 } })).reply;
    expect(text(answer)).toBe('c 1000');
    expect(answer?.stamp).toBe(1n);
  });

  it('forget a node that leaves, and tell one that missed something', async () => {
    const { net, clock, nodes } = await cluster();
    const [a, b, c] = nodes as [LiveService, LiveService, LiveService];
    const atB = listen(b, 'x', 'g');
    net.cut('a');
    const atC = listen(c, 'x', 'g');
    await new Promise(setImmediate);
    a.publish(event('x', 'c is not known yet'));
    expect([atB.messages.length, atC.messages.length]).toEqual([1, 0]);
    net.mend('a');
    clock.advance(LIVE_LIMITS.resyncMs);
    for (let i = 0; i < 4; i++) a.publish(event('x'));
    expect(atC.messages.length).toBe(2);
    net.leave('b.2');
    for (let i = 0; i < 4; i++) a.publish(event('x'));
    expect(atC.messages.length).toBe(6);
  });
});
