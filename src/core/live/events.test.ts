import { describe, expect, it } from 'vitest';
import { event, Inbox, listen, service } from '../../../test/support/live.js';
import { silentLog } from '../../base/log.js';
import type { ChannelName } from '../channel-name.js';
import { LIVE_LIMITS } from './limits.js';
import type { LiveMessage } from './types.js';

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

  it('wait without condition as many as the sink says', () => {
    const { live, clock } = service();
    const sink = Object.assign(new Inbox<LiveMessage>(), { bufferMessages: 2, open: false });
    live.subscribe({ pattern: 'a', group: '', sink });
    live.publish(event('a'));
    clock.advance(LIVE_LIMITS.graceMs);
    live.publish(event('a'));
    expect(live.figures().dropped).toBe(0);
    live.publish(event('a'));
    expect(live.figures().dropped).toBe(1);
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

  it('leave figures also of a channel that was forgotten and is used again', () => {
    const { live } = service();
    live.publish(event('a'));
    live.forget('events', 'a' as ChannelName);
    expect(live.activity('events')).toEqual([]);
    live.publish(event('a'));
    expect(live.activity('events')).toMatchObject([{ channel: 'a', inMessages: 1 }]);
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
