import { describe, expect, it } from 'vitest';
import { Patience } from './exercise.js';
import { StallWatch } from './stall-watch.js';
import { Timeline } from './timeline.js';
import { OrderCheck, Track, Violation } from './track.js';

class ManualTimeline extends Timeline {
  time = 1;

  override now(): number {
    return this.time++;
  }
}

const LEASE_MS = 10_000;

/** A track on a wall clock that is moved, and a message that was confirmed. */
function world() {
  let now = 1_000_000;
  const track = new Track({ name: 'q', timeline: new ManualTimeline(), now: () => now });
  const sequence = track.send();
  track.confirm(sequence);
  return {
    track,
    sequence,
    hold: () => ({ since: now, leaseMs: LEASE_MS }),
    pass: (ms: number) => (now += ms),
    /** A kill, and the next life's check begins. */
    restart: () => {
      track.killed();
      track.beginDrain();
    },
    /** A durable send, confirmed: what was taken before is on disk. */
    prove: () => track.confirm(track.send()),
  };
}

describe('the bookkeeping of the kill tests', () => {
  it('misses a confirmed message that does not come', () => {
    const { track, restart } = world();
    restart();
    expect(track.complete).toBe(false);
    expect(() => track.finishDrain()).toThrow('lost');
  });

  it('allows an unconfirmed message to be there or not', () => {
    const { track, sequence, hold, restart } = world();
    const [unconfirmed] = [track.send(), track.send()];
    restart();
    track.receive(sequence, hold());
    track.receive(unconfirmed, hold());
    expect(track.complete).toBe(true);
    track.finishDrain();
  });

  it('refuses a message that nobody sent', () => {
    const { track, hold } = world();
    expect(() => track.receive(7, hold())).toThrow(Violation);
  });

  it('refuses a step back within a group, but for what came again', () => {
    const order = new OrderCheck('fifo');
    order.receive('a', 3);
    order.receive('b', 1);
    order.receive('a', 4);
    expect(() => order.receive('a', 3)).toThrow('came after 4');
    order.receive('a', 3, true);
    order.receive('a', 4, true);
  });
});

describe('a message that comes twice in one life', () => {
  for (const draining of [true, false]) {
    it(`is refused while its lease runs, ${draining ? 'in a check' : 'under load'}`, () => {
      const { track, sequence, hold, pass, restart } = world();
      if (draining) restart();
      track.receive(sequence, hold());
      pass(LEASE_MS - 1);
      expect(() => track.receive(sequence, hold())).toThrow('came twice before its lease can have ended');
    });
  }

  it('is allowed when everybody stood still until its lease had ended', () => {
    const { track, sequence, hold, pass, restart } = world();
    restart();
    expect(track.receive(sequence, hold())).toBe(false);
    track.acking(sequence);
    pass(27_000);
    expect(track.receive(sequence, hold())).toBe(true);
    expect(track.lapsed).toBe(1);
    // A lease as good as the first.
    pass(LEASE_MS - 1);
    expect(() => track.receive(sequence, hold())).toThrow('came twice');
  });

  it('is refused for ever once the broker took its acknowledgement in time', () => {
    const { track, sequence, hold, pass } = world();
    track.receive(sequence, hold());
    pass(LEASE_MS - 1);
    track.acked(sequence);
    pass(10 * LEASE_MS);
    expect(() => track.receive(sequence, hold())).toThrow('after its acknowledgement was taken');
  });

  it('is allowed when its acknowledgement may have come too late', () => {
    const { track, sequence, hold, pass, restart, prove } = world();
    track.receive(sequence, hold());
    pass(LEASE_MS);
    track.acked(sequence);
    expect(track.receive(sequence, hold())).toBe(true);
    prove();
    restart();
    // It was not certainly taken, so nothing proves that it is gone.
    track.receive(sequence, hold());
  });
});

describe('an acknowledged message after a kill', () => {
  it('is refused once a later confirmed send proves the acknowledgement', () => {
    const { track, sequence, hold, restart, prove } = world();
    track.receive(sequence, hold());
    track.acked(sequence);
    prove();
    restart();
    expect(() => track.receive(sequence, hold())).toThrow('gone for good');
  });

  it('may come back while nothing proves the acknowledgement', () => {
    const { track, sequence, hold, restart } = world();
    track.receive(sequence, hold());
    track.acked(sequence);
    restart();
    track.receive(sequence, hold());
    expect(track.reappeared).toBe(1);
    track.finishDrain();
  });

  it('may come back or not when the acknowledgement was on its way', () => {
    for (const comes of [true, false]) {
      const { track, sequence, hold, restart, prove } = world();
      track.receive(sequence, hold());
      track.acking(sequence);
      prove();
      restart();
      if (comes) track.receive(sequence, hold());
      track.receive(sequence + 1, hold());
      expect(track.complete).toBe(true);
      track.finishDrain();
    }
  });

  it('must come when nobody began to acknowledge it, whoever held it', () => {
    const { track, sequence, hold, restart } = world();
    track.receive(sequence, hold());
    restart();
    expect(track.complete).toBe(false);
    track.receive(sequence, hold());
    expect(track.complete).toBe(true);
  });

  it('may come back for as long as nobody emptied its queue, however many kills that is', () => {
    const { track, sequence, hold, pass, restart } = world();
    track.receive(sequence, hold());
    track.acking(sequence);
    for (let kill = 0; kill < 20; kill++) {
      // Checks that were cut short.
      restart();
      pass(600_000);
    }
    track.receive(sequence, hold());
  });

  it('is gone for good when it did not come by the time its queue was empty', () => {
    const { track, sequence, hold, restart } = world();
    track.receive(sequence, hold());
    track.acking(sequence);
    const unconfirmed = track.send();
    restart();
    track.finishDrain();
    expect(track.size).toBe(0);
    expect(() => track.receive(sequence, hold())).toThrow('it did not come when its queue was emptied');
    restart();
    expect(() => track.receive(unconfirmed, hold())).toThrow('gone for good');
  });

  it('that came once more is settled like any other', () => {
    const { track, sequence, hold, restart, prove } = world();
    track.receive(sequence, hold());
    track.acking(sequence);
    restart();
    track.receive(sequence, hold());
    track.acked(sequence);
    track.finishDrain();
    prove();
    restart();
    expect(() => track.receive(sequence, hold())).toThrow('its acknowledgement was taken');
  });
});

describe('patience', () => {
  it('counts the time in which something could have happened', () => {
    let now = 0;
    const patience = new Patience(10_000, () => now);
    // A machine that stood still for an hour.
    now += 3_600_000;
    expect(patience.isOver).toBe(false);
    for (let look = 0; look < 80; look++) {
      now += 100;
      expect(patience.isOver).toBe(false);
    }
    now += 1_000;
    expect(patience.isOver).toBe(true);
  });
});

describe('a look at one’s own clock', () => {
  it('tells a stall from a late turn', () => {
    let now = 0;
    const watch = new StallWatch(() => now);
    watch.stop();
    now += 900;
    expect(watch.totalMs).toBe(0);
    now += 27_000;
    expect(watch.totalMs).toBe(27_000);
    now += 500;
    expect(watch.totalMs).toBe(27_000);
  });
});
