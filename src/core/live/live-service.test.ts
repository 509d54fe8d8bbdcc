import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { SeededIds } from '../../base/ids.js';
import { silentLog, type Log } from '../../base/log.js';
import { Scheduler, Timeouts } from '../../base/scheduler.js';
import type { ChannelName } from '../channel-name.js';
import { NO_TAGS } from '../message.js';
import { NO_PEERS, type LivePeerHandlers, type LivePeers } from '../ports/live-peers.js';
import { LIVE_LIMITS } from './limits.js';
import { LiveService } from './live-service.js';
import type { LiveMessage, LiveReply, LiveRequest, NewEvent, NewRequest } from './types.js';

const NONE = new Uint8Array(0);

function service(
  options: { clock?: ManualClock; peers?: LivePeers; log?: Log; resolve?: (name: string) => string } = {},
): { live: LiveService; clock: ManualClock } {
  const clock = options.clock ?? new ManualClock();
  const scheduler = new Scheduler(clock);
  const timeouts = new Timeouts();
  scheduler.add(timeouts);
  const peers = options.peers ?? NO_PEERS;
  const live = new LiveService({
    clock,
    scheduler,
    timeouts,
    ids: new SeededIds(Buffer.from(peers.self).reduce((sum, byte) => sum * 31 + byte, 7)),
    log: options.log ?? silentLog,
    peers,
    resolve: (name) => (options.resolve?.(name) ?? name) as ChannelName,
  });
  return { live, clock };
}

/** A sink that can be shut. */
class Inbox<T extends LiveMessage> {
  open = true;
  readonly messages: T[] = [];
  take(message: T): void {
    this.messages.push(message);
  }
  get bodies(): string[] {
    return this.messages.map(({ body }) => Buffer.from(body).toString());
  }
}

function event(channel: string, body = 'x'): NewEvent {
  return {
    id: 'e',
    clientId: 'c',
    channel: channel as ChannelName,
    metadata: '',
    tags: NO_TAGS,
    body: Buffer.from(body),
  };
}

function request(channel: string, change: Partial<NewRequest> = {}): NewRequest {
  return { ...event(channel), kind: 'queries', timeoutMs: 1000, cache: undefined, trace: NONE, ...change };
}

function reply(body = 'done', change: Partial<LiveReply> = {}): LiveReply {
  return {
    clientId: 'r',
    metadata: '',
    tags: NO_TAGS,
    body: Buffer.from(body),
    executed: true,
    error: '',
    stamp: 1n,
    trace: NONE,
    isCached: false,
    ...change,
  };
}

function listen(live: LiveService, pattern: string, group = ''): Inbox<LiveMessage> {
  const sink = new Inbox<LiveMessage>();
  live.subscribe({ pattern, group, sink });
  return sink;
}

const text = (answer: LiveReply | undefined): string | undefined =>
  answer === undefined ? undefined : Buffer.from(answer.body).toString();

describe('events', () => {
  it('come to every subscriber whose pattern matches, with the time the broker took them', () => {
    const { live, clock } = service();
    const [exact, one, rest, other] = ['a.b', 'a.*', 'a.>', 'b'].map((pattern) => listen(live, pattern));
    expect(live.publish(event('a.b', '1'))).toBe(3);
    expect(live.publish(event('a.b.c', '2'))).toBe(1);
    expect(live.publish(event('z'))).toBe(0);
    expect([exact?.bodies, one?.bodies, rest?.bodies, other?.bodies]).toEqual([['1'], ['1'], ['1', '2'], []]);
    expect(exact?.messages[0]).toMatchObject({ channel: 'a.b', sentAt: clock.now() });
  });

  it('come to one member of each group', () => {
    const { live } = service();
    const members = [listen(live, 'a', 'g'), listen(live, 'a', 'g'), listen(live, 'a', 'g')];
    const second = listen(live, 'a', 'h');
    const alone = listen(live, 'a');
    for (let i = 0; i < 9; i++) live.publish(event('a', String(i)));
    expect(members.map(({ messages }) => messages.length)).toEqual([3, 3, 3]);
    expect(second.messages).toHaveLength(9);
    expect(alone.messages).toHaveLength(9);
  });

  it('pass over a member that has no room while another has', () => {
    const { live } = service();
    const [slow, quick] = [listen(live, 'a', 'g'), listen(live, 'a', 'g')];
    slow.open = false;
    for (let i = 0; i < 4; i++) live.publish(event('a'));
    expect(quick.messages).toHaveLength(4);
  });

  it('wait for a slow subscriber, in order, and go on when it takes again', () => {
    const { live } = service();
    const sink = new Inbox<LiveMessage>();
    const subscription = live.subscribe({ pattern: 'a', group: '', sink });
    sink.open = false;
    for (let i = 0; i < 3000; i++) live.publish(event('a', String(i)));
    sink.open = true;
    live.publish(event('a', '3000'));
    expect(sink.messages).toHaveLength(0);
    subscription.resume();
    live.publish(event('a', '3001'));
    expect(sink.bodies).toEqual(Array.from({ length: 3002 }, (_, i) => String(i)));
    expect(live.figures()).toMatchObject({ published: 3002, delivered: 3002, dropped: 0 });
  });

  it('are dropped, counted, and told of once when a full subscriber takes none within its grace', () => {
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
    const { live, clock } = service({ log });
    const sink = new Inbox<LiveMessage>();
    const subscription = live.subscribe({ pattern: 'a', group: '', sink });
    sink.open = false;
    for (let i = 0; i < LIVE_LIMITS.bufferMessages; i++) live.publish(event('a', String(i)));
    clock.advance(LIVE_LIMITS.graceMs - 1);
    live.publish(event('a', 'within the grace'));
    clock.advance(1);
    live.publish(event('a', 'dropped'));
    live.publish(event('a', 'dropped'));
    expect(live.figures().dropped).toBe(2);
    expect(warnings).toHaveLength(1);
    sink.open = true;
    subscription.resume();
    expect(sink.bodies.slice(-2)).toEqual(['99', 'within the grace']);
    expect(sink.messages).toHaveLength(LIVE_LIMITS.bufferMessages + 1);
    live.publish(event('a', 'again'));
    expect(sink.bodies.at(-1)).toBe('again');
  });

  it('are bounded in bytes that wait for one subscriber', () => {
    const { live } = service();
    const sink = listen(live, 'a');
    sink.open = false;
    const big = { ...event('a'), body: Buffer.alloc(LIVE_LIMITS.waitingBytesMax - 10) };
    live.publish(big);
    live.publish({ ...event('a'), body: Buffer.alloc(11) });
    expect(live.figures().dropped).toBe(1);
  });

  it('that wait for a member that leaves go to the rest of its group', () => {
    const { live } = service();
    const slow = new Inbox<LiveMessage>();
    const leaving = live.subscribe({ pattern: 'a', group: 'g', sink: slow });
    slow.open = false;
    live.publish(event('a', '1'));
    live.publish(event('a', '2'));
    const quick = listen(live, 'a', 'g');
    leaving.cancel();
    leaving.cancel();
    expect(quick.bodies).toEqual(['1', '2']);
    expect(live.figures().subscribers).toBe(1);
  });

  it('follow aliases on both sides', () => {
    const { live } = service({ resolve: (name) => (name === 'other' ? 'real' : name) });
    const [byAlias, byName] = [listen(live, 'other'), listen(live, 'real')];
    live.publish(event('other'));
    live.publish(event('real'));
    expect([byAlias.messages.length, byName.messages.length]).toEqual([2, 2]);
  });

  it('refuse names and patterns that are none', () => {
    const { live } = service();
    expect(() => live.publish(event('a.*'))).toThrow(/wild|contain/);
    expect(() => listen(live, 'a.>.b')).toThrow(/wildcards/);
  });

  it('leave figures of their channels', () => {
    const { live, clock } = service();
    listen(live, 'a');
    listen(live, 'a.*');
    live.publish(event('a', '12345'));
    live.publish(event('b'));
    expect(live.activity('events')).toEqual([
      expect.objectContaining({
        channel: 'a',
        lastAt: clock.now(),
        inMessages: 1,
        inBytes: 5,
        outMessages: 1,
        outBytes: 5,
        subscribers: 1,
      }),
      expect.objectContaining({ channel: 'b', inMessages: 1, outMessages: 0, subscribers: 0 }),
    ]);
  });
});

describe('requests', () => {
  function responder(
    live: LiveService,
    channel: string,
    options: { group?: string; kind?: 'commands' | 'queries'; answer?: LiveReply } = {},
  ): Inbox<LiveRequest> {
    const inbox = new Inbox<LiveRequest>();
    const { group = '', kind = 'queries', answer } = options;
    const sink = {
      get open() {
        return inbox.open;
      },
      take: (message: LiveRequest) => {
        inbox.take(message);
        if (answer !== undefined) live.reply(message.replyTo, answer);
      },
    };
    live.serve({ kind, channel: channel as ChannelName, group, sink });
    return inbox;
  }

  it('are answered by the first that answers; later answers are dropped', async () => {
    const { live } = service();
    const [first, second] = [responder(live, 'q'), responder(live, 'q')];
    const asked = live.request(request('q'));
    await Promise.resolve();
    const to = second.messages[0]?.replyTo ?? '';
    expect(first.messages).toHaveLength(1);
    live.reply(to, reply('second'));
    live.reply(to, reply('first'));
    expect(text(await asked.reply)).toBe('second');
    expect(live.figures().pendingRequests).toBe(0);
  });

  it('go to one member of a group, and only to responders of their kind', async () => {
    const { live } = service();
    const a = responder(live, 'q', { group: 'g', answer: reply() });
    const b = responder(live, 'q', { group: 'g', answer: reply() });
    const commands = responder(live, 'q', { kind: 'commands', answer: reply() });
    for (let i = 0; i < 4; i++) await live.request(request('q')).reply;
    expect([a.messages.length, b.messages.length, commands.messages.length]).toEqual([2, 2, 0]);
  });

  it('end without an answer when their time is over, not before', async () => {
    const { live, clock } = service();
    let answer: LiveReply | undefined | 'waits' = 'waits';
    void live.request(request('nobody')).reply.then((got) => (answer = got));
    clock.advance(999);
    await new Promise(setImmediate);
    expect(answer).toBe('waits');
    clock.advance(20);
    await new Promise(setImmediate);
    expect(answer).toBeUndefined();
    expect(live.activity('queries')).toEqual([expect.objectContaining({ channel: 'nobody', timedOut: 1 })]);
  });

  it('whose caller gave up are not handed out any more', async () => {
    const { live } = service();
    const inbox = new Inbox<LiveRequest>();
    inbox.open = false;
    const subscription = live.serve({
      kind: 'commands',
      channel: 'c' as ChannelName,
      group: '',
      sink: inbox,
    });
    const asked = live.request(request('c', { kind: 'commands' }));
    const other = live.request(request('c', { kind: 'commands' }));
    await Promise.resolve();
    asked.cancel();
    asked.cancel();
    expect(await asked.reply).toBeUndefined();
    inbox.open = true;
    subscription.resume();
    expect(inbox.messages).toHaveLength(1);
    live.reply(inbox.messages[0]?.replyTo ?? '', reply());
    expect(text(await other.reply)).toBe('done');
  });

  it('that wait for a responder that leaves go to the rest of its group', async () => {
    const { live } = service();
    const gone = new Inbox<LiveRequest>();
    gone.open = false;
    const leaving = live.serve({ kind: 'queries', channel: 'q' as ChannelName, group: 'g', sink: gone });
    const asked = live.request(request('q'));
    await Promise.resolve();
    responder(live, 'q', { group: 'g', answer: reply('from the other') });
    leaving.cancel();
    expect(text(await asked.reply)).toBe('from the other');
  });

  it('wait in vain when a responder had them and left', async () => {
    const { live, clock } = service();
    const inbox = new Inbox<LiveRequest>();
    const leaving = live.serve({ kind: 'queries', channel: 'q' as ChannelName, group: '', sink: inbox });
    const asked = live.request(request('q'));
    await Promise.resolve();
    leaving.cancel();
    clock.advance(1100);
    expect(await asked.reply).toBeUndefined();
  });

  it('are answered from the cache for as long as the caller said, each channel for itself', async () => {
    const { live, clock } = service();
    const inbox = responder(live, 'q', { answer: reply() });
    const other = responder(live, 'q2', { answer: reply() });
    const cache = { key: 'k', ttlMs: 5000 };
    expect((await live.request(request('q', { cache })).reply)?.isCached).toBe(false);
    expect(await live.request(request('q', { cache })).reply).toMatchObject({
      isCached: true,
      executed: true,
    });
    expect((await live.request(request('q2', { cache })).reply)?.isCached).toBe(false);
    expect((await live.request(request('q', { cache: { key: 'other', ttlMs: 1 } })).reply)?.isCached).toBe(
      false,
    );
    expect((await live.request(request('q')).reply)?.isCached).toBe(false);
    clock.advance(5000);
    expect((await live.request(request('q', { cache })).reply)?.isCached).toBe(false);
    expect([inbox.messages.length, other.messages.length]).toEqual([4, 1]);
    expect(live.figures().cachedReplies).toBe(1);
  });

  it('that failed, and commands, are never cached', async () => {
    const { live } = service();
    const cache = { key: 'k', ttlMs: 5000 };
    const failing = responder(live, 'q', { answer: reply('', { executed: false, error: 'no' }) });
    const command = responder(live, 'c', { kind: 'commands', answer: reply() });
    for (let i = 0; i < 2; i++) {
      expect(await live.request(request('q', { cache })).reply).toMatchObject({
        error: 'no',
        isCached: false,
      });
      await live.request(request('c', { kind: 'commands', cache })).reply;
    }
    expect([failing.messages.length, command.messages.length]).toEqual([2, 2]);
  });

  it('end at shutdown', async () => {
    const { live } = service();
    const asked = live.request(request('q'));
    await Promise.resolve();
    live.close();
    expect(await asked.reply).toBeUndefined();
    expect(() => live.request(request('q'))).toThrow('shuts down');
  });

  it('need a time, and addresses of answers may be anything', () => {
    const { live } = service();
    expect(() => live.request(request('q', { timeoutMs: 0 }))).toThrow('needs a timeout');
    for (const to of ['', 'x', 'reply.x.y', 'reply.bG9jYWw.none', 'reply..']) live.reply(to, reply());
  });
});

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
