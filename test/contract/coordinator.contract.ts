import { afterEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/cluster/contract.js';

/** An implementation under test. A second one registers itself by calling `coordinatorContract` in a test file of its own. */
export interface CoordinatorSubject {
  readonly name: string;
  /** A coordinator of a fresh cluster. */
  create(): Promise<Coordinator>;
  /** Another member of the same cluster; absent where there cannot be one. */
  readonly join?: (first: Coordinator) => Promise<Coordinator>;
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
      });
    });
  });
}
