import { describe, expect, it } from 'vitest';
import type { Broker } from '../../../core/broker-api.js';
import type { ChannelName } from '../../../core/channel-name.js';
import type { LogEvent, LogSubscription } from '../../../core/log/types.js';
import { GroupReaders, type ReaderMember, type ReaderRequest } from './group-reader.js';

const channel = 'log' as ChannelName;
const request: ReaderRequest = {
  channel,
  durable: 'group:g',
  start: { from: 'first' },
  isShared: true,
  takenText: 'taken',
};

/** A log that gives out what `add` brought. */
class FakeSubscription implements LogSubscription {
  position = 0;
  closed = false;
  #events: LogEvent[] = [];
  #wake: (() => void) | undefined;
  #last = 0;

  add(count: number): void {
    for (let i = 0; i < count; i++) this.#events.push({ channel, sequence: ++this.#last } as LogEvent);
    this.#wake?.();
  }

  async next(max: number): Promise<readonly LogEvent[]> {
    while (this.#events.length === 0 && !this.closed)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.closed ? [] : this.#events.splice(0, max);
  }

  advance(sequence: number): void {
    expect(sequence).toBeGreaterThan(this.position);
    this.position = sequence;
  }

  close(): void {
    this.closed = true;
    this.#wake?.();
  }
}

function readers(): { groups: GroupReaders; opened: FakeSubscription[] } {
  const opened: FakeSubscription[] = [];
  const broker = {
    resolve: (name: ChannelName) => name,
    subscribe: () => {
      const subscription = new FakeSubscription();
      opened.push(subscription);
      return subscription;
    },
  };
  return { groups: new GroupReaders(broker as unknown as Broker), opened };
}

class FakeMember implements ReaderMember {
  readonly taken: number[] = [];
  /** Set: `deliver` waits until it is called with the outcome. */
  answer: ((taken: boolean) => void) | undefined;
  isSlow = false;

  async ready(): Promise<boolean> {
    return true;
  }

  async deliver(events: readonly LogEvent[]): Promise<boolean> {
    const isTaken = this.isSlow ? await new Promise<boolean>((resolve) => (this.answer = resolve)) : true;
    if (isTaken) this.taken.push(...events.map((event) => event.sequence));
    return isTaken;
  }

  fail(): void {
    throw new Error('nothing fails here');
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a reader', () => {
  it('gives a sole member everything in order and moves its position', async () => {
    const { groups, opened } = readers();
    const member = new FakeMember();
    groups.join(request, member);
    opened[0]?.add(200);
    await settled();
    expect(member.taken).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect(opened[0]?.position).toBe(200);
  });

  it('gives each event to one member of a group', async () => {
    const { groups, opened } = readers();
    const members = [new FakeMember(), new FakeMember(), new FakeMember()];
    for (const member of members) groups.join(request, member);
    expect(opened).toHaveLength(1);
    opened[0]?.add(300);
    await settled();
    const all = members.flatMap((member) => member.taken).sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
    for (const member of members) expect(member.taken.length).toBeGreaterThan(20);
  });

  it('keeps its position behind a member that has not taken its part, and gives the part to another', async () => {
    const { groups, opened } = readers();
    const slow = new FakeMember();
    slow.isSlow = true;
    const quick = new FakeMember();
    groups.join(request, slow);
    groups.join(request, quick);
    opened[0]?.add(100);
    await settled();
    expect(opened[0]?.position).toBe(0);
    // The part that was being read when the second one came is a whole one.
    expect(quick.taken.length).toBe(100 - 64);
    slow.answer?.(false);
    await settled();
    expect([...quick.taken].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect(opened[0]?.position).toBe(100);
  });

  it('closes with its last member; the next one opens another', async () => {
    const { groups, opened } = readers();
    const leave = [groups.join(request, new FakeMember()), groups.join(request, new FakeMember())];
    leave[0]?.();
    expect(opened[0]?.closed).toBe(false);
    leave[1]?.();
    leave[1]?.();
    expect(opened[0]?.closed).toBe(true);
    groups.join(request, new FakeMember());
    expect(opened).toHaveLength(2);
    await settled();
  });

  it('refuses a second member of a position that is not shared', () => {
    const { groups } = readers();
    const own = { ...request, isShared: false };
    const leave = groups.join(own, new FakeMember());
    expect(() => groups.join(own, new FakeMember())).toThrow('taken');
    leave();
    groups.join(own, new FakeMember());
  });
});
