import { describe, expect, it } from 'vitest';
import { silentLog } from '../../base/log.js';
import { randomFrom } from '../../../test/support/random.js';
import { SimulatedBucket, SimulatedBucketClient } from '../../../test/support/simulated-bucket.js';
import { ProcessClock, SimulatedTime, type ClockFaults } from '../../../test/support/simulated-time.js';
import type { Claim, Coordinator } from '../contract.js';
import { startCoordinator } from './coordinator.js';

const times = { leaseMs: 1000, beatMs: 200 };

/** Members on machines of their own. */
class Rig {
  readonly time = new SimulatedTime();
  readonly bucket = new SimulatedBucket();

  async member(id: string, faults: ClockFaults = { wallOffsetMs: 0, rate: 1 }): Promise<Member> {
    const clock = new ProcessClock(this.time, faults);
    const parts = { time: this.time, own: clock, random: randomFrom(1) };
    const client = new SimulatedBucketClient(this.bucket, parts);
    const { monotonicMs } = clock;
    const coordinator = await this.finish(
      startCoordinator(client, { id, times, clock, monotonicMs, log: silentLog }),
    );
    return { clock, client, coordinator, faults };
  }

  async finish<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const watched = work.finally(() => (state.isDone = true));
    while (!state.isDone) await this.pass(1);
    return watched;
  }

  async pass(ms: number): Promise<void> {
    const until = this.time.now + ms;
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.time.step(until));
  }

  async claim({ coordinator }: Member): Promise<Claim | undefined> {
    return this.finish(coordinator.claim('p'));
  }

  /** As soon as it can be had. */
  async claimInTime(member: Member): Promise<Claim> {
    for (;;) {
      const claim = await this.claim(member);
      if (claim !== undefined) return claim;
      await this.pass(20);
    }
  }
}

interface Member {
  readonly clock: ProcessClock;
  readonly client: SimulatedBucketClient;
  readonly coordinator: Coordinator;
  readonly faults: ClockFaults;
}

describe('a held claim', () => {
  it('is renewed for as long as NATS answers', async () => {
    const rig = new Rig();
    const one = await rig.member('one');
    const claim = await rig.claim(one);
    for (let i = 0; i < 50; i++) {
      await rig.pass(100);
      expect(claim?.held).toBe(true);
    }
  });

  it.each([
    ['was paused', false],
    ['slept with its machine, whose clock stood still meanwhile', true],
  ])('is not held by an owner that %s, before anything else of it runs', async (_what, asleep) => {
    const rig = new Rig();
    const [one, two] = [await rig.member('one'), await rig.member('two')];
    const first = await rig.claim(one);
    await rig.pass(300);
    one.clock.pause();
    const second = await rig.claimInTime(two);
    expect(second.held).toBe(true);
    one.clock.resume(asleep);
    expect(first?.held).toBe(false);
    await rig.pass(500);
    expect(await first?.lost).toEqual(expect.any(String));
    expect(second.held).toBe(true);
  });

  it('is not held while the wall clock stands beyond its end, and is again after the next renewal', async () => {
    const rig = new Rig();
    const one = await rig.member('one');
    const claim = await rig.claim(one);
    one.faults.wallOffsetMs += 5000;
    expect(claim?.held).toBe(false);
    await rig.pass(300);
    expect(claim?.held).toBe(true);
  });

  it('is not held again by an owner that slept when its wall clock is set back', async () => {
    const rig = new Rig();
    const [one, two] = [await rig.member('one'), await rig.member('two')];
    const first = await rig.claim(one);
    await rig.pass(300);
    one.clock.pause();
    await rig.claimInTime(two);
    one.clock.resume(true);
    expect(first?.held).toBe(false);
    one.faults.wallOffsetMs -= 5000;
    expect(first?.held).toBe(false);
  });

  it('is in doubt from the moment its wall clock is set back, as no sleep would show then, until the next renewal', async () => {
    const rig = new Rig();
    const [one, two] = [await rig.member('one'), await rig.member('two')];
    const first = await rig.claim(one);
    await rig.pass(300);
    one.client.isSevered = true;
    one.faults.wallOffsetMs -= 5000;
    expect(first?.held).toBe(false);
    one.client.isSevered = false;
    await rig.pass(400);
    expect(first?.held).toBe(true);
    one.faults.wallOffsetMs -= 5000;
    expect(first?.held).toBe(false);
    one.clock.pause();
    await rig.claimInTime(two);
    one.clock.resume(true);
    expect(first?.held).toBe(false);
  });

  it('ends before another may begin, whatever the speed of the two clocks and whenever NATS falls silent', async () => {
    for (const rate of [0.97, 1, 1.03]) {
      for (let at = 0; at < 400; at += 40) {
        const rig = new Rig();
        const [one, two] = [await rig.member('one', { wallOffsetMs: 0, rate }), await rig.member('two')];
        const first = await rig.claim(one);
        await rig.pass(300 + at);
        one.client.isSevered = true;
        const second = await rig.claimInTime(two);
        expect(second.epoch).toBeGreaterThan(first?.epoch ?? 0);
        expect(first?.held).toBe(false);
      }
    }
  });

  it('given back, is told to those who wait', async () => {
    const rig = new Rig();
    const [one, two] = [await rig.member('one'), await rig.member('two')];
    const claim = await rig.claim(one);
    let told = 0;
    two.coordinator.watchClaims(() => told++);
    await rig.pass(500);
    expect(told).toBe(0);
    await rig.finish(claim?.release() ?? Promise.resolve());
    await rig.pass(20);
    expect(told).toBe(1);
    expect(await rig.claim(two)).toBeDefined();
  });
});
