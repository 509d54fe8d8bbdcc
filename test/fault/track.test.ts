import { describe, expect, it } from 'vitest';
import { Patience } from './exercise.js';
import { Timeline } from './timeline.js';
import { OrderCheck, Track, Violation } from './track.js';

class ManualTimeline extends Timeline {
  time = 1;

  override now(): number {
    return this.time++;
  }
}

function trackOf(timeline = new ManualTimeline()): Track {
  return new Track({ name: 'q', timeline });
}

describe('the bookkeeping of the kill tests', () => {
  it('misses a confirmed message that does not come', () => {
    const track = trackOf();
    track.confirm(track.send());
    track.killed();
    track.beginDrain();
    expect(track.complete).toBe(false);
    expect(() => track.finishDrain()).toThrow(Violation);
  });

  it('allows an unconfirmed message to be there or not', () => {
    const track = trackOf();
    const [first] = [track.send(), track.send()];
    track.killed();
    track.beginDrain();
    track.receive(first);
    expect(track.complete).toBe(true);
    track.finishDrain();
  });

  it('refuses the second coming of a message in one drain', () => {
    const track = trackOf();
    const sequence = track.send();
    track.confirm(sequence);
    track.killed();
    track.beginDrain();
    track.receive(sequence);
    expect(() => track.receive(sequence)).toThrow('came twice');
  });

  it('refuses an acknowledged message once a later confirmed send proves the acknowledgement', () => {
    const track = trackOf();
    const sequence = track.send();
    track.confirm(sequence);
    track.ack(sequence);
    track.confirm(track.send());
    track.killed();
    track.beginDrain();
    expect(() => track.receive(sequence)).toThrow('gone for good');
  });

  it('allows an acknowledged message to come back while nothing proves the acknowledgement', () => {
    const track = trackOf();
    const sequence = track.send();
    track.confirm(sequence);
    track.ack(sequence);
    track.killed();
    track.beginDrain();
    track.receive(sequence);
    track.finishDrain();
  });

  it('refuses a message that nobody sent', () => {
    expect(() => trackOf().receive(7)).toThrow(Violation);
  });

  it('refuses a step back within a group', () => {
    const order = new OrderCheck('fifo');
    order.receive('a', 3);
    order.receive('b', 1);
    order.receive('a', 4);
    expect(() => order.receive('a', 3)).toThrow('came after 4');
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
