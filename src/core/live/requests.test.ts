import { describe, expect, it } from 'vitest';
import { Inbox, reply, request, service, text } from '../../../test/support/live.js';
import type { ChannelName } from '../channel-name.js';
import type { LiveService } from './live-service.js';
import type { LiveReply, LiveRequest } from './types.js';

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
