import { describe, expect, it } from 'vitest';
import { ManualClock, SystemClock } from './clock.js';
import { Scheduler, SCHEDULER_GRAIN_MS, Timeouts } from './scheduler.js';

function world(): { clock: ManualClock; scheduler: Scheduler; timeouts: Timeouts; start: number } {
  const clock = new ManualClock();
  const scheduler = new Scheduler(clock);
  const timeouts = new Timeouts();
  scheduler.add(timeouts);
  return { clock, scheduler, timeouts, start: clock.now() };
}

describe('scheduler', () => {
  it('keeps one timer for any number of deadlines, and none for none', () => {
    const { clock, scheduler, timeouts, start } = world();
    scheduler.poke();
    expect(clock.pending).toBe(0);
    const ran: number[] = [];
    for (const ms of [500, 100, 300]) timeouts.set(start + ms, () => ran.push(clock.now() - start));
    scheduler.poke();
    expect(clock.pending).toBe(1);
    clock.advance(1000);
    expect(ran).toEqual([100, 300, 500]);
    expect(clock.pending).toBe(0);
  });

  it('moves its timer forward for an earlier deadline only', () => {
    const { clock, scheduler, timeouts, start } = world();
    const ran: string[] = [];
    timeouts.set(start + 500, () => ran.push('late'));
    scheduler.poke();
    const soon = timeouts.set(start + 200, () => ran.push('soon'));
    scheduler.poke();
    timeouts.cancel(soon);
    clock.advance(300);
    expect(ran).toEqual([]);
    clock.advance(200);
    expect(ran).toEqual(['late']);
  });

  it('handles what is overdue within its grain, and what a callback sets too', () => {
    const { clock, scheduler, timeouts, start } = world();
    const ran: string[] = [];
    timeouts.set(start - 1000, () => {
      ran.push('first');
      timeouts.set(clock.now(), () => ran.push('second'));
    });
    scheduler.poke();
    clock.advance(SCHEDULER_GRAIN_MS);
    expect(ran).toEqual(['first', 'second']);
  });

  it('does nothing once stopped', () => {
    const { clock, scheduler, timeouts, start } = world();
    timeouts.set(start + 100, () => expect.fail('ran'));
    scheduler.poke();
    scheduler.stop();
    timeouts.set(start + 50, () => expect.fail('ran'));
    scheduler.poke();
    clock.advance(1000);
    expect(clock.pending).toBe(0);
  });
});

describe('clocks', () => {
  it('run timers in the order of their times, then of their setting', () => {
    const clock = new ManualClock(0);
    const ran: string[] = [];
    clock.after(20, () => ran.push('b'));
    clock.after(10, () => {
      ran.push('a');
      clock.after(-5, () => ran.push('at once'));
    });
    clock.after(20, () => ran.push('c'));
    clock.after(15, () => ran.push('never')).cancel();
    clock.advance(30);
    expect(ran).toEqual(['a', 'at once', 'b', 'c']);
    expect(clock.now()).toBe(30);
  });

  it('tell the time of the machine', async () => {
    const clock = new SystemClock();
    const before = clock.now();
    await new Promise<void>((resolve) => void clock.after(1, resolve));
    clock.after(-1, () => expect.fail('ran')).cancel();
    expect(clock.now()).toBeGreaterThanOrEqual(before);
  });
});
