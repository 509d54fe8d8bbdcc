import { afterEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/cluster/contract.js';

/** An implementation under test. A second one registers itself by calling `coordinatorContract` in a test file of its own. */
export interface CoordinatorSubject {
  readonly name: string;
  /** A coordinator of a fresh cluster. */
  create(): Promise<Coordinator>;
  /** Another member of the same cluster; absent where there cannot be one. */
  readonly join?: (first: Coordinator) => Promise<Coordinator>;
  /** Cuts a member off without a word, as a crash does. */
  readonly cutOff?: (member: Coordinator) => Promise<void>;
  /** Longest time after which a silent member's claims are free; with `cutOff`. */
  readonly takeoverMs?: number;
}

/** What every Coordinator promises. */
export function coordinatorContract(subject: CoordinatorSubject): void {
  describe(`coordinator contract: ${subject.name}`, () => {
    const open: Coordinator[] = [];
    const opened = async (coordinator: Promise<Coordinator>): Promise<Coordinator> => {
      open.push(await coordinator);
      return coordinator;
    };
    afterEach(async () => {
      for (const coordinator of open.splice(0)) await coordinator.close();
    });

    it('is a member of itself', async () => {
      const one = await opened(subject.create());
      expect(one.members()).toContainEqual(one.self);
    });

    it('claims a free name and says who owns it', async () => {
      const one = await opened(subject.create());
      expect(await one.owner('p0')).toBeUndefined();
      const claim = await one.claim('p0');
      expect(claim?.name).toBe('p0');
      expect(claim?.epoch).toBeGreaterThan(0);
      expect(await one.owner('p0')).toEqual(one.self);
    });

    it('gives a held name to nobody, and other names still', async () => {
      const one = await opened(subject.create());
      await one.claim('p0');
      expect(await one.claim('p0')).toBeUndefined();
      expect(await one.claim('p1')).toBeDefined();
    });

    it('raises the epoch with every claim, and tells the old holder', async () => {
      const one = await opened(subject.create());
      const first = await one.claim('p0');
      await first!.release();
      expect(await first!.lost).toEqual(expect.any(String));
      expect(await one.owner('p0')).toBeUndefined();
      const second = await one.claim('p0');
      expect(second!.epoch).toBeGreaterThan(first!.epoch);
    });

    it('ignores a second release, even when the name has a new holder', async () => {
      const one = await opened(subject.create());
      const first = await one.claim('p0');
      await first!.release();
      await one.claim('p0');
      await first!.release();
      expect(await one.owner('p0')).toEqual(one.self);
    });

    it('loses its claims at close, and claims nothing after it', async () => {
      const one = await opened(subject.create());
      const claim = await one.claim('p0');
      await one.close();
      await one.close();
      expect(await claim!.lost).toEqual(expect.any(String));
      await expect(one.claim('p1')).rejects.toThrow();
    });

    it('stops watching when told to', async () => {
      const one = await opened(subject.create());
      const seen: unknown[] = [];
      const unwatch = one.watchMembers((members) => seen.push(members));
      unwatch();
      unwatch();
      expect(one.members().length).toBeGreaterThan(0);
    });

    const { join } = subject;
    // A coordinator of one machine has nobody to share with.
    if (join === undefined) return;
    describe('with two members', () => {
      it('lets one own a name at a time', async () => {
        const one = await opened(subject.create());
        const two = await opened(join(one));
        const held = await one.claim('p0');
        expect(await two.claim('p0')).toBeUndefined();
        expect(await two.owner('p0')).toEqual(one.self);
        await held!.release();
        const next = await two.claim('p0');
        expect(next!.epoch).toBeGreaterThan(held!.epoch);
        expect(held!.held).toBe(false);
        expect(next!.held).toBe(true);
      });

      it('gives a free name to one of all that want it at once', async () => {
        const one = await opened(subject.create());
        const two = await opened(join(one));
        for (let round = 0; round < 5; round++) {
          const claims = await Promise.all([one.claim(`p${round}`), two.claim(`p${round}`)]);
          expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
        }
      });

      it('sees members come and go', async () => {
        const one = await opened(subject.create());
        const until = (count: number): Promise<void> =>
          new Promise((resolve) => {
            const unwatch = one.watchMembers((members) => look(members.length));
            const look = (found: number): void => {
              if (found !== count) return;
              unwatch();
              resolve();
            };
            look(one.members().length);
          });
        const two = await join(one);
        await until(2);
        expect(one.members()).toContainEqual(two.self);
        await two.close();
        await until(1);
      });

      it('frees the claims of a member that closes, at once', async () => {
        const one = await opened(subject.create());
        const two = await opened(join(one));
        await one.claim('p0');
        await one.close();
        expect(await two.claim('p0')).toBeDefined();
      });

      const { cutOff, takeoverMs = 0 } = subject;
      if (cutOff === undefined) return;
      it('keeps a claim that is renewed, and frees that of a silent member in time, who knows it before', async () => {
        const one = await opened(subject.create());
        const two = await opened(join(one));
        const first = await one.claim('p0');
        await new Promise((resolve) => setTimeout(resolve, takeoverMs));
        expect(await two.claim('p0')).toBeUndefined();
        expect(first!.held).toBe(true);

        const cutAt = performance.now();
        await cutOff(one);
        let second = await two.claim('p0');
        while (second === undefined && performance.now() - cutAt < takeoverMs) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          expect(await two.owner('p0')).toSatisfy((owner) => owner === undefined || owner.id === one.self.id);
          second = await two.claim('p0');
        }
        expect(second?.epoch).toBeGreaterThan(first!.epoch);
        expect(first!.held).toBe(false);
        expect(await first!.lost).toEqual(expect.any(String));
      });
    });
  });
}
